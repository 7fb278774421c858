/* Encrypts, decrypts, reseals and checks the secrets of webhooks. */
#include "vault/webhook_secrets.h"

#include "base/check.h"
#include "store/write.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SEAL_WEBHOOK_API =
        0xFE, /* not the number of a platform, so that a sealed token cannot be opened as a secret */
    PAGE_ROWS = 200,
    SEALED_LEN = WEBHOOK_SECRET_LEN + SEAL_OVERHEAD,
    NAME_MAX_BYTES = 100,
};

struct webhook_secret_place webhook_secret_place_of(const struct webhook_endpoint *e)
{
    if (e->app_row)
        return (struct webhook_secret_place){.author_row = 0, .name = e->app_client_id};
    return (struct webhook_secret_place){.author_row = e->author_row,
                                         .name = str_make((const char *)e->id.b, sizeof e->id.b)};
}

static struct seal_place seal_place_of(const struct webhook_secret_place *place)
{
    return (struct seal_place){.author_row = place->author_row,
                               .api = SEAL_WEBHOOK_API,
                               .account_id = place->name,
                               .column = SEAL_ACCESS};
}

enum err webhook_secret_seal(struct seal_keys *keys, const struct webhook_secret_place *place,
                             const uint8_t secret[WEBHOOK_SECRET_LEN], struct buf *out)
{
    const struct seal_place at = seal_place_of(place);
    return seal_encrypt(keys, &at, str_make((const char *)secret, WEBHOOK_SECRET_LEN), out);
}

enum err webhook_secret_open(struct seal_keys *keys, const struct webhook_secret_place *place,
                             struct str sealed, uint8_t secret[WEBHOOK_SECRET_LEN])
{
    const struct seal_place at = seal_place_of(place);
    char plain[SEALED_LEN];
    size_t len = 0;
    if (sealed.len != SEALED_LEN)
        return ERR_CORRUPT;
    const enum err err = seal_decrypt(keys, &at, sealed, plain, &len);
    if (!err)
        memcpy(secret, plain, WEBHOOK_SECRET_LEN);
    sodium_memzero(plain, sizeof plain);
    return err;
}

/* ---- pages of secrets ---- */

/* A copy of struct webhook_secrets. Rows are copied first, because they cannot be written while they are
 * listed. */
struct secrets_copy {
    struct webhook_secrets row;
    char name[NAME_MAX_BYTES], secret[SEALED_LEN], old_secret[SEALED_LEN];
};

struct secrets_page {
    struct secrets_copy rows[PAGE_ROWS];
    int count;
    bool is_damaged; /* a row has a value that is too long */
};

static bool copy_bytes_to(char *out, size_t size, struct str *s)
{
    if (s->len > size)
        return false;
    if (s->p) {
        memcpy(out, s->p, s->len);
        s->p = out;
    }
    return true;
}

static bool on_row(void *ctx, const struct webhook_secrets *secrets)
{
    struct secrets_page *page = ctx;
    struct secrets_copy *copy = &page->rows[page->count++];
    copy->row = *secrets;
    page->is_damaged |= !copy_bytes_to(copy->name, sizeof copy->name, &copy->row.name) ||
                        !copy_bytes_to(copy->secret, sizeof copy->secret, &copy->row.secret) ||
                        !copy_bytes_to(copy->old_secret, sizeof copy->old_secret, &copy->row.old_secret);
    return !page->is_damaged;
}

typedef enum err secrets_row_fn(void *ctx, struct webhook_secrets *row);

static enum err read_page(struct store *s, bool of_apps, int64_t *after, struct secrets_page *page,
                          secrets_row_fn *fn, void *ctx)
{
    page->count = 0;
    enum err err = store_list_webhook_secrets(s, of_apps, *after, PAGE_ROWS, on_row, page);
    if (err == ERR_CORRUPT)
        err = ERR_IO; /* the database is damaged; ERR_CORRUPT means that one row cannot be decrypted */
    if (!err && page->is_damaged)
        err = ERR_CORRUPT;
    for (int i = 0; i < page->count && !err; i++) {
        *after = page->rows[i].row.row;
        err = fn(ctx, &page->rows[i].row);
    }
    return err;
}

