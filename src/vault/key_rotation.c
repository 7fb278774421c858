/* Key rotation: replaces the key of all sealed rows.
 *
 *   1. insert a new key as the first one of the key file
 *   2. reseal all rows, page by page
 *   3. count the rotation in the database (store_count_key_rotation())
 *   4. remove the old keys from the key file
 *
 * At every point the file contains the key of every row, so an interrupted rotation can be run again. The
 * file is only changed inside a write transaction, and rows are only sealed inside one (seal.h), so that no
 * row is sealed with a key that is being removed. */
#include "base/check.h"
#include "vault/key_credential.h"
#include "vault/tokens.h"
#include "vault/webhook_secrets.h"
#include "store/write.h"

#include <stdio.h>

enum { ROWS_AT_ONCE = 200, PASSES_MAX = 8, ARENA_BYTES = 64 * 1024 };

struct rotation {
    const char *path;
    struct store *store;
    struct seal_keys *keys;
    struct key_rotation_result *result;
    struct error *error;

    struct arena arena; /* texts of the current page */
    struct credential *rows[ROWS_AT_ONCE];
    int count;
    int64_t last_row;
    uint32_t current_key;
    int64_t old_rows; /* number of rows sealed with a key other than current_key */
};

/* Returns ERR_IO for a damaged database, because ERR_CORRUPT means that one row cannot be decrypted. */
static enum err database_failed(struct rotation *r, enum err err)
{
    return error_set(r->error, err == ERR_CORRUPT ? ERR_IO : err, "database error: %s", err_name(err));
}

static bool is_under(const struct credential *c, uint32_t id)
{
    return seal_key_id(c->access_sealed) == id &&
           (!c->refresh_sealed.p || seal_key_id(c->refresh_sealed) == id);
}

static struct str copy_text(struct arena *a, struct str s)
{
    return s.p ? arena_copy(a, s) : s;
}

/* Copies the row if it must be resealed. Rows cannot be written while they are being listed. */
static bool on_row(void *ctx, const struct credential *c)
{
    struct rotation *r = ctx;
    r->last_row = c->row;
    if (is_under(c, r->current_key))
        return true;
    struct credential *copy = arena_alloc(&r->arena, sizeof *copy);
    *copy = *c;
    copy->account_id = copy_text(&r->arena, c->account_id);
    copy->access_sealed = copy_text(&r->arena, c->access_sealed);
    copy->refresh_sealed = copy_text(&r->arena, c->refresh_sealed);
    copy->scopes = STR("");
    r->rows[r->count++] = copy;
    return true;
}

static enum err reseal_row(struct rotation *r, struct credential *c)
{
    struct tokens t;
    struct buf access, refresh;
    enum err err = tokens_decrypt(r->keys, c, &t);
    if (err) {
        return error_set(
            r->error, err,
            "cannot decrypt the tokens of account %.*s with the keys of %s; its row was not changed",
            (int)c->account_id.len, c->account_id.p, r->path);
    }
    buf_init(&access, SEAL_PLAIN_MAX + SEAL_OVERHEAD);
    buf_init(&refresh, SEAL_PLAIN_MAX + SEAL_OVERHEAD);
    err = tokens_seal(r->keys, c, &t.grant, &access, &refresh);
    if (err)
        (void)error_set(r->error, err, "cannot seal the tokens of account %.*s with the keys of %s: %s",
                        (int)c->account_id.len, c->account_id.p, r->path, err_name(err));
    else if ((err = store_reseal_credential(r->store, c->row, c->access_sealed, c->refresh_sealed)))
        err = database_failed(r, err);
    tokens_wipe(&t);
    buf_fini(&access);
    buf_fini(&refresh);
    return err;
}

/* Reseals one page of rows in one transaction. `*more` is true if the page was not empty. */
static enum err reseal_page(struct rotation *r, bool *more)
{
    const int64_t before = r->last_row;
    enum err err = store_begin(r->store);
    if (err)
        return database_failed(r, err);
    arena_reset(&r->arena);
    r->count = 0;
    err = store_list_credentials(r->store, r->last_row, ROWS_AT_ONCE, on_row, r);
    if (err)
        err = database_failed(r, err);
    for (int i = 0; i < r->count && !err; i++)
        err = reseal_row(r, r->rows[i]);
    if (err) {
        store_rollback(r->store);
        return err;
    }
    err = store_commit(r->store);
    if (err)
        return database_failed(r, err);
    r->result->resealed.accounts += r->count;
    *more = r->last_row != before;
    return OK;
}

