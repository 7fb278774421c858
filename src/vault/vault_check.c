/* Checks whether the sealed rows of the database can be decrypted. */
#include "base/check.h"
#include "vault/token_vault.h"
#include "vault/webhook_secrets.h"

#include <stdio.h>

enum { PAGE_ROWS = 200 };

/* The results of the check for one key. */
struct key_result {
    uint32_t id;
    bool decrypts_a_row;              /* the key decrypts at least one row */
    char account[ACCOUNT_ID_MAX + 1]; /* account of the first row that the key failed to decrypt; "": none */
    int api;
};

struct inspection {
    struct sealed_check check;
    int64_t last, rows;
    struct key_result results[SEAL_KEYS_MAX];
    size_t result_count;
    enum err err;
    struct key_result
        at; /* the key and the account for which `err` occurred; id 0: a token is not sealed bytes */
};

static struct key_result *result_of(struct inspection *inspection, uint32_t id)
{
    size_t i = 0;
    while (i < inspection->result_count && inspection->results[i].id != id)
        i++;
    if (i == inspection->result_count)
        inspection->results[inspection->result_count++] = (struct key_result){.id = id};
    return &inspection->results[i];
}

static enum err fail(struct inspection *inspection, enum err err, uint32_t id, const struct credential *c)
{
    inspection->at = (struct key_result){.id = id, .api = c->api};
    (void)snprintf(inspection->at.account, sizeof inspection->at.account, "%.*s", (int)c->account_id.len,
                   c->account_id.p);
    return err;
}

static enum err open_row(struct inspection *inspection, const struct credential *c, struct key_result *access,
                         struct key_result *refresh)
{
    struct tokens t;
    enum err err = tokens_decrypt(inspection->check.keys, c, &t);
    tokens_wipe(&t);
    if (!err) {
        access->decrypts_a_row = refresh->decrypts_a_row = true;
        return OK;
    }
    (void)fail(inspection, err, access->id, c);
    if (inspection->check.all)
        return err;
    /* A single damaged row must not stop the server if the key decrypts another row. So record, for each key,
     * the first account that it failed to decrypt. If the key decrypts no row, the error names this
     * account. */
    for (struct key_result *k = access; k; k = k == refresh ? NULL : refresh)
        if (!*k->account) {
            memcpy(k->account, inspection->at.account, sizeof k->account);
            k->api = c->api;
        }
    return OK;
}

static enum err inspect_row(struct inspection *inspection, const struct credential *c)
{
    const uint32_t access = seal_key_id(c->access_sealed);
    const uint32_t refresh = c->refresh_sealed.p ? seal_key_id(c->refresh_sealed) : access;
    if (!access || !refresh)
        return inspection->check.all ? fail(inspection, ERR_CORRUPT, 0, c) : OK;
    if (!seal_has_key(inspection->check.keys, access) || !seal_has_key(inspection->check.keys, refresh))
        return fail(inspection, ERR_NOT_FOUND,
                    seal_has_key(inspection->check.keys, access) ? refresh : access, c);
    struct key_result *a = result_of(inspection, access), *r = result_of(inspection, refresh);
    return a->decrypts_a_row && r->decrypts_a_row && !inspection->check.all ? OK
                                                                            : open_row(inspection, c, a, r);
}

static void explain(const struct inspection *inspection, struct error *error)
{
    const char *path = inspection->check.path;
    const char *platform = inspection->at.api >= 0 && inspection->at.api < PLATFORM_APIS
                               ? platform_desc((enum platform_api)inspection->at.api)->title
                               : "a platform";
    if (!*path)
        (void)error_set(error, inspection->err,
                        "the database contains tokens of platform accounts, but [secrets] key_file is not "
                        "set: set it to the key file that "
                        "sealed them, or restore that file from its own backup");
    else if (inspection->err == ERR_NOT_FOUND)
        (void)error_set(
            error, inspection->err,
            "the tokens of the %s account %s are sealed with key %08x, which is not in the key file %s",
            platform, inspection->at.account, inspection->at.id, path);
    else if (!inspection->at.id)
        (void)error_set(error, inspection->err,
                        "cannot decrypt the tokens of the %s account %s: the row is damaged", platform,
                        inspection->at.account);
    else
        (void)error_set(
            error, inspection->err,
            "cannot decrypt the tokens of the %s account %s: key %08x in %s is not the key that sealed them, "
            "or the row is damaged",
            platform, inspection->at.account, inspection->at.id, path);
}

static bool on_row(void *ctx, const struct credential *c)
{
    struct inspection *inspection = ctx;
    inspection->rows++;
    inspection->last = c->row;
    inspection->err = inspect_row(inspection, c);
    if (inspection->err && inspection->check.on_failure) {
        struct error error;
        explain(inspection, &error);
        inspection->check.on_failure(inspection->check.ctx, &error);
        inspection->err = OK;
    }
    return !inspection->err;
}

/* Sets inspection->err if a key decrypts none of the rows that name its id: it is not the key that sealed
 * them. */
static void find_wrong_key(struct inspection *inspection)
{
    for (size_t i = 0; i < inspection->result_count && !inspection->err; i++)
        if (!inspection->results[i].decrypts_a_row && *inspection->results[i].account) {
            inspection->at = inspection->results[i];
            inspection->err = ERR_CORRUPT;
        }
}

static enum err inspect_all(struct inspection *inspection, struct store *s)
{
    int64_t before = -1;
    while (inspection->rows != before && !inspection->err) {
        before = inspection->rows;
        enum err err = store_list_credentials(s, inspection->last, PAGE_ROWS, on_row, inspection);
        if (err)
            return err;
    }
    return OK;
}

/* Opens the key file and checks the rows as `check` says; sets the keys and the path of `check`. */
static enum err inspect_rows(const struct config *config, struct store *s, struct sealed_check *check,
                             struct sealed_rows *rows, struct error *error)
{
    struct inspection inspection = {.last = 0};
    check->path = config->secrets.key_file;
    enum err err = seal_keys_open(&check->keys, check->path, error);
    *rows = (struct sealed_rows){.accounts = 0};
    if (err)
        return err;
    inspection.check = *check;
    err = inspect_all(&inspection, s);
    find_wrong_key(&inspection);
    if (err)
        err = error_set(error, ERR_IO, "database error: %s", err_name(err));
    if (inspection.err)
        explain(&inspection, error);
    rows->accounts = inspection.rows;
    if (!err && !inspection.err)
        err = webhook_secrets_inspect(s, check, &rows->webhooks, error);
    seal_keys_close(check->keys);
    return err ? err : inspection.err;
}

enum err vault_inspect(const struct config *config, struct store *s, bool all, struct sealed_rows *rows,
                       struct error *error)
{
    struct sealed_check check = {.all = all};
    return inspect_rows(config, s, &check, rows, error);
}

enum err vault_list_failures(const struct config *config, struct store *s, struct sealed_rows *rows,
                             vault_failure_fn *on_failure, void *ctx, struct error *error)
{
    /* Without a key file, all rows have the same failure, so the first one is the error. */
    struct sealed_check check = {
        .all = true, .on_failure = *config->secrets.key_file ? on_failure : NULL, .ctx = ctx};
    return inspect_rows(config, s, &check, rows, error);
}

enum err vault_check_key_file(const struct config *config, struct store *s, struct error *error)
{
    struct sealed_rows rows;
    return vault_inspect(config, s, false, &rows, error);
}
