/* The authors' accounts at the platforms with their sealed tokens, and account connections in progress.
 * Follows write.h. `api` is an enum platform_api. */
#ifndef VT_STORE_PLATFORM_CREDENTIALS_H
#define VT_STORE_PLATFORM_CREDENTIALS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/next.h"
#include "store/model.h"
#include "store/read.h"
#include "store/store.h"

enum credential_state {
    CREDENTIAL_CONNECTED,
    CREDENTIAL_RECONNECT_REQUIRED, /* the author must connect it again; no calls are made until then */
};
enum { CREDENTIAL_STATES = 2 };

struct credential {
    int64_t row, author_row;
    int api;
    struct str account_id;
    struct str account_name; /* p == NULL: none */
    struct str scopes;
    struct str access_sealed, refresh_sealed; /* bytes; refresh p == NULL: none */
    int64_t access_expires_at;                /* TIME_NONE: never */
    int64_t refresh_expires_at;               /* TIME_NONE: never, or unknown */
    int64_t obtained_at;
    enum credential_state state;
    int64_t version;         /* incremented with every new token, so that newer ones are never overwritten */
    int64_t refresh_sent_at; /* a token refresh whose response is not stored was sent then; TIME_NONE: none */
    int64_t failures;        /* consecutive */
    struct str last_error;   /* p == NULL: none */
    int64_t last_error_at, last_ok_at; /* TIME_NONE: never */
    int tier;                          /* the request form that works */
    struct str dropped;                /* unsupported metrics, comma-separated */
    int64_t tier_until;                /* when tier and dropped expire; TIME_NONE: not set */
    bool is_personal;                  /* the platform has no analytics for the account */
};

MUST_USE enum err store_get_credential(struct store *s, struct arena *a, int64_t row, struct credential *out);
MUST_USE enum err store_find_credential(struct store *s, struct arena *a, int api, struct str account_id,
                                        struct credential *out);

typedef bool (*store_credential_fn)(void *ctx, const struct credential *c);
/* Those of one author, by api and account. The second function is a read as in read.h. */
MUST_USE enum err store_list_author_credentials(struct store *s, int64_t author_row, store_credential_fn fn,
                                                void *ctx);
enum next store_read_author_credentials(struct store_read *read, int64_t author_row, store_credential_fn fn,
                                        void *ctx);
/* Those of all authors: at most `limit` with a row above `after`, by row. */
MUST_USE enum err store_list_credentials(struct store *s, int64_t after, int limit, store_credential_fn fn,
                                         void *ctx);
/* Number of accounts of an API in a state. */
MUST_USE enum err store_count_credentials(struct store *s, int api, enum credential_state state,
                                          int64_t *count);

/* Current errors of the accounts of an API, the most frequent first, at most `limit`. The text is valid until
 * the callback returns. Scans all accounts. */
typedef bool (*store_credential_error_fn)(void *ctx, struct str error, int64_t accounts);
MUST_USE enum err store_list_credential_errors(struct store *s, int api, int limit,
                                               store_credential_error_fn fn, void *ctx);

/* Inserts the account, or gives the author's existing account new tokens and the state CREDENTIAL_CONNECTED.
 * Reads the members up to obtained_at, and is_personal; sets row and version. ERR_EXISTS: the account belongs
 * to another author. */
MUST_USE enum err store_put_credential(struct store *s, struct credential *c);

/* Stores refreshed tokens: access_sealed, refresh_sealed, both expiries, scopes and obtained_at of `c`; the
 * state becomes CREDENTIAL_CONNECTED. Only if the row still has c->version; increments it. `*swapped` false:
 * the row is deleted or has newer tokens. */
MUST_USE enum err store_swap_tokens(struct store *s, struct credential *c, bool *swapped);

/* The same tokens, sealed with another key. Does not change the version. */
MUST_USE enum err store_reseal_credential(struct store *s, int64_t row, struct str access_sealed,
                                          struct str refresh_sealed);

/* Records that a token refresh is about to be sent, so that one interrupted by a crash is detected.
 * `*acquired` false: the tokens have another version, or another refresh sent after `not_since` has no stored
 * response yet. */
MUST_USE enum err store_begin_token_refresh(struct store *s, int64_t row, int64_t version, int64_t now,
                                            int64_t not_since, bool *acquired);
/* The response had no tokens. */
MUST_USE enum err store_end_token_refresh(struct store *s, int64_t row, int64_t version);

/* Record the outcome of a platform call. ok: the state becomes CREDENTIAL_CONNECTED. failed: sets `state`;
 * does nothing if the row has another version of the tokens. */
MUST_USE enum err store_credential_ok(struct store *s, int64_t row, int64_t at);
MUST_USE enum err store_credential_failed(struct store *s, int64_t row, int64_t version, struct str error,
                                          int64_t at, enum credential_state state);

/* Sets tier, dropped and tier_until. */
MUST_USE enum err store_set_credential_tier(struct store *s, int64_t row, int tier, struct str dropped,
                                            int64_t until);

/* Deletes the account and its tokens if it belongs to `author_row` (0: any author). ERR_NOT_FOUND. */
MUST_USE enum err store_delete_credential(struct store *s, int64_t row, int64_t author_row);

/* ---- account connections in progress ---- */

enum { LINK_HASH_LEN = 32 };

struct link_record {
    uint8_t state_hash[LINK_HASH_LEN], session_hash[LINK_HASH_LEN];
    int64_t author_row;
    int api;
    struct str verifier; /* sealed bytes; p == NULL: none */
    int64_t created_at;
};

/* insert: ERR_EXISTS if the state exists. take: finds and deletes it, so that each is used once. */
MUST_USE enum err store_insert_link(struct store *s, const struct link_record *link);
MUST_USE enum err store_take_link(struct store *s, struct arena *a, const uint8_t state_hash[LINK_HASH_LEN],
                                  struct link_record *out);
/* Deletes those created before `before`. */
MUST_USE enum err store_purge_links(struct store *s, int64_t before);

#endif
