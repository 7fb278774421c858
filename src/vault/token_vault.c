/* Decrypts stored tokens for one call; encrypts new ones before storing them. */
#include "vault/tokens.h"

#include "base/check.h"
#include "base/clock.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DEFAULT_LIFE_S = 3600,               /* assumed if a response has no expires_in, as Meta's may */
    IDLE_AGE_MS = 7 * 24 * 3600 * 1000,  /* age at which a token that no call needs is refreshed, if its
                                            lifetime is below LONG_LIFE_MS */
    LONG_LIFE_MS = 2 * 24 * 3600 * 1000, /* a token with a longer lifetime is refreshed when it expires soon,
                                            even if no call needs it */
};

/* ---- opened tokens ---- */

static enum err open_one(struct seal_keys *keys, const struct credential *c, enum seal_column column,
                         struct str sealed, char *to, struct str *out)
{
    const struct seal_place place = {
        .author_row = c->author_row, .api = c->api, .account_id = c->account_id, .column = column};
    size_t len;
    enum err err = seal_decrypt(keys, &place, sealed, to, &len);
    if (!err)
        *out = str_make(to, len);
    return err;
}

enum err tokens_decrypt(struct seal_keys *keys, const struct credential *c, struct tokens *out)
{
    const size_t plain_max = c->access_sealed.len + c->refresh_sealed.len;
    *out = (struct tokens){.row = c->row,
                           .author_row = c->author_row,
                           .version = c->version,
                           .api = (enum platform_api)c->api,
                           .size = plain_max + c->account_id.len + c->scopes.len + 1};
    char *at = out->memory = xcalloc(1, out->size);
    enum err err = open_one(keys, c, SEAL_ACCESS, c->access_sealed, at, &out->grant.access_token);
    at += c->access_sealed.len;
    if (!err && c->refresh_sealed.p)
        err = open_one(keys, c, SEAL_REFRESH, c->refresh_sealed, at, &out->grant.refresh_token);
    if (err) {
        tokens_wipe(out);
        return err;
    }
    at += c->refresh_sealed.len;
    memcpy(at, c->account_id.p, c->account_id.len);
    out->grant.account_id = str_make(at, c->account_id.len);
    at += c->account_id.len;
    memcpy(at, c->scopes.p, c->scopes.len);
    out->grant.scopes = str_make(at, c->scopes.len);
    return OK;
}

void tokens_wipe(struct tokens *t)
{
    if (t->memory)
        sodium_memzero(t->memory, t->size);
    free(t->memory);
    t->memory = NULL;
    t->grant = (struct token_grant){.expires_in_s = 0};
}

enum err tokens_load(struct store *s, struct seal_keys *keys, int64_t row, struct tokens *out)
{
    struct arena a;
    struct credential c;
    *out = (struct tokens){.memory = NULL};
    arena_init(&a, 4096);
    enum err err = store_get_credential(s, &a, row, &c);
    if (!err)
        err = tokens_decrypt(keys, &c, out);
    arena_fini(&a);
    return err;
}

bool token_refresh_is_due(const struct platform_desc *desc, const struct credential *c, int64_t now_ms,
                          bool idle)
{
    if (desc->refresh_before_s < 0 || c->state != CREDENTIAL_CONNECTED || c->access_expires_at == TIME_NONE)
        return false;
    const int64_t age_ms = now_ms - c->obtained_at;
    if (age_ms < desc->refresh_min_age_s * SECOND_MS)
        return false;
    if (idle && c->access_expires_at - c->obtained_at < LONG_LIFE_MS)
        return age_ms >= IDLE_AGE_MS;
    return c->access_expires_at - now_ms < desc->refresh_before_s * SECOND_MS;
}

/* ---- storing an account ---- */

static bool copy_text(char *out, size_t max, struct str text, bool may_be_empty)
{
    if (text.len > max || (!text.len && !may_be_empty) || !str_is_utf8(text))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7F)
            return false;
    if (text.len)
        memcpy(out, text.p, text.len);
    out[text.len] = '\0';
    return true;
}

