/* Creates API keys. */
#include "cli/key_create.h"

#include "base/clock.h"
#include "cli/database.h"
#include "cli/output.h"
#include "store/author_keys.h"
#include "store/write.h"

enum { NAME_MAX_BYTES = 200 };

struct new_key {
    const struct uuid *author_id;
    enum key_limit reached;
    struct api_key *key;
    uint8_t hash[KEY_HASH_LEN];
};

static enum err insert(struct store *store, struct arena *arena, void *ctx)
{
    struct new_key *n = ctx;
    struct author author;
    enum err err = store_find_author(store, arena, n->author_id, &author);
    if (err)
        return err;
    n->key->author_row = author.row;
    err = store_check_key_limits(store, author.row, 0, n->key->created_at, &n->reached);
    if (err)
        return err;
    /* The daily limit protects the database from authors and apps; it does not apply to the operator. */
    if (n->reached == KEY_LIMIT_LIVE)
        return ERR_INVALID;
    return store_insert_key(store, n->key, n->hash);
}

enum cli_exit key_create(struct cli *cli, const struct uuid *author_id, struct str name, struct api_key *key,
                         struct key_text *text)
{
    struct new_key n = {.author_id = author_id, .key = key};
    if (!name.len || name.len > NAME_MAX_BYTES || !str_is_utf8(name))
        return cli_fail(CLI_USAGE, "--name must be 1 to %d bytes of UTF-8", NAME_MAX_BYTES);
    key_generate(str_from_cstr(cli->config.keys.prefix), text);
    key_hash(str_make(text->p, text->len), n.hash);
    *key = (struct api_key){.id = uuid_generate(),
                            .name = name,
                            .created_at = clock_wall_ms(),
                            .last_used_at = TIME_NONE,
                            .revoked_at = TIME_NONE};
    memcpy(key->suffix, text->p + text->len - KEY_SUFFIX_LEN, KEY_SUFFIX_LEN);
    enum err err = cli_transaction(cli, insert, &n);
    if (err == ERR_NOT_FOUND)
        return cli_fail(CLI_PART, "no author has this id (see viewtally author list)");
    if (err == ERR_INVALID && n.reached == KEY_LIMIT_LIVE)
        return cli_fail(CLI_PART,
                        "the author has %d live keys, which is the maximum: revoke one first (viewtally key "
                        "revoke)",
                        AUTHOR_KEYS_MAX);
    return err ? CLI_COULD_NOT : CLI_DONE;
}
