/* An author's API keys, as the web pages show them. A key was created by hand or issued to a connected app.
 */
#ifndef VT_STORE_AUTHOR_KEYS_H
#define VT_STORE_AUTHOR_KEYS_H

#include "store/read.h"

struct author_key {
    struct api_key key;
    bool is_app;                       /* issued to an app */
    struct str app_name, app_home_url; /* app_home_url.p == NULL: none */
};

enum key_state { KEYS_LIVE, KEYS_REVOKED };
/* Limits per author: live keys, and keys created per UTC day. Both include keys issued to apps. */
enum { AUTHOR_KEYS_MAX = 100, AUTHOR_KEYS_PER_DAY = 200 };

/* Called for each key. The texts of the key are valid until the function returns. If it returns false, the
 * read ends early without an error. */
typedef bool (*store_author_key_fn)(void *ctx, const struct author_key *key);

/* Lists at most `limit` keys of the author in this state, newest first. */
enum next store_list_author_keys(struct store_read *read, int64_t author_row, enum key_state state, int limit,
                                 store_author_key_fn fn, void *ctx);

/* Passes the author's key with this id to `fn`. */
enum next store_read_author_key(struct store_read *read, int64_t author_row, const struct uuid *id,
                                store_author_key_fn fn, void *ctx);

/* Like store_read_author_key(), with the rules of write.h instead of read.h. Needs no transaction. */
MUST_USE enum err store_get_author_key(struct store *s, int64_t author_row, const struct uuid *id,
                                       store_author_key_fn fn, void *ctx);

/* Which of the limits on an author's keys has been reached, if any. */
enum key_limit { KEY_LIMIT_NONE, KEY_LIMIT_LIVE, KEY_LIMIT_DAY };

/* Checks whether the author may have another key. `*reached` receives the limit that prevents it
 * (KEY_LIMIT_LIVE if both limits are reached), or KEY_LIMIT_NONE. Call in the transaction that inserts the
 * key: write transactions never overlap, so concurrent requests and processes cannot exceed a limit together.
 * Live keys of the app `replaced_app_row` (0: no app) do not count as live, because the same transaction
 * revokes them. */
MUST_USE enum err store_check_key_limits(struct store *s, int64_t author_row, int64_t replaced_app_row,
                                         int64_t now, enum key_limit *reached);

#endif