int64_t token_expiry(const struct platform_desc *desc, int64_t expires_in_s, int64_t now_ms)
{
    /* The maximum lifetime. A longer one must be an error of the platform, and could cause an overflow. */
    enum { LIFE_MAX_S = 20 * 366 * 86400 };
    if (expires_in_s < 0 || (!expires_in_s && desc->refresh_before_s < 0))
        return TIME_NONE;
    if (!expires_in_s)
        expires_in_s = DEFAULT_LIFE_S;
    return now_ms + (expires_in_s < LIFE_MAX_S ? expires_in_s : LIFE_MAX_S) * SECOND_MS;
}

int64_t refresh_token_expiry(int64_t expires_in_s, int64_t now_ms)
{
    enum { LIFE_MAX_S = 20 * 366 * 86400 };
    if (expires_in_s <= 0 || expires_in_s > LIFE_MAX_S)
        return TIME_NONE;
    return now_ms + expires_in_s * SECOND_MS;
}

enum err account_record_init(struct account_record *out, int64_t author_row,
                             const struct linked_account *account, int64_t now_ms, struct error *error)
{
    const struct token_grant *grant = &account->grant;
    const struct platform_desc *desc = platform_desc(account->api);
    const char *wrong = NULL;
    *out = (struct account_record){.author_row = author_row, .api = account->api, .obtained_at = now_ms};
    if (!copy_text(out->account_id, ACCOUNT_ID_MAX, account->id, false))
        wrong = "account id";
    else if (!copy_text(out->access_token, TOKEN_MAX, grant->access_token, false))
        wrong = "access token";
    else if (!copy_text(out->refresh_token, TOKEN_MAX, grant->refresh_token, true))
        wrong = "refresh token";
    else if (!copy_text(out->scopes, SCOPES_MAX, grant->scopes, true))
        wrong = "list of scopes";
    if (wrong) {
        account_record_wipe(out);
        return error_set(error, ERR_INVALID, "the %s is missing, too long or not valid text", wrong);
    }
    /* The name is only for display, so a name that is too long or not valid text is left empty. */
    if (!copy_text(out->name, ACCOUNT_NAME_MAX, account->name, true))
        out->name[0] = '\0';
    out->is_personal = account->is_personal;
    out->access_expires_at = token_expiry(desc, grant->expires_in_s, now_ms);
    out->refresh_expires_at = refresh_token_expiry(grant->refresh_expires_in_s, now_ms);
    return OK;
}

void account_record_wipe(struct account_record *r)
{
    sodium_memzero(r, sizeof *r);
}

enum err tokens_seal(struct seal_keys *keys, struct credential *c, const struct token_grant *grant,
                     struct buf *access, struct buf *refresh)
{
    struct seal_place place = {
        .author_row = c->author_row, .api = c->api, .account_id = c->account_id, .column = SEAL_ACCESS};
    enum err err = seal_encrypt(keys, &place, grant->access_token, access);
    place.column = SEAL_REFRESH;
    if (!err && grant->refresh_token.len)
        err = seal_encrypt(keys, &place, grant->refresh_token, refresh);
    c->access_sealed = buf_str(access);
    c->refresh_sealed = grant->refresh_token.len ? buf_str(refresh) : str_make(NULL, 0);
    return err;
}

enum err account_record_store(const struct account_record *r, struct seal_keys *keys, struct store *s,
                              int64_t *row)
{
    struct buf access, refresh;
    struct credential c = {.author_row = r->author_row,
                           .api = (int)r->api,
                           .account_id = str_from_cstr(r->account_id),
                           .account_name = str_from_cstr(*r->name ? r->name : NULL),
                           .scopes = str_from_cstr(r->scopes),
                           .access_expires_at = r->access_expires_at,
                           .refresh_expires_at = r->refresh_expires_at,
                           .obtained_at = r->obtained_at,
                           .is_personal = r->is_personal};
    const struct token_grant grant = {.access_token = str_from_cstr(r->access_token),
                                      .refresh_token = str_from_cstr(r->refresh_token)};
    buf_init(&access, TOKEN_MAX + SEAL_OVERHEAD);
    buf_init(&refresh, TOKEN_MAX + SEAL_OVERHEAD);
    enum err err = tokens_seal(keys, &c, &grant, &access, &refresh);
    if (!err)
        err = store_put_credential(s, &c);
    if (!err)
        *row = c.row;
    buf_fini(&access);
    buf_fini(&refresh);
    return err;
}
