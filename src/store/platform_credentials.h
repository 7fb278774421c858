/* The authors' accounts at the platforms, with their tokens as sealed bytes, and the linkings that a browser
 * has begun. The rules of write.h hold: what writes needs an open transaction, what only reads runs on any
 * connection, what comes out lives in the caller's arena or until the callback returns. Knows neither keys
 * nor tokens nor platforms: `api` is the number of enum platform_api. */
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
    CREDENTIAL_RECONNECT_REQUIRED, /* the author has to sign in again; it is not asked until then */
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
    int64_t refresh_expires_at;               /* TIME_NONE: never, or not said */
    int64_t obtained_at;
    enum credential_state state;
    int64_t version;         /* grows with every new token, so newer ones are never overwritten */
    int64_t refresh_sent_at; /* TIME_NONE: none; else a refresh was sent whose answer was not written down */
    int64_t failures;        /* in a row */
    struct str last_error;   /* p == NULL: none */
    int64_t last_error_at, last_ok_at; /* TIME_NONE: never */
    int tier;
    struct str dropped;
    int64_t tier_until; /* TIME_NONE: none */
    bool is_personal;   /* the platform has no analytics for the account */
};

MUST_USE enum err store_get_credential(struct store *s, struct arena *a, int64_t row, struct credential *out);
MUST_USE enum err store_find_credential(struct store *s, struct arena *a, int api, struct str account_id,
                                        struct credential *out);

typedef bool (*store_credential_fn)(void *ctx, const struct credential *c);
/* Of one author, by api and account. The second is the same as a starter, for the pages. */
MUST_USE enum err store_list_author_credentials(struct store *s, int64_t author_row, store_credential_fn fn,
                                                void *ctx);
enum next store_read_author_credentials(struct store_read *read, int64_t author_row, store_credential_fn fn,
                                        void *ctx);
/* Of everybody: at most `limit` rows above `after`, by row. */
MUST_USE enum err store_list_credentials(struct store *s, int64_t after, int limit, store_credential_fn fn,
                                         void *ctx);
/* How many an API has in that state. */
MUST_USE enum err store_count_credentials(struct store *s, int api, enum credential_state state,
                                          int64_t *count);

/* The errors that accounts of an API have now, the most frequent first, at most `limit`. The text lives until
 * the callback returns. Looks at every account. */
typedef bool (*store_credential_error_fn)(void *ctx, struct str error, int64_t accounts);
MUST_USE enum err store_list_credential_errors(struct store *s, int api, int limit,
                                               store_credential_error_fn fn, void *ctx);

/* A new account, or new tokens of one that this author has already: then it is fine again. Takes everything
 * up to obtained_at; sets row and version. ERR_EXISTS: the account is another author's. */
MUST_USE enum err store_put_credential(struct store *s, struct credential *c);

/* Refreshed tokens: access_sealed, refresh_sealed, both expiries, scopes and obtained_at of `c`, which then
 * is fine, if c->version still is what the row has. `*swapped` false: it has gone or somebody was faster.
 * Sets c->version. */
MUST_USE enum err store_swap_tokens(struct store *s, struct credential *c, bool *swapped);

/* The same tokens under another key. Not a new version. */
MUST_USE enum err store_reseal_credential(struct store *s, int64_t row, struct str access_sealed,
                                          struct str refresh_sealed);

/* Before a refresh is sent, so that one that a crash cuts off is known. `*ours` false: the tokens are no
 * longer those of `version`, or somebody has sent one after `not_since` whose answer is still out. */
MUST_USE enum err store_begin_token_refresh(struct store *s, int64_t row, int64_t version, int64_t now,
                                            int64_t not_since, bool *ours);
/* It was answered, but not with tokens. */
MUST_USE enum err store_end_token_refresh(struct store *s, int64_t row, int64_t version);

/* What came of asking. ok: it is fine whatever was said of it before; ERR_NOT_FOUND when there is no such row
 * (any more). failed: `state` is what it is from now on; leaves a row alone whose tokens are not those of
 * `version` any more. */
MUST_USE enum err store_credential_ok(struct store *s, int64_t row, int64_t at);
MUST_USE enum err store_credential_failed(struct store *s, int64_t row, int64_t version, struct str error,
                                          int64_t at, enum credential_state state);

/* The form of the request that works for this account, and until when that is remembered. */
MUST_USE enum err store_set_credential_tier(struct store *s, int64_t row, int tier, struct str dropped,
                                            int64_t until);

/* Deletes it with its tokens; `author_row` 0: whosever it is. ERR_NOT_FOUND. */
MUST_USE enum err store_delete_credential(struct store *s, int64_t row, int64_t author_row);

/* ---- linkings that a browser began ---- */

enum { LINK_HASH_LEN = 32 };

struct link_record {
    uint8_t state_hash[LINK_HASH_LEN], session_hash[LINK_HASH_LEN];
    int64_t author_row;
    int api;
    struct str verifier; /* sealed bytes; p == NULL: none */
    int64_t created_at;
};

/* insert: ERR_EXISTS for a state that is there. take: finds and deletes it, so that each is used once. */
MUST_USE enum err store_insert_link(struct store *s, const struct link_record *link);
MUST_USE enum err store_take_link(struct store *s, struct arena *a, const uint8_t state_hash[LINK_HASH_LEN],
                                  struct link_record *out);
/* Deletes those made before. */
MUST_USE enum err store_purge_links(struct store *s, int64_t before);

#endif
