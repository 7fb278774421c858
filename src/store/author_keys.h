/* An author's own keys, as the pages show them: those made by hand, and those of connected apps. */
#ifndef VT_STORE_AUTHOR_KEYS_H
#define VT_STORE_AUTHOR_KEYS_H

#include "store/read.h"

struct author_key {
    struct api_key key;
    bool is_app;                       /* an app's, not made by hand */
    struct str app_name, app_home_url; /* of the app; home p == NULL: none */
};

enum key_state { KEYS_LIVE, KEYS_REVOKED };
enum { AUTHOR_KEYS_MAX = 100 }; /* live ones, made by hand or by an app; the pages make no more */

/* The newest first, at most `limit`. */
typedef bool (*store_author_key_fn)(void *ctx, const struct author_key *key);
enum next store_list_author_keys(struct store_read *read, int64_t author_row, enum key_state state, int limit,
                                 store_author_key_fn fn, void *ctx);

/* One of this author's, else ERR_NOT_FOUND. The callback is called once. */
enum next store_read_author_key(struct store_read *read, int64_t author_row, const struct uuid *id,
                                store_author_key_fn fn, void *ctx);

/* In a write transaction, or without. */
MUST_USE enum err store_get_author_key(struct store *s, int64_t author_row, const struct uuid *id,
                                       store_author_key_fn fn, void *ctx);
MUST_USE enum err store_count_live_keys(struct store *s, int64_t author_row, int64_t *count);

#endif
