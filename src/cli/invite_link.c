/* Creates invitations. */
#include "cli/invite_link.h"

#include "auth/secret.h"
#include "base/clock.h"
#include "base/expiry_floor.h"
#include "store/accounts.h"
#include "store/write.h"

#define INVITATION_MS DAY_MS

enum err login_check_available(struct store *store, struct arena *arena, struct str login, int64_t author_row)
{
    struct viewer owner;
    if (!login.p)
        return OK;
    enum err err = store_get_login(store, arena, login, &owner);
    if (err)
        return err == ERR_NOT_FOUND ? OK : err;
    return owner.author_row == author_row ? OK : ERR_EXISTS;
}

/* Checks the sign-in name before it creates the invitation, so that a name conflict is reported to the
 * operator and not to the author. */
enum err invite_link_insert(struct store *store, struct arena *arena, const struct config *config,
                            int64_t author_row, struct str login, struct invite_link *out)
{
    const struct str url = str_from_cstr(config->server.base_url); /* ends with "/v1" */
    const int64_t now = expiry_now_ms();
    uint8_t hash[SECRET_HASH_LEN];
    struct secret secret;
    enum err err = login_check_available(store, arena, login, author_row);
    if (err)
        return err;
    secret_generate(&secret);
    secret_hash(&secret, hash);
    const struct str text = secret_format(arena, &secret);
    secret_wipe(&secret);
    out->link = arena_printf(arena, "%.*s/invite/%.*s", (int)(url.len - 3), url.p, (int)text.len, text.p);
    out->expires_at = now + INVITATION_MS;
    return store_insert_invitation(store, hash, author_row, login, now, out->expires_at);
}
