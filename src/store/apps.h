/* OAuth 2.0 apps that authors connect, their keys, and authorization codes. The rules of write.h apply. */
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
    bool confidential;                    /* whether the app has a secret */
    uint8_t secret_hash[SECRET_HASH_LEN]; /* SHA-256 of the secret; set only if `confidential` */
    int64_t created_at;
    int64_t removed_at;     /* TIME_NONE: not removed, so authors can connect the app */
    struct str webhook_url; /* p == NULL: none; set by store_set_app_webhook() */
};

/* Finds an app by its client id, even if it has been removed. */
MUST_USE enum err store_find_app(struct store *s, struct arena *a, struct str client_id,
                                 struct app_record *out);
/* An app and its redirect URIs, in byte order. */
struct app_lookup {
    struct app_record app;
    size_t redirect_count;
    struct str *redirects;
};
/* Reads an app and its redirect URIs. The rules of read.h apply. */
enum next store_read_app(struct store_read *read, struct arena *a, struct str client_id,
                         struct app_lookup *out);

typedef bool (*store_app_fn)(void *ctx, const struct app_record *app);
/* Lists all apps in the order of registration. */
MUST_USE enum err store_list_apps(struct store *s, store_app_fn fn, void *ctx);
typedef bool (*store_redirect_fn)(void *ctx, struct str uri);
/* Lists the redirect URIs of an app in byte order. */
MUST_USE enum err store_list_redirects(struct store *s, int64_t app_row, store_redirect_fn fn, void *ctx);

/* Inserts an app and sets app->row. Returns ERR_EXISTS if its client id is already used. */
MUST_USE enum err store_insert_app(struct store *s, struct app_record *app);
/* Adds a redirect URI to an app. */
MUST_USE enum err store_insert_redirect(struct store *s, int64_t app_row, struct str uri);
/* Replaces the hash of the app's secret. */
MUST_USE enum err store_set_app_secret(struct store *s, int64_t app_row, const uint8_t hash[SECRET_HASH_LEN]);
/* Marks an app as removed at `now`. If it was removed before, the earlier time stays. */
MUST_USE enum err store_remove_app(struct store *s, int64_t app_row, int64_t now);

/* Counts the live keys that were issued to an app. */
MUST_USE enum err store_count_app_keys(struct store *s, int64_t app_row, int64_t *count);
/* Revokes the live keys that were issued to an app for the author `author_row` (0: for all authors). `*count`
 * receives the number of revoked keys. */
MUST_USE enum err store_revoke_app_keys(struct store *s, int64_t app_row, int64_t author_row, int64_t now,
                                        const struct actor *by, int *count);

/* An authorization code, identified by its SHA-256. */
struct code_record {
    int64_t app_row, author_row;
    struct str redirect_uri, challenge;
    int64_t created_at;
    int64_t used_at;        /* TIME_NONE: not used yet */
    int64_t key_row;        /* the key that the code was exchanged for; 0: none */
    struct str webhook_url; /* the webhook to which the author has consented; p == NULL: none */
};
/* Inserts an authorization code. */
MUST_USE enum err store_insert_code(struct store *s, const uint8_t hash[SECRET_HASH_LEN],
                                    const struct code_record *code);
/* Finds an authorization code by the hash of its text, even if it has been used. */
MUST_USE enum err store_find_code(struct store *s, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                                  struct code_record *out);
/* Marks a code as used. `key_row` is the key that was issued for it (0: none). Returns ERR_NOT_FOUND if the
 * code has been used before. */
MUST_USE enum err store_mark_code_used(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now,
                                       int64_t key_row);
/* Deletes a limited number of old codes: codes for which no key was issued and that were created before
 * `unused_before`, and codes for which a key was issued and that were created before `used_before`. */
MUST_USE enum err store_purge_codes(struct store *s, int64_t unused_before, int64_t used_before);

#endif
