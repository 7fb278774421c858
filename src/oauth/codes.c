/* Authorization codes, client secrets and PKCE. */
#include "oauth/codes.h"

#include "base/check.h"
#include "base/expiry_floor.h"
#include "store/webhooks.h"
#include "store/write.h"

#include <sodium.h>

enum { CLIENT_ID_RANDOM = 22 };

void client_id_generate(struct key_text *out)
{
    key_generate(STR("app_"), out);
    out->len = 4 + CLIENT_ID_RANDOM;
    out->p[out->len] = '\0';
}

bool client_secret_matches(const struct app_record *app, struct str secret)
{
    static const uint8_t zeros[SECRET_HASH_LEN];
    uint8_t hash[SECRET_HASH_LEN];
    bool has_secret = app && app->confidential;
    key_hash(secret, hash);
    bool equal = sodium_memcmp(hash, has_secret ? app->secret_hash : zeros, sizeof hash) == 0;
    return equal && has_secret;
}

/* ---- PKCE ---- */

static bool is_unreserved(char c, bool with_dot_and_tilde)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || (with_dot_and_tilde && (c == '.' || c == '~'));
}

bool pkce_is_challenge(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_unreserved(s.p[i], false))
            return false;
    return s.len == PKCE_CHALLENGE_LEN;
}

bool pkce_is_verifier(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_unreserved(s.p[i], true))
            return false;
    return s.len >= PKCE_VERIFIER_MIN && s.len <= PKCE_VERIFIER_MAX;
}

