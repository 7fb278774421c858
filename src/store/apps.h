/* Apps that authors connect (OAuth 2.0) and the codes of the authorization code grant. The rules of write.h
 * hold: what writes needs an open transaction, what only reads runs on any connection, texts that come out
 * live in the caller's arena. */
#ifndef VT_STORE_APPS_H
#define VT_STORE_APPS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/next.h"
#include "store/accounts.h"
#include "store/model.h"
#include "store/read.h"

struct app_record {
    int64_t row;
    struct str client_id, name;
    struct str home_url; /* p == NULL: none */
    bool confidential;   /* it has a secret, of which this is the SHA-256 */
    uint8_t secret_hash[SECRET_HASH_LEN];
    int64_t created_at;
    int64_t removed_at; /* TIME_NONE: it may be connected */
};

/* Removed apps are found too. ERR_NOT_FOUND for an unknown client_id. */
MUST_USE enum err store_find_app(struct store *s, struct arena *a, struct str client_id,
                                 struct app_record *out);
/* The same as a starter, with the app's redirect addresses in the order of their bytes. */
struct app_lookup {
    struct app_record app;
    size_t redirect_count;
    struct str *redirects;
};
enum next store_read_app(struct store_read *read, struct arena *a, struct str client_id,
                         struct app_lookup *out);

/* All apps, in the order of their registration. CLI. */
typedef bool (*store_app_fn)(void *ctx, const struct app_record *app);
MUST_USE enum err store_list_apps(struct store *s, store_app_fn fn, void *ctx);
typedef bool (*store_redirect_fn)(void *ctx, struct str uri);
MUST_USE enum err store_list_redirects(struct store *s, int64_t app_row, store_redirect_fn fn, void *ctx);

/* Sets app->row. ERR_EXISTS for a client_id that is there. */
MUST_USE enum err store_insert_app(struct store *s, struct app_record *app);
MUST_USE enum err store_insert_redirect(struct store *s, int64_t app_row, struct str uri);
MUST_USE enum err store_set_app_secret(struct store *s, int64_t app_row, const uint8_t hash[SECRET_HASH_LEN]);
MUST_USE enum err store_remove_app(struct store *s, int64_t app_row,
                                   int64_t now); /* keeps an earlier removal */

/* Keys that were given to an app. revoke: `author_row` 0: of every author. `*count` gets how many were live.
 */
MUST_USE enum err store_count_app_keys(struct store *s, int64_t app_row, int64_t *count);
MUST_USE enum err store_revoke_app_keys(struct store *s, int64_t app_row, int64_t author_row, int64_t now,
                                        int *count);

/* A code, found by the SHA-256 of its text. */
struct code_record {
    int64_t app_row, author_row;
    struct str redirect_uri, challenge;
    int64_t created_at;
    int64_t used_at; /* TIME_NONE: not yet */
    int64_t key_row; /* the key that it gave; 0: none */
};
MUST_USE enum err store_insert_code(struct store *s, const uint8_t hash[SECRET_HASH_LEN],
                                    const struct code_record *code);
MUST_USE enum err store_find_code(struct store *s, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                                  struct code_record *out);
/* `key_row` 0: it gave none. ERR_NOT_FOUND when it is used already. */
MUST_USE enum err store_use_code(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now,
                                 int64_t key_row);
/* Deletes some of the codes that were made before: those that gave no key, and those that gave one. */
MUST_USE enum err store_purge_codes(struct store *s, int64_t idle_before, int64_t spent_before);

#endif
