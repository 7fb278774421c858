/* The write jobs of linkings. A job runs on a thread of the pool, so it may block to read the key file. */
#include "web/linking.h"

#include "base/expiry_floor.h"
#include "base/log.h"

static enum err open_keys(const struct config *config, struct seal_keys **keys)
{
    struct error error;
    enum err err = seal_keys_open(keys, config->secrets.key_file, &error);
    if (err)
        log_error("cannot link an account: %s", error.text);
    return err;
}

static struct seal_place verifier_place(const struct linking_key *key)
{
    return (struct seal_place){
        .author_row = key->author_row, .api = key->api, .account_id = STR(""), .column = SEAL_VERIFIER};
}

static struct link_record record_of(const struct linking_key *key, struct str verifier)
{
    struct link_record link = {
        .author_row = key->author_row, .api = key->api, .verifier = verifier, .created_at = key->now};
    memcpy(link.state_hash, key->state_hash, sizeof link.state_hash);
    memcpy(link.session_hash, key->session_hash, sizeof link.session_hash);
    return link;
}

static enum err seal_verifier(const struct linking_begin *b, struct buf *sealed)
{
    struct seal_keys *keys;
    const struct seal_place place = verifier_place(&b->key);
    enum err err = open_keys(b->key.config, &keys);
    if (err)
        return err;
    err = seal_encrypt(keys, &place, str_make(b->verifier, sizeof b->verifier), sealed);
    seal_keys_close(keys);
    return err;
}

enum err linking_begin(struct store *store, void *begin)
{
    struct linking_begin *b = begin;
    struct buf sealed;
    enum err err = store_purge_links(store, expiry_floor_ms() - LINKING_LIFE_MS);
    if (err)
        return err;
    buf_init(&sealed, SEAL_OVERHEAD + sizeof b->verifier);
    if (b->has_verifier)
        err = seal_verifier(b, &sealed);
    if (!err) {
        const struct link_record link = record_of(&b->key, buf_str(&sealed));
        err = store_insert_link(store, &link);
    }
    buf_fini(&sealed);
    return err;
}

static enum err open_verifier(struct linking_consume *c, struct str sealed)
{
    struct seal_keys *keys;
    char plain[SEAL_OVERHEAD + SECRET_TEXT_LEN];
    size_t len = 0;
    const struct seal_place place = verifier_place(&c->key);
    if (sealed.len != sizeof plain)
        return ERR_CORRUPT;
    enum err err = open_keys(c->key.config, &keys);
    if (err)
        return err;
    err = seal_decrypt(keys, &place, sealed, plain, &len);
    seal_keys_close(keys);
    if (!err) {
        memcpy(c->verifier, plain, len);
        c->verifier_len = len;
    }
    explicit_bzero(plain, sizeof plain);
    return err;
}

static enum linking_check check_link(const struct linking_key *key, const struct link_record *link)
{
    if (link->author_row != key->author_row || link->api != (int)key->api ||
        memcmp(link->session_hash, key->session_hash, sizeof link->session_hash) != 0)
        return LINKING_MISMATCH;
    return expiry_has_passed(link->created_at, LINKING_LIFE_MS + 1, key->now) ? LINKING_EXPIRED
                                                                              : LINKING_VALID;
}

enum err linking_consume(struct store *store, void *consume)
{
    struct linking_consume *c = consume;
    struct arena arena;
    struct link_record link;
    arena_init(&arena, 1024);
    enum err err = store_consume_link(store, &arena, c->key.state_hash, &link);
    if (err == ERR_NOT_FOUND) {
        c->check = LINKING_UNKNOWN;
        err = OK;
    } else if (!err) {
        c->check = check_link(&c->key, &link);
        if (c->check == LINKING_VALID && link.verifier.len)
            err = open_verifier(c, link.verifier);
    }
    arena_fini(&arena);
    return err;
}

enum err linking_save(struct store *store, void *save)
{
    struct linking_save *s = save;
    struct seal_keys *keys;
    enum err err = open_keys(s->config, &keys);
    if (err)
        return err;
    for (size_t i = 0; i < s->count && !err; i++) {
        int64_t row;
        err = account_record_store(&s->accounts[i].record, keys, store, &row);
        s->accounts[i].result = err == ERR_EXISTS ? LINKING_OWNED_BY_OTHER : LINKING_SAVED;
        if (err == ERR_EXISTS)
            err = OK;
    }
    seal_keys_close(keys);
    return err;
}

enum err linking_remove(struct store *store, void *remove)
{
    const struct linking_remove *r = remove;
    return store_delete_credential(store, r->row, r->author_row);
}