static enum err reseal_all(struct rotation *r)
{
    uint32_t ids[SEAL_KEYS_MAX];
    size_t count;
    seal_list_key_ids(r->keys, ids, &count);
    r->current_key = ids[0];
    r->last_row = 0;
    for (bool more = true; more;) {
        const enum err err = reseal_page(r, &more);
        if (err)
            return err;
    }
    return webhook_secrets_reseal(r->store, r->keys, r->current_key, &r->result->resealed.webhooks, r->error);
}

/* ---- rotating the keys of the key file ---- */

static bool count_old_row(void *ctx, const struct credential *c)
{
    struct rotation *r = ctx;
    r->last_row = c->row;
    r->old_rows += !is_under(c, r->current_key);
    return true;
}

static enum err count_old_rows(struct rotation *r)
{
    r->last_row = 0;
    r->old_rows = 0;
    for (int64_t before = -1; before != r->last_row;) {
        before = r->last_row;
        const enum err err = store_list_credentials(r->store, r->last_row, ROWS_AT_ONCE, count_old_row, r);
        if (err)
            return err;
    }
    return webhook_secrets_count_old(r->store, r->current_key, &r->old_rows);
}

static enum err add_key(struct rotation *r)
{
    enum err err = store_begin(r->store);
    if (err)
        return database_failed(r, err);
    err = seal_add_key(r->path, &r->result->key_id, r->error);
    store_rollback(r->store);
    return err;
}

/* Counts the rotation unless rows still use an old key. Also deletes the pending linkings, which contain a
 * sealed verifier: their authors must begin again.
 *
 * Commits before the old keys are removed. If a removal were not counted, a restore would keep tokens of the
 * backup that are sealed with a removed key. A rotation that is interrupted between the two is counted twice,
 * which is harmless: a restore only checks which of two databases has the higher count. */
static enum err count_rotation(struct rotation *r)
{
    enum err err = store_begin(r->store);
    if (err)
        return database_failed(r, err);
    err = count_old_rows(r);
    if (!err)
        err = store_purge_links(r->store, INT64_MAX);
    if (!err)
        err = store_count_key_rotation(r->store);
    if (err || r->old_rows)
        store_rollback(r->store);
    else
        err = store_commit(r->store);
    return err ? database_failed(r, err) : OK;
}

/* Removes the old keys unless rows still use them. Sets `*removed` to true if it has removed them. */
static enum err drop_old_keys(struct rotation *r, bool *removed)
{
    enum err err = count_rotation(r);
    if (err || r->old_rows)
        return err;
    err = store_begin(r->store);
    if (err)
        return database_failed(r, err);
    err = count_old_rows(r); /* again, because other processes may have written since the commit */
    if (err) {
        err = database_failed(r, err);
    } else if (!r->old_rows) {
        err = seal_remove_old_keys(r->path, r->error);
        *removed = !err;
    }
    store_rollback(r->store);
    return err;
}

/* Reseals all rows and removes the old keys. If rows with an old key remain, repeats both, up to PASSES_MAX
 * passes in total, because a transaction that started before the new key was inserted may have written these
 * rows. Fails if such rows remain after the last pass. */
static enum err reseal_and_remove(struct rotation *r)
{
    bool removed = false;
    for (int i = 0; i < PASSES_MAX && !removed; i++) {
        enum err err = reseal_all(r);
        if (err)
            return err;
        err = drop_old_keys(r, &removed);
        if (err)
            return err;
    }
    if (removed)
        return OK;
    return error_set(
        r->error, ERR_BUSY,
        "some rows are still sealed with an old key, because another process keeps sealing rows with "
        "it: stop the other viewtally processes");
}

static enum err open_keys(struct rotation *r)
{
    seal_keys_close(r->keys);
    r->keys = NULL;
    return seal_keys_open(&r->keys, r->path, r->error);
}

static enum err rotate_keys(struct rotation *r)
{
    uint32_t ids[SEAL_KEYS_MAX];
    size_t count;
    enum err err = open_keys(r);
    if (err)
        return err;
    seal_list_key_ids(r->keys, ids, &count);
    if (count > 1) { /* Complete an interrupted rotation first. */
        err = reseal_and_remove(r);
        if (err)
            return err;
    }
    err = add_key(r);
    if (err)
        return err;
    err = open_keys(r);
    if (err)
        return err;
    return reseal_and_remove(r);
}

enum err key_rotation_run(const struct config *config, struct store *s, struct key_rotation_result *result,
                          struct error *error)
{
    struct rotation r = {.path = config->secrets.key_file, .store = s, .result = result, .error = error};
    *result = (struct key_rotation_result){.key_id = 0};
    struct file_lock lock;
    enum err err = key_credential_lock_exclusive(&lock, config, error);
    if (!err) {
        arena_init(&r.arena, ARENA_BYTES);
        err = rotate_keys(&r);
        seal_keys_close(r.keys);
        arena_fini(&r.arena);
    }
    file_lock_close(&lock);
    return err;
}
