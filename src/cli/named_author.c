/* Looks up the author by id, or else by sign-in name. */
#include "cli/named_author.h"

#include "auth/login.h"
#include "base/uuid.h"
#include "cli/output.h"
#include "store/accounts.h"
#include "store/write.h"

enum err named_author_find(struct store *store, struct arena *arena, const char *named, struct author *out)
{
    const struct str text = str_from_cstr(named);
    struct viewer viewer;
    struct uuid id;
    if (uuid_parse(text, &id))
        return store_find_author(store, arena, &id, out);
    const struct str login = login_normalize(arena, text);
    if (!login.p)
        return ERR_NOT_FOUND;
    const enum err err = store_get_login(store, arena, login, &viewer);
    return err ? err : store_get_author(store, arena, viewer.author_row, out);
}

enum cli_exit named_author_print_not_found(void)
{
    return cli_fail(CLI_PART, "no author has this id or sign-in name (see viewtally author list)");
}
