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
/* Live keys of an author, and keys created for an author on one UTC day, by hand or by an app. */
enum { AUTHOR_KEYS_MAX = 100, AUTHOR_KEYS_PER_DAY = 200 };

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

/* Whether the author may get another key. If both limits are reached, the result is KEY_LIMIT_LIVE. Call it
 * in the write transaction that inserts the key: write transactions never overlap, so concurrent requests and
 * several processes together cannot exceed a limit. `replaced_app_row`: live keys of this app do not count,
 * because the transaction revokes them; 0: all keys count. */
enum key_limit { KEY_LIMIT_NONE, KEY_LIMIT_LIVE, KEY_LIMIT_DAY };
MUST_USE enum err store_check_key_limits(struct store *s, int64_t author_row, int64_t replaced_app_row,
                                         int64_t now, enum key_limit *reached);

#endif
