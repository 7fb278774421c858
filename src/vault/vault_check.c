/* Whether what is sealed in the database can be opened. */
#include "base/check.h"
#include "vault/token_vault.h"

#include <stdio.h>

enum { PAGE_ROWS = 200 };

/* What opening rows has shown of a key. */
struct tried {
    uint32_t id;
    bool opens;
    char account[ACCOUNT_ID_MAX + 1]; /* of the first row under it that did not open; "": none */
    int api;
};

struct look {
    struct seal_keys *keys;
    bool all; /* open every row, not one of each key */
    int64_t last, rows;
    struct tried tried[SEAL_KEYS_MAX];
    size_t tried_count;
    enum err err;
    struct tried at; /* what the error is about */
};

static struct tried *tried_of(struct look *l, uint32_t id)
{
    size_t i = 0;
    while (i < l->tried_count && l->tried[i].id != id)
        i++;
    if (i == l->tried_count)
        l->tried[l->tried_count++] = (struct tried){.id = id};
    return &l->tried[i];
}

static enum err fail(struct look *l, enum err err, uint32_t id, const struct credential *c)
{
    l->at = (struct tried){.id = id, .api = c->api};
    (void)snprintf(l->at.account, sizeof l->at.account, "%.*s", (int)c->account_id.len, c->account_id.p);
    return err;
}

static enum err open_row(struct look *l, const struct credential *c, struct tried *access,
                         struct tried *refresh)
{
    struct tokens t;
    enum err err = token_vault_open(l->keys, c, &t);
    token_vault_close(&t);
    if (!err) {
        access->opens = refresh->opens = true;
        return OK;
    }
    (void)fail(l, err, access->id, c);
    if (l->all)
        return err;
    /* One row that somebody spoilt stops nobody else: the key may open the next one. */
    for (struct tried *k = access; k; k = k == refresh ? NULL : refresh)
        if (!*k->account) {
            memcpy(k->account, l->at.account, sizeof k->account);
            k->api = c->api;
        }
    return OK;
}

static enum err look_at(struct look *l, const struct credential *c)
{
    const uint32_t access = seal_key_id(c->access_sealed);
    const uint32_t refresh = c->refresh_sealed.p ? seal_key_id(c->refresh_sealed) : access;
    if (!access || !refresh)
        return l->all ? fail(l, ERR_CORRUPT, access, c) : OK;
    if (!seal_has_key(l->keys, access) || !seal_has_key(l->keys, refresh))
        return fail(l, ERR_NOT_FOUND, seal_has_key(l->keys, access) ? refresh : access, c);
    struct tried *a = tried_of(l, access), *r = tried_of(l, refresh);
    return a->opens && r->opens && !l->all ? OK : open_row(l, c, a, r);
}

static bool look_at_row(void *ctx, const struct credential *c)
{
    struct look *l = ctx;
    l->rows++;
    l->last = c->row;
    l->err = look_at(l, c);
    return !l->err;
}

/* A key that opens nothing is not the one that it says it is. */
static void look_at_keys(struct look *l)
{
    for (size_t i = 0; i < l->tried_count && !l->err; i++)
        if (!l->tried[i].opens && *l->tried[i].account) {
            l->at = l->tried[i];
            l->err = ERR_CORRUPT;
        }
}

static enum err look_at_all(struct look *l, struct store *s)
{
    int64_t before = -1;
    while (l->rows != before && !l->err) {
        before = l->rows;
        enum err err = store_list_credentials(s, l->last, PAGE_ROWS, look_at_row, l);
        if (err)
            return err;
    }
    return OK;
}

static void explain(const struct look *l, const char *path, char *why, size_t why_size)
{
    const char *platform = l->at.api >= 0 && l->at.api < PLATFORM_APIS
                               ? platform_desc((enum platform_api)l->at.api)->title
                               : "a platform";
    if (!*path)
        (void)snprintf(
            why, why_size,
            "the database holds tokens of accounts at the platforms, but [secrets] key_file names no "
            "file to open them with");
    else if (l->err == ERR_NOT_FOUND)
        (void)snprintf(
            why, why_size,
            "the tokens of the %s account %s are sealed with the key %08x, which is not in the key "
            "file %s",
            platform, l->at.account, l->at.id, path);
    else
        (void)snprintf(
            why, why_size,
            "the tokens of the %s account %s cannot be opened: the key %08x in %s is not the one that "
            "sealed them, or the row was changed by hand",
            platform, l->at.account, l->at.id, path);
}

enum err vault_inspect(const struct config *config, struct store *s, bool all, int64_t *rows, char *why,
                       size_t why_size)
{
    const char *path = config->secrets.key_file;
    struct look l = {.all = all, .last = 0};
    enum err err = seal_keys_open(&l.keys, path, why, why_size);
    *rows = 0;
    if (err)
        return err;
    err = look_at_all(&l, s);
    look_at_keys(&l);
    if (err)
        (void)snprintf(why, why_size, "the database says: %s", err_name(err));
    if (l.err)
        explain(&l, path, why, why_size);
    *rows = l.rows;
    seal_keys_close(l.keys);
    return err ? err : l.err;
}

enum err vault_check(const struct config *config, struct store *s, char *why, size_t why_size)
{
    int64_t rows;
    return vault_inspect(config, s, false, &rows, why, why_size);
}
