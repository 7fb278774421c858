/* Authorization codes, client secrets and PKCE (RFC 6749, 4.1; RFC 7636; RFC 9700): formats and comparisons,
 * and the two write transactions that issue a code and exchange it for an API key. */
#ifndef VT_OAUTH_CODES_H
#define VT_OAUTH_CODES_H

#include "auth/api_key.h"
#include "base/clock.h"
#include "store/apps.h"
#include "store/author_keys.h"

#define CODE_LIFE_MS (300 * SECOND_MS)
/* Age at which codes are deleted. A code that was exchanged for a key stays longer, as its replay revokes the
 * key. */
#define CODE_UNUSED_RETENTION_MS HOUR_MS
#define CODE_USED_RETENTION_MS   (30 * DAY_MS)

enum { PKCE_CHALLENGE_LEN = 43, PKCE_VERIFIER_MIN = 43, PKCE_VERIFIER_MAX = 128 };
enum { CLIENT_ID_MAX = 64 };

/* "app_" and 22 random base62 characters. Not a secret. */
void client_id_generate(struct key_text *out);

/* Compares in constant time; takes the same time if the app has no secret or is unknown (NULL). */
bool client_secret_matches(const struct app_record *app, struct str secret);

/* 43 characters of base64url: a SHA-256. */
bool pkce_is_challenge(struct str s);
/* 43 to 128 unreserved characters. */
bool pkce_is_verifier(struct str s);
/* BASE64URL(SHA-256(verifier)). */
void pkce_challenge(struct str verifier, char out[PKCE_CHALLENGE_LEN]);
/* True if `challenge` is the verifier's challenge. Constant time. */
bool pkce_matches(struct str challenge, struct str verifier);

/* Stores a new code and deletes a few old ones. Call within a transaction. */
struct code_grant {
    int64_t app_row, author_row;
    struct str redirect_uri, challenge;
};
/* If `*reached` is not KEY_LIMIT_NONE, no code is issued: the app could not exchange it for a key. */
MUST_USE enum err code_issue(struct store *store, const struct code_grant *grant, int64_t now,
                             struct key_text *code, enum key_limit *reached);

/* Exchanges a code for a key. Call within a transaction that is committed whatever the outcome.
 *
 * The first attempt uses the code up, also if it fails (RFC 9700, 4.2.4): a failure suggests that the code
 * was stolen. A second attempt revokes the key that the code gave. An older live key of the same author and
 * app is revoked, so that connecting again replaces the key. */
enum code_outcome {
    CODE_EXCHANGED,
    CODE_UNKNOWN,
    CODE_REPLAYED,
    CODE_EXPIRED,
    CODE_MISMATCH, /* of app, redirect address or challenge */
    CODE_APP_REMOVED,
    CODE_LIVE_LIMIT, /* the author's live keys have reached their limit (store/author_keys.h) */
    CODE_DAY_LIMIT,  /* the author's keys of today have reached their limit */
};
struct code_exchange {
    /* In. */
    int64_t app_row;
    struct str code, redirect_uri, verifier;
    struct str client_id, key_prefix;
    /* Out; strings are in the arena. */
    enum code_outcome outcome;
    struct api_key key;
    struct key_text key_text;
    struct author author;
};
MUST_USE enum err code_redeem(struct store *store, struct arena *arena, struct code_exchange *x, int64_t now);

#endif
