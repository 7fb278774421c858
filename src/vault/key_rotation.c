/* A new key for everything that is sealed:
 *
 *   another key first in the file → every row sealed anew, some at a time → no row under an old key: those go
 *
 * At each point the file has the key of every row, so it may be cut off anywhere and begun again. What is
 * written to the file is written inside a write transaction, and so is every row that is sealed (seal.h), so
 * nobody seals with a key that is just being taken out. */
#include "base/check.h"
#include "vault/tokens.h"
#include "store/write.h"

#include <stdio.h>

enum { ROWS_AT_ONCE = 200, PASSES_MAX = 8, ARENA_BYTES = 64 * 1024 };

struct rotation {
    const char *path;
    struct store *store;
    struct seal_keys *keys;
    struct rotated *done;
    char *why;
    size_t why_size;

    struct arena arena; /* of the page at hand */
    struct credential *rows[ROWS_AT_ONCE];
    int count;
    int64_t last;
    uint32_t first; /* the key that seals */
    int64_t others; /* rows under another one */
};

static enum err database_failed(struct rotation *r, enum err err)
{
    (void)snprintf(r->why, r->why_size, "the database says: %s", err_name(err));
    return err;
}

static bool is_under(const struct credential *c, uint32_t id)
{
    return seal_key_id(c->access_sealed) == id &&
           (!c->refresh_sealed.p || seal_key_id(c->refresh_sealed) == id);
}

static struct str keep(struct arena *a, struct str s)
{
    return s.p ? arena_copy(a, s) : s;
}

/* Those under another key: nothing can be written while the rows are read. */
static bool gather(void *ctx, const struct credential *c)
{
    struct rotation *r = ctx;
    r->last = c->row;
    if (is_under(c, r->first))
        return true;
    struct credential *kept = arena_alloc(&r->arena, sizeof *kept);
    *kept = *c;
    kept->account_id = keep(&r->arena, c->account_id);
    kept->access_sealed = keep(&r->arena, c->access_sealed);
    kept->refresh_sealed = keep(&r->arena, c->refresh_sealed);
    kept->scopes = STR("");
    r->rows[r->count++] = kept;
    return true;
}

static enum err reseal_row(struct rotation *r, struct credential *c)
{
    struct tokens t;
    struct buf access, refresh;
    enum err err = token_vault_open(r->keys, c, &t);
    if (err) {
        (void)snprintf(
            r->why, r->why_size,
            "the tokens of account %.*s cannot be opened with the keys of %s: nothing of theirs was changed",
            (int)c->account_id.len, c->account_id.p, r->path);
        return err;
    }
    buf_init(&access, SEAL_PLAIN_MAX + SEAL_OVERHEAD);
    buf_init(&refresh, SEAL_PLAIN_MAX + SEAL_OVERHEAD);
    err = token_vault_seal(r->keys, c, &t.grant, &access, &refresh);
    if (!err)
        err = store_reseal_credential(r->store, c->row, c->access_sealed, c->refresh_sealed);
    if (err)
        (void)database_failed(r, err);
    token_vault_close(&t);
    buf_fini(&access);
    buf_fini(&refresh);
    return err;
}

/* ERR_NOT_FOUND of the list: there are no more rows. */
static enum err reseal_page(struct rotation *r, bool *more)
{
    const int64_t before = r->last;
    enum err err = store_begin(r->store);
    if (err)
        return database_failed(r, err);
    arena_reset(&r->arena);
    r->count = 0;
    err = store_list_credentials(r->store, r->last, ROWS_AT_ONCE, gather, r);
    if (err)
        (void)database_failed(r, err);
    for (int i = 0; i < r->count && !err; i++)
        err = reseal_row(r, r->rows[i]);
    if (err) {
        store_rollback(r->store);
        return err;
    }
    err = store_commit(r->store);
    if (err)
        return database_failed(r, err);
    r->done->resealed += r->count;
    *more = r->last != before;
    return OK;
}

static enum err reseal_all(struct rotation *r)
{
    enum err err = OK;
    uint32_t ids[SEAL_KEYS_MAX];
    size_t count;
    seal_list_key_ids(r->keys, ids, &count);
    r->first = ids[0];
    r->last = 0;
    for (bool more = true; more && !err;)
        err = reseal_page(r, &more);
    return err;
}

/* ---- the file, inside transactions ---- */

static bool count_other(void *ctx, const struct credential *c)
{
    struct rotation *r = ctx;
    r->last = c->row;
    r->others += !is_under(c, r->first);
    return true;
}

static enum err count_others(struct rotation *r)
{
    enum err err = OK;
    r->last = 0;
    r->others = 0;
    for (int64_t before = -1; before != r->last && !err;) {
        before = r->last;
        err = store_list_credentials(r->store, r->last, ROWS_AT_ONCE, count_other, r);
    }
    return err;
}

static enum err add_key(struct rotation *r)
{
    enum err err = store_begin(r->store);
    if (err)
        return database_failed(r, err);
    err = seal_add_key(r->path, &r->done->key_id, r->why, r->why_size);
    store_rollback(r->store);
    return err;
}

/* Half-finished linkings hold something sealed too: their authors begin again. `*gone`: the old keys are. */
static enum err drop_old_keys(struct rotation *r, bool *gone)
{
    enum err err = store_begin(r->store);
    if (err)
        return database_failed(r, err);
    err = count_others(r);
    if (!err)
        err = store_purge_links(r->store, INT64_MAX);
    if (err || r->others) {
        store_rollback(r->store);
        return err ? database_failed(r, err) : OK;
    }
    err = seal_remove_old_keys(r->path, r->why, r->why_size);
    *gone = !err;
    if (err)
        store_rollback(r->store);
    else if ((err = store_commit(r->store)))
        (void)database_failed(r, err);
    return err;
}

/* As often as somebody writes a row under an old key meanwhile, which only one who began before the new one
 * was there can. */
static enum err finish(struct rotation *r)
{
    bool gone = false;
    enum err err = OK;
    for (int i = 0; i < PASSES_MAX && !gone && !err; i++) {
        err = reseal_all(r);
        if (!err)
            err = drop_old_keys(r, &gone);
    }
    return err;
}

static enum err open_keys(struct rotation *r)
{
    seal_keys_close(r->keys);
    r->keys = NULL;
    return seal_keys_open(&r->keys, r->path, r->why, r->why_size);
}

enum err key_rotation_run(const struct config *config, struct store *s, struct rotated *done, char *why,
                          size_t why_size)
{
    struct rotation r = {
        .path = config->secrets.key_file, .store = s, .done = done, .why = why, .why_size = why_size};
    uint32_t ids[SEAL_KEYS_MAX];
    size_t count = 0;
    *done = (struct rotated){.key_id = 0};
    arena_init(&r.arena, ARENA_BYTES);
    enum err err = open_keys(&r);
    if (!err)
        seal_list_key_ids(r.keys, ids, &count);
    /* One that was cut off comes to its end first. */
    if (!err && count > 1)
        err = finish(&r);
    if (!err)
        err = add_key(&r);
    if (!err)
        err = open_keys(&r);
    if (!err)
        err = finish(&r);
    seal_keys_close(r.keys);
    arena_fini(&r.arena);
    return err;
}