/* Calls `fn` for each app and endpoint that has a secret. If `writes` is true, runs each page of rows in a
 * write transaction. */
static enum err each_row(struct store *s, bool writes, secrets_row_fn *fn, void *ctx)
{
    struct secrets_page *page = xcalloc(1, sizeof *page);
    enum err err = OK;
    for (int of_apps = 0; of_apps < 2 && !err; of_apps++) {
        int64_t after = 0;
        do {
            err = writes ? store_begin(s) : OK;
            if (!err)
                err = read_page(s, of_apps, &after, page, fn, ctx);
            if (!err && writes)
                err = store_commit(s);
            else if (writes)
                store_rollback(s);
        } while (page->count == PAGE_ROWS && !err);
    }
    free(page);
    return err;
}

/* Formats the name of an endpoint or app, such as "webhook 6f1d2a5c-…" or "app app_5WQz…". */
static void format_place(const struct webhook_secret_place *place, char out[NAME_MAX_BYTES + 16])
{
    struct uuid id;
    char text[UUID_TEXT_LEN];
    if (!place->author_row || place->name.len != sizeof id.b) {
        (void)snprintf(out, NAME_MAX_BYTES + 16, "app %.*s", (int)place->name.len, place->name.p);
        return;
    }
    memcpy(id.b, place->name.p, sizeof id.b);
    uuid_format(&id, text);
    (void)snprintf(out, NAME_MAX_BYTES + 16, "webhook %.*s", UUID_TEXT_LEN, text);
}

/* ---- key rotation ---- */

struct resealing {
    struct store *store;
    struct seal_keys *keys;
    uint32_t key_id;
    int64_t *count;   /* number of resealed rows; in count_row(), number of rows that must be resealed */
    struct error why; /* the error of a secret; code OK if none has an error */
};

static bool is_sealed_with(const struct webhook_secrets *row, uint32_t key_id)
{
    return seal_key_id(row->secret) == key_id &&
           (!row->old_secret.p || seal_key_id(row->old_secret) == key_id);
}

static enum err fail_secret(struct resealing *r, enum err err, const char *what,
                            const struct webhook_secret_place *place)
{
    char name[NAME_MAX_BYTES + 16];
    format_place(place, name);
    return error_set(&r->why, err, "cannot %s the secret of the %s with the keys of the key file: %s", what,
                     name, err_name(err));
}

static enum err reseal_one(struct resealing *r, const struct webhook_secret_place *place, struct str *sealed,
                           struct buf *out)
{
    uint8_t secret[WEBHOOK_SECRET_LEN];
    if (!sealed->p)
        return OK;
    enum err err = webhook_secret_open(r->keys, place, *sealed, secret);
    if (err)
        return fail_secret(r, err, "decrypt", place);
    err = webhook_secret_seal(r->keys, place, secret, out);
    sodium_memzero(secret, sizeof secret);
    *sealed = buf_str(out);
    return err ? fail_secret(r, err, "seal", place) : OK;
}

static enum err reseal_row(void *ctx, struct webhook_secrets *row)
{
    struct resealing *r = ctx;
    const struct webhook_secret_place place = {row->author_row, row->name};
    char room[2][SEALED_LEN];
    struct buf secret = buf_on(room[0], sizeof room[0]), old_secret = buf_on(room[1], sizeof room[1]);
    if (is_sealed_with(row, r->key_id))
        return OK;
    enum err err = reseal_one(r, &place, &row->secret, &secret);
    if (!err)
        err = reseal_one(r, &place, &row->old_secret, &old_secret);
    if (err)
        return err;
    err = store_reseal_webhook(r->store, row);
    *r->count += !err;
    return err == ERR_CORRUPT ? ERR_IO : err; /* as in read_page() */
}