void pkce_challenge(struct str verifier, char out[PKCE_CHALLENGE_LEN])
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    char text[sodium_base64_ENCODED_LEN(sizeof hash, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
    key_hash(verifier, hash);
    (void)sodium_bin2base64(text, sizeof text, hash, sizeof hash, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    memcpy(out, text, PKCE_CHALLENGE_LEN);
}

bool pkce_matches(struct str challenge, struct str verifier)
{
    char text[PKCE_CHALLENGE_LEN];
    if (!pkce_is_verifier(verifier) || challenge.len != PKCE_CHALLENGE_LEN)
        return false;
    pkce_challenge(verifier, text);
    return sodium_memcmp(text, challenge.p, PKCE_CHALLENGE_LEN) == 0;
}

/* ---- issuing a code ---- */

enum err code_issue(struct store *store, const struct code_grant *grant, int64_t now, struct key_text *code,
                    enum key_limit *reached)
{
    uint8_t hash[SECRET_HASH_LEN];
    const struct code_record record = {.app_row = grant->app_row,
                                       .author_row = grant->author_row,
                                       .redirect_uri = grant->redirect_uri,
                                       .challenge = grant->challenge,
                                       .webhook_url = grant->webhook_url,
                                       .created_at = expiry_now_ms()};
    enum err err = store_check_key_limits(store, grant->author_row, grant->app_row, now, reached);
    if (err || *reached != KEY_LIMIT_NONE)
        return err;
    key_generate(CODE_PREFIX, code);
    key_hash(str_make(code->p, code->len), hash);
    int64_t floor = expiry_floor_ms();
    err = store_purge_codes(store, floor - CODE_UNUSED_RETENTION_MS, floor - CODE_USED_RETENTION_MS);
    return err ? err : store_insert_code(store, hash, &record);
}

/* ---- exchanging a code for a key ---- */

static enum err insert_key(struct store *store, struct code_exchange *x, struct str name, int64_t now)
{
    uint8_t hash[KEY_HASH_LEN];
    int replaced;
    enum err err = store_revoke_app_keys(store, x->app_row, x->author.row, now, &x->by, &replaced);
    if (err)
        return err;
    key_generate(x->key_prefix, &x->key_text);
    key_hash(str_make(x->key_text.p, x->key_text.len), hash);
    x->key = (struct api_key){.id = uuid_generate(),
                              .author_row = x->author.row,
                              .name = name,
                              .created_at = now,
                              .last_used_at = TIME_NONE,
                              .revoked_at = TIME_NONE,
                              .app_row = x->app_row};
    memcpy(x->key.suffix, x->key_text.p + x->key_text.len - KEY_SUFFIX_LEN, KEY_SUFFIX_LEN);
    return store_insert_key(store, &x->key, hash, &x->by);
}

static enum err resume_webhook(struct store *store, struct webhook_endpoint *e, int64_t now,
                               const struct actor *by)
{
    if (e->state == WEBHOOK_ACTIVE)
        return OK;
    e->state = WEBHOOK_ACTIVE;
    e->state_at = now;
    e->failures = 0;
    e->next_attempt_at = TIME_NONE;
    const enum err err = store_save_webhook(store, e);
    return err ? err : store_note_webhook(store, e, now, AUDIT_WEBHOOK_RESUMED, by);
}

/* If the consent page has shown the current URL of the app's webhook, makes sure that an endpoint sends the
 * author's events to this URL. An endpoint that is already connected keeps its position, so that no event is
 * lost or repeated. If no endpoint is connected, or if its receiver has responded with status 410, creates an
 * endpoint that begins with the author's next event. Call before the old key of the app is revoked. */
static enum err connect_webhook(struct store *store, struct arena *arena, struct code_exchange *x,
                                const struct app_record *app, const struct code_record *code, int64_t now)
{
    struct webhook_endpoint e;
    if (!code->webhook_url.p || !str_eq(code->webhook_url, app->webhook_url))
        return OK;
    enum err err = store_find_app_webhook(store, arena, app->row, x->author.row, &e);
    if (err && err != ERR_NOT_FOUND)
        return err;
    x->has_webhook = true;
    if (!err && e.is_connected && e.state != WEBHOOK_GONE) {
        x->webhook_id = e.id;
        return resume_webhook(store, &e, now, &x->by);
    }
    err = err ? OK : store_delete_webhook(store, e.row);
    e = (struct webhook_endpoint){.id = uuid_generate(),
                                  .author_row = x->author.row,
                                  .app_row = app->row,
                                  .url = app->webhook_url,
                                  .created_at = now,
                                  .position = x->author.last_event_id};
    x->webhook_id = e.id;
    if (!err)
        err = store_insert_webhook(store, &e);
    return err ? err : store_note_webhook(store, &e, now, AUDIT_WEBHOOK_CREATED, &x->by);
}

static enum code_outcome check_code(const struct code_exchange *x, const struct code_record *code)
{
    if (code->used_at != TIME_NONE)
        return CODE_REPLAYED;
    if (code->app_row != x->app_row || !str_eq(code->redirect_uri, x->redirect_uri) ||
        !pkce_matches(code->challenge, x->verifier))
        return CODE_MISMATCH;
    /* A code whose time of issue is in the future was issued while the clock was wrong. It counts as expired,
     * so that a wrong clock does not extend its validity. */
    const bool has_expired = expiry_has_passed(code->created_at, CODE_LIFE_MS, expiry_now_ms());
    return has_expired ? CODE_EXPIRED : CODE_EXCHANGED;
}

static enum err exchange_for_key(struct store *store, struct arena *arena, struct code_exchange *x,
                                 const struct code_record *code, int64_t now)
{
    struct app_record app;
    enum err err = store_find_app(store, arena, x->client_id, &app);
    if (err)
        return err;
    /* The app may have been removed since the client was authenticated. */
    if (app.removed_at != TIME_NONE || app.row != x->app_row) {
        x->outcome = CODE_APP_REMOVED;
        return OK;
    }
    enum key_limit reached;
    err = store_get_author(store, arena, code->author_row, &x->author);
    if (err)
        return err;
    err = store_check_key_limits(store, x->author.row, x->app_row, now, &reached);
    if (err)
        return err;
    /* Check the limits before revoking the old key, because a rejected exchange must not disconnect the app.
     */
    if (reached != KEY_LIMIT_NONE) {
        x->outcome = reached == KEY_LIMIT_LIVE ? CODE_LIVE_LIMIT : CODE_DAY_LIMIT;
        return OK;
    }
    err = connect_webhook(store, arena, x, &app, code, now);
    return err ? err : insert_key(store, x, app.name, now);
}

enum err code_redeem(struct store *store, struct arena *arena, struct code_exchange *x, int64_t now)
{
    uint8_t hash[SECRET_HASH_LEN];
    struct code_record code;
    x->outcome = CODE_UNKNOWN;
    if (!key_is_well_formed(CODE_PREFIX, x->code))
        return OK;
    key_hash(x->code, hash);
    enum err err = store_find_code(store, arena, hash, &code);
    if (err)
        return err == ERR_NOT_FOUND ? OK : err;
    x->outcome = check_code(x, &code);
    if (x->outcome == CODE_REPLAYED)
        return code.key_row ? store_revoke_key(store, code.key_row, now, &x->by) : OK;
    if (x->outcome == CODE_EXCHANGED)
        err = exchange_for_key(store, arena, x, &code, now);
    if (err)
        return err;
    return store_mark_code_used(store, hash, now, x->outcome == CODE_EXCHANGED ? x->key.row : 0);
}
