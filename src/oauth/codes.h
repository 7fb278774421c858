/* Authorization codes, client secrets and PKCE (RFC 6749, 4.1; RFC 7636; RFC 9700): formats and comparisons,
 * and the two write transactions that issue a code and exchange it for an API key. */
#ifndef VT_OAUTH_CODES_H
#define VT_OAUTH_CODES_H

#include "auth/api_key.h"
#include "base/clock.h"
#include "store/apps.h"
#include "store/author_keys.h"

#define CODE_LIFE_MS (300 * SECOND_MS)
/* The ages at which codes are deleted. A code that was exchanged for a key is stored longer, because a second
 * use of the code must revoke the key. */
#define CODE_UNUSED_RETENTION_MS HOUR_MS
#define CODE_USED_RETENTION_MS   (30 * DAY_MS)

enum { PKCE_CHALLENGE_LEN = 43, PKCE_VERIFIER_MIN = 43, PKCE_VERIFIER_MAX = 128 };
enum { CLIENT_ID_MAX = 64 };

/* Generates a client id: "app_" and 22 random base62 characters. It is not a secret. */
void client_id_generate(struct key_text *out);

/* Returns true if `secret` is the client secret of the app. Runs in constant time, even if the app has no
 * secret or `app` is NULL (unknown). */
bool client_secret_matches(const struct app_record *app, struct str secret);

/* Returns true for 43 characters of base64url, the form of a SHA-256 hash and so of a PKCE code challenge. */
bool pkce_is_challenge(struct str s);
/* Returns true for 43 to 128 unreserved characters, the form of a PKCE code verifier. */
bool pkce_is_verifier(struct str s);
/* Computes the PKCE code challenge of a verifier: BASE64URL(SHA-256(verifier)), not NUL-terminated. */
void pkce_challenge(struct str verifier, char out[PKCE_CHALLENGE_LEN]);
/* Returns true if `challenge` is the challenge of `verifier`. Runs in constant time. */
bool pkce_matches(struct str challenge, struct str verifier);

struct code_grant {
    int64_t app_row, author_row;
    struct str redirect_uri, challenge;
    struct str webhook_url; /* webhook URL that the consent page showed; p == NULL: none */
};
/* Stores a new code, writes it to `code`, and deletes a few old codes. Call in a write transaction. If the
 * author has reached a limit of keys, issues no code, because the app could not exchange it. Sets `*reached`
 * to the limit, or to KEY_LIMIT_NONE if none has been reached. */
MUST_USE enum err code_issue(struct store *store, const struct code_grant *grant, int64_t now,
                             struct key_text *code, enum key_limit *reached);

/* The result of code_redeem(). */
enum code_outcome {
    CODE_EXCHANGED,
    CODE_UNKNOWN,
    CODE_REPLAYED,
    CODE_EXPIRED,
    CODE_MISMATCH, /* wrong app or redirect URI, or the verifier does not match the challenge */
    CODE_APP_REMOVED,
    CODE_LIVE_LIMIT, /* the author's live keys have reached their limit (store/author_keys.h) */
    CODE_DAY_LIMIT,  /* the author's keys of today have reached their limit */
};
struct code_exchange {
    /* Input. */
    int64_t app_row;
    struct str code, redirect_uri, verifier;
    struct str client_id, key_prefix;
    struct actor by;
    /* Output. Strings are in the arena. */
    enum code_outcome outcome;
    struct api_key key;
    struct key_text key_text;
    struct author author;
    struct uuid webhook_id; /* the endpoint to which the author's events are sent */
    bool has_webhook;
};
/* Exchanges a code for a key and sets `x->outcome`. Call in a write transaction. Unless an error is returned,
 * commit it, whatever the outcome.
 *
 * The first attempt consumes the code, even if the exchange fails (RFC 9700, 4.2.4): a failure suggests that
 * the code was stolen. A second attempt revokes the key that the code was exchanged for. An older live key of
 * the same author and app is revoked, so that connecting again replaces the key. */
MUST_USE enum err code_redeem(struct store *store, struct arena *arena, struct code_exchange *x, int64_t now);

#endif