enum err webhook_secrets_reseal(struct store *s, struct seal_keys *keys, uint32_t key_id, int64_t *resealed,
                                struct error *error)
{
    struct resealing r = {.store = s, .keys = keys, .key_id = key_id, .count = resealed};
    const enum err err = each_row(s, true, reseal_row, &r);
    if (r.why.code)
        return error_set(error, err, "%s", r.why.text);
    if (err == ERR_CORRUPT)
        return error_set(error, err, "the sealed secret of a webhook is too long: its row is damaged");
    return err ? error_set(error, err, "database error: %s", err_name(err)) : OK;
}

static enum err count_row(void *ctx, struct webhook_secrets *row)
{
    struct resealing *r = ctx;
    *r->count += !is_sealed_with(row, r->key_id);
    return OK;
}

enum err webhook_secrets_count_old(struct store *s, uint32_t key_id, int64_t *count)
{
    struct resealing r = {.store = s, .key_id = key_id, .count = count};
    return each_row(s, false, count_row, &r);
}

/* ---- check ---- */

struct secrets_inspection {
    const struct sealed_check *check;
    int64_t *rows;
    uint32_t key_id; /* id of the key of the secret for which `err` occurred; 0: it is not sealed bytes */
    enum err err;    /* of a row; OK if the database cannot be read */
    struct error *error;
};

static enum err inspect_one(struct secrets_inspection *i, const struct webhook_secret_place *place,
                            struct str sealed)
{
    uint8_t secret[WEBHOOK_SECRET_LEN];
    const uint32_t id = seal_key_id(sealed);
    if (!sealed.p)
        return OK;
    i->key_id = id;
    if (id && !seal_has_key(i->check->keys, id))
        return ERR_NOT_FOUND;
    const enum err err = i->check->all ? webhook_secret_open(i->check->keys, place, sealed, secret) : OK;
    sodium_memzero(secret, sizeof secret);
    return err;
}

static enum err explain(const struct secrets_inspection *i, const struct webhook_secret_place *place,
                        struct error *error)
{
    char name[NAME_MAX_BYTES + 16];
    format_place(place, name);
    if (!*i->check->path)
        return error_set(
            error, i->err,
            "the database contains secrets of webhooks, but [secrets] key_file is not set: set it to "
            "the key file that sealed them, or restore that file from its own backup");
    if (i->err == ERR_NOT_FOUND)
        return error_set(error, i->err,
                         "the secret of the %s is sealed with key %08x, which is not in the key file %s",
                         name, i->key_id, i->check->path);
    if (!i->key_id)
        return error_set(error, i->err, "cannot decrypt the secret of the %s: the row is damaged", name);
    return error_set(error, i->err,
                     "cannot decrypt the secret of the %s: key %08x in %s is not the key that sealed it, or "
                     "the row is damaged",
                     name, i->key_id, i->check->path);
}

static enum err inspect_row(void *ctx, struct webhook_secrets *row)
{
    struct secrets_inspection *i = ctx;
    const struct webhook_secret_place place = {row->author_row, row->name};
    struct error error;
    ++*i->rows;
    i->err = inspect_one(i, &place, row->secret);
    if (!i->err)
        i->err = inspect_one(i, &place, row->old_secret);
    if (!i->err || !i->check->on_failure)
        return i->err ? explain(i, &place, i->error) : OK;
    (void)explain(i, &place, &error);
    i->check->on_failure(i->check->ctx, &error);
    i->err = OK;
    return OK;
}

enum err webhook_secrets_inspect(struct store *s, const struct sealed_check *check, int64_t *rows,
                                 struct error *error)
{
    struct secrets_inspection i = {.check = check, .rows = rows, .error = error};
    const enum err err = each_row(s, false, inspect_row, &i);
    if (err && !i.err)
        return error_set(error, ERR_IO, "database error: %s", err_name(err));
    return err;
}
