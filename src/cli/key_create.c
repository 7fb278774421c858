/* Creates API keys. */
#include "cli/key_create.h"

#include "base/clock.h"
#include "cli/named_author.h"
#include "cli/operator.h"
#include "cli/output.h"
#include "store/author_keys.h"
#include "store/write.h"

#include <sodium.h>

enum { NAME_MAX_BYTES = 200 };

bool new_key_init(struct new_key *n, const struct config *config, struct str name)
{
    *n = (struct new_key){.has_too_many = false};
    if (!name.len || name.len > NAME_MAX_BYTES || !str_is_utf8(name)) {
        (void)cli_fail(CLI_USAGE, "--name must be 1 to %d bytes of UTF-8", NAME_MAX_BYTES);
        return false;
    }
    key_generate(str_from_cstr(config->keys.prefix), &n->text);
    key_hash(str_make(n->text.p, n->text.len), n->hash);
    n->key = (struct api_key){.id = uuid_generate(),
                              .name = name,
                              .created_at = clock_wall_ms(),
                              .last_used_at = TIME_NONE,
                              .revoked_at = TIME_NONE};
    memcpy(n->key.suffix, n->text.p + n->text.len - KEY_SUFFIX_LEN, KEY_SUFFIX_LEN);
    return true;
}

enum err new_key_insert(struct store *store, struct new_key *n)
{
    enum key_limit reached;
    enum err err = store_check_key_limits(store, n->key.author_row, 0, n->key.created_at, &reached);
    if (err)
        return err;
    /* The daily limit protects the database from authors and apps; it does not apply to the operator. */
    n->has_too_many = reached == KEY_LIMIT_LIVE;
    if (n->has_too_many)
        return ERR_INVALID;
    const struct actor by = cli_operator();
    return store_insert_key(store, &n->key, n->hash, &by);
}

enum cli_exit new_key_print_error(const struct new_key *n, enum err err)
{
    if (err == ERR_NOT_FOUND)
        return named_author_print_not_found();
    if (err == ERR_INVALID && n->has_too_many)
        return cli_fail(CLI_PART,
                        "the author has %d live keys, which is the maximum: revoke one first (viewtally key "
                        "revoke)",
                        AUTHOR_KEYS_MAX);
    return err ? CLI_COULD_NOT : CLI_DONE;
}

void new_key_wipe(struct new_key *n)
{
    sodium_memzero(&n->text, sizeof n->text);
}
