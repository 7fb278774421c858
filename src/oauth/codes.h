/* Authorization codes and client secrets (RFC 6749, 4.1; RFC 7636; RFC 9700): their texts, and the two write
 * transactions in which a code is made and is changed for a key. */
#ifndef VT_OAUTH_CODES_H
#define VT_OAUTH_CODES_H

#include "auth/api_key.h"
#include "base/clock.h"
#include "store/apps.h"
#include "store/author_keys.h"

#define CODE_LIFE_MS (300 * SECOND_MS)
/* How long codes are kept: those that gave no key, and those that did, whose replay revokes it. */
#define CODE_IDLE_KEPT_MS  HOUR_MS
#define CODE_SPENT_KEPT_MS (30 * DAY_MS)

enum { PKCE_CHALLENGE_LEN = 43, PKCE_VERIFIER_MIN = 43, PKCE_VERIFIER_MAX = 128 };
enum { CLIENT_ID_MAX = 64 };

/* "app_" and 22 base62 characters: no secret, only hard to mistake. */
void client_id_generate(struct key_text *out);

/* Compares in constant time, and takes as long for an app that has no secret or is not known (NULL). */
bool client_secret_matches(const struct app_record *app, struct str secret);

/* 43 characters of base64url, as SHA-256 has. */
bool pkce_is_challenge(struct str s);
/* 43 to 128 unreserved characters. */
bool pkce_is_verifier(struct str s);
/* BASE64URL(SHA-256(verifier)). */
void pkce_challenge(struct str verifier, char out[PKCE_CHALLENGE_LEN]);
/* That is the challenge. Constant time. */
bool pkce_matches(struct str challenge, struct str verifier);

/* In a transaction: stores a new code and clears out a few old ones. */
struct code_grant {
    int64_t app_row, author_row;
    struct str redirect_uri, challenge;
};
/* Issues no code if `*reached` is not KEY_LIMIT_NONE: the app could not exchange it for a key. */
MUST_USE enum err code_issue(struct store *store, const struct code_grant *grant, int64_t now,
                             struct key_text *code, enum key_limit *reached);

/* In a transaction, which is to be committed whatever the outcome: changes a code for a key.
 *
 * A code is used by its first try, whatever comes of it (RFC 9700, 4.2.4): whoever fails with a code is not
 * who began. A used code that comes again revokes the key that it gave, as long as the code is kept. An older
 * live key of the same author for the same app is revoked: connecting again replaces. */
enum code_outcome {
    CODE_GAVE_KEY,
    CODE_UNKNOWN,
    CODE_REPLAYED,
    CODE_EXPIRED,
    CODE_MISMATCH,
    CODE_APP_GONE,
    CODE_LIVE_LIMIT, /* the author has as many live keys as allowed (store/author_keys.h) */
    CODE_DAY_LIMIT,  /* as many keys as allowed were created for the author today */
};
struct code_exchange {
    /* In. */
    int64_t app_row;
    struct str code, redirect_uri, verifier;
    struct str client_id, key_prefix;
    /* Out; texts live in `arena`. */
    enum code_outcome outcome;
    struct api_key key;
    struct key_text key_text;
    struct author author;
};
MUST_USE enum err code_redeem(struct store *store, struct arena *arena, struct code_exchange *x, int64_t now);

#endif
