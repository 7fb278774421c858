/* OAuth 2.0 apps that authors connect, their keys, and authorization codes. Follows write.h. */
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
    struct str home_url;                  /* p == NULL: none */
    bool confidential;                    /* has a secret */
    uint8_t secret_hash[SECRET_HASH_LEN]; /* SHA-256, if confidential */
    int64_t created_at;
    int64_t removed_at; /* TIME_NONE: can be connected */
};

/* Also finds removed apps. */
MUST_USE enum err store_find_app(struct store *s, struct arena *a, struct str client_id,
                                 struct app_record *out);
/* A read as in read.h: the app with its redirect URIs, in byte order. */
struct app_lookup {
    struct app_record app;
    size_t redirect_count;
    struct str *redirects;
};
enum next store_read_app(struct store_read *read, struct arena *a, struct str client_id,
                         struct app_lookup *out);

/* All apps, in the order of registration. For the CLI. */
typedef bool (*store_app_fn)(void *ctx, const struct app_record *app);
MUST_USE enum err store_list_apps(struct store *s, store_app_fn fn, void *ctx);
typedef bool (*store_redirect_fn)(void *ctx, struct str uri);
MUST_USE enum err store_list_redirects(struct store *s, int64_t app_row, store_redirect_fn fn, void *ctx);

/* Sets app->row. ERR_EXISTS if the client_id exists. */
MUST_USE enum err store_insert_app(struct store *s, struct app_record *app);
MUST_USE enum err store_insert_redirect(struct store *s, int64_t app_row, struct str uri);
MUST_USE enum err store_set_app_secret(struct store *s, int64_t app_row, const uint8_t hash[SECRET_HASH_LEN]);
/* Does not change the time of an earlier removal. */
MUST_USE enum err store_remove_app(struct store *s, int64_t app_row, int64_t now);

/* Live keys that were issued to an app. revoke: `author_row` 0: of all authors; `*count`: number of keys
 * revoked. */
MUST_USE enum err store_count_app_keys(struct store *s, int64_t app_row, int64_t *count);
MUST_USE enum err store_revoke_app_keys(struct store *s, int64_t app_row, int64_t author_row, int64_t now,
                                        int *count);

/* An authorization code, identified by its SHA-256. */
struct code_record {
    int64_t app_row, author_row;
    struct str redirect_uri, challenge;
    int64_t created_at;
    int64_t used_at; /* TIME_NONE: not yet */
    int64_t key_row; /* the key issued for it; 0: none */
};
MUST_USE enum err store_insert_code(struct store *s, const uint8_t hash[SECRET_HASH_LEN],
                                    const struct code_record *code);
MUST_USE enum err store_find_code(struct store *s, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                                  struct code_record *out);
/* `key_row` 0: no key was issued. ERR_NOT_FOUND if the code was used before. */
MUST_USE enum err store_use_code(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now,
                                 int64_t key_row);
/* Deletes a bounded number of old codes: those without a key that were created before `unused_before`, and
 * those with a key that were created before `used_before`. */
MUST_USE enum err store_purge_codes(struct store *s, int64_t unused_before, int64_t used_before);

#endif
