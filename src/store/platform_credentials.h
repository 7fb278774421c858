/* The authors' accounts at the platforms with their sealed tokens, and account connections in progress.
 * The rules of write.h apply. `api` is a value of enum platform_api. */
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
    CREDENTIAL_RECONNECT_REQUIRED, /* runs do not use the account until it is connected again or
                                      `viewtally platform test` succeeds */
};
enum { CREDENTIAL_STATES = 2 };

struct credential {
    int64_t row, author_row;
    int api;
    struct str account_id;
    struct str account_name; /* p == NULL: none */
    struct str scopes;
    struct str access_sealed, refresh_sealed; /* sealed bytes; refresh_sealed.p == NULL: none */
    int64_t access_expires_at;                /* TIME_NONE: never */
    int64_t refresh_expires_at;               /* TIME_NONE: never, or unknown */
    int64_t obtained_at;
    enum credential_state state;
    int64_t version; /* incremented with every new token, so that older tokens never overwrite newer ones */
    int64_t refresh_sent_at; /* when a token refresh was sent whose response is not stored yet; TIME_NONE if
                                all responses are stored */
    int64_t failures;        /* number of consecutive failed calls */
    struct str last_error;   /* p == NULL: none */
    int64_t last_error_at, last_ok_at; /* TIME_NONE: never */
    int tier;                          /* the request form that works; see platform_call.tier */
    struct str dropped; /* metrics that the platform rejects for this account, comma-separated */
    int64_t tier_until; /* when tier and dropped expire; TIME_NONE: not set */
    bool is_personal;   /* the platform has no analytics for the account */
};

/* Reads an account by its row. */
MUST_USE enum err store_get_credential(struct store *s, struct arena *a, int64_t row, struct credential *out);

typedef bool (*store_credential_fn)(void *ctx, const struct credential *c);
/* Lists the accounts of one author, ordered by API and account id. */
MUST_USE enum err store_list_author_credentials(struct store *s, int64_t author_row, store_credential_fn fn,
                                                void *ctx);
/* Like store_list_author_credentials(), with the rules of read.h instead of write.h. */
enum next store_read_author_credentials(struct store_read *read, int64_t author_row, store_credential_fn fn,
                                        void *ctx);
/* Lists accounts of all authors by row: at most `limit` accounts whose row is above `after`. */
MUST_USE enum err store_list_credentials(struct store *s, int64_t after, int limit, store_credential_fn fn,
                                         void *ctx);
/* Counts the accounts of an API that are in `state`. */
MUST_USE enum err store_count_credentials(struct store *s, int api, enum credential_state state,
                                          int64_t *count);

typedef bool (*store_credential_error_fn)(void *ctx, struct str error, int64_t accounts);
/* Lists at most `limit` of the last errors of those accounts of an API whose last call has failed or that
 * must be reconnected, each with the number of accounts that have it, in descending order of this number. The
 * text is valid until the callback returns. Scans all accounts. */
MUST_USE enum err store_list_credential_errors(struct store *s, int api, int limit,
                                               store_credential_error_fn fn, void *ctx);

/* Inserts the account. If the author already has it, replaces its name, scopes and tokens, resets its errors
 * and its tier, and sets its state to CREDENTIAL_CONNECTED. Reads is_personal and the members of `c` up to
 * obtained_at; sets c->row, c->version and c->state. Returns ERR_EXISTS if the account belongs to another
 * author. */
MUST_USE enum err store_put_credential(struct store *s, struct credential *c);

/* Stores refreshed tokens if the row still has the version c->version, and increments it. Writes
 * access_sealed, refresh_sealed, both expiry times, scopes and obtained_at, and sets the state to
 * CREDENTIAL_CONNECTED. `*swapped` is false if nothing was stored because the row has been deleted or has
 * newer tokens. */
MUST_USE enum err store_swap_tokens(struct store *s, struct credential *c, bool *swapped);

/* Replaces the sealed form of the tokens after they were sealed with another key. Does not change the
 * version. */
MUST_USE enum err store_reseal_credential(struct store *s, int64_t row, struct str access_sealed,
                                          struct str refresh_sealed);
/* Counts a key rotation, so that a restore can detect that the tokens of a backup were sealed again since. */
MUST_USE enum err store_count_key_rotation(struct store *s);

/* Records that a token refresh is about to be sent, so that a later process can detect a refresh that a crash
 * has interrupted. `*acquired` is false if no refresh may be sent: either the tokens have another version, or
 * another refresh was sent after `not_since` and its response is not stored yet. */
MUST_USE enum err store_begin_token_refresh(struct store *s, int64_t row, int64_t version, int64_t now,
                                            int64_t not_since, bool *acquired);
/* Records that the token refresh ended without new tokens. */
MUST_USE enum err store_end_token_refresh(struct store *s, int64_t row, int64_t version);

/* Records that a platform call succeeded. Sets the state to CREDENTIAL_CONNECTED. */
MUST_USE enum err store_record_credential_success(struct store *s, int64_t row, int64_t at);
/* Records that a platform call failed, and sets the account's state. Does nothing if the tokens have another
 * version. */
MUST_USE enum err store_record_credential_failure(struct store *s, int64_t row, int64_t version,
                                                  struct str error, int64_t at, enum credential_state state);

/* Sets the account's `tier`, `dropped` (the metrics that the API has rejected) and `tier_until`. */
MUST_USE enum err store_set_credential_tier(struct store *s, int64_t row, int tier, struct str dropped,
                                            int64_t until);

/* Deletes the account and its tokens. Returns ERR_NOT_FOUND if there is no such account, or if it does not
 * belong to `author_row` (0: any author). */
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

/* Inserts the record of an account connection that an author has begun. Returns ERR_EXISTS if a record with
 * this state_hash exists. */
MUST_USE enum err store_insert_link(struct store *s, const struct link_record *link);
/* Finds the record of an account connection and deletes it, so that the record can be used only once. */
MUST_USE enum err store_consume_link(struct store *s, struct arena *a,
                                     const uint8_t state_hash[LINK_HASH_LEN], struct link_record *out);
/* Deletes the records of account connections that began before `before`. */
MUST_USE enum err store_purge_links(struct store *s, int64_t before);

#endif
