/* Whether what is sealed in the database can be opened. */
#include "base/check.h"
#include "platforms/credentials.h"

#include <stdio.h>

enum { PAGE_ROWS = 200 };

struct look {
    struct seal_keys *keys;
    bool all; /* open every row, not one of each key */
    int64_t last, rows;
    uint32_t opened[SEAL_KEYS_MAX];
    size_t opened_count;
    enum err err;
    uint32_t unknown_id; /* of ERR_NOT_FOUND */
    char account[ACCOUNT_ID_MAX + 1];
    int api;
};

static bool was_opened(struct look *l, uint32_t id)
{
    for (size_t i = 0; i < l->opened_count; i++)
        if (l->opened[i] == id)
            return true;
    if (l->opened_count < SEAL_KEYS_MAX)
        l->opened[l->opened_count++] = id;
    return false;
}

static enum err look_at(struct look *l, const struct credential *c)
{
    const uint32_t access = seal_id_of(c->access_sealed);
    const uint32_t refresh = c->refresh_sealed.p ? seal_id_of(c->refresh_sealed) : access;
    l->unknown_id = seal_knows(l->keys, access) ? refresh : access;
    if (!access || !refresh)
        return ERR_CORRUPT;
    if (!seal_knows(l->keys, access) || !seal_knows(l->keys, refresh))
        return ERR_NOT_FOUND;
    /* Both keys are remembered, whatever the first look says. */
    const bool known = was_opened(l, access);
    if (was_opened(l, refresh) && known && !l->all)
        return OK;
    struct tokens t;
    enum err err = tokens_open(l->keys, c, &t);
    tokens_close(&t);
    return err;
}

static bool look_at_row(void *ctx, const struct credential *c)
{
    struct look *l = ctx;
    l->rows++;
    l->last = c->row;
    l->err = look_at(l, c);
    if (!l->err)
        return true;
    l->api = c->api;
    (void)snprintf(l->account, sizeof l->account, "%.*s", (int)c->account_id.len, c->account_id.p);
    return false;
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
    const char *platform = l->api >= 0 && l->api < PLATFORM_APIS
                               ? platform_desc((enum platform_api)l->api)->title
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
            platform, l->account, l->unknown_id, path);
    else
        (void)snprintf(
            why, why_size,
            "the tokens of the %s account %s cannot be opened: the key %08x in %s is not the one that "
            "sealed them, or the row was changed by hand",
            platform, l->account, l->unknown_id, path);
}

enum err secrets_look(const struct config *config, struct store *s, bool all, int64_t *rows, char *why,
                      size_t why_size)
{
    const char *path = config->secrets.key_file;
    struct look l = {.all = all, .last = 0};
    enum err err = seal_open(&l.keys, path, why, why_size);
    *rows = 0;
    if (err)
        return err;
    err = look_at_all(&l, s);
    if (err)
        (void)snprintf(why, why_size, "the database says: %s", err_name(err));
    if (l.err)
        explain(&l, path, why, why_size);
    *rows = l.rows;
    seal_close(l.keys);
    return err ? err : l.err;
}

enum err secrets_check(const struct config *config, struct store *s, char *why, size_t why_size)
{
    int64_t rows;
    return secrets_look(config, s, false, &rows, why, why_size);
}
