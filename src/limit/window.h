/* Exact sliding windows in the memory of this process. A request is admitted if and only if fewer than
 * `limit` requests of its key were admitted in the last 60,000 ms. Rejected requests are not recorded. All
 * times are monotonic; the caller passes the current time.
 *
 * Memory: 8 bytes for each request admitted in the last minute, which are at most `limit` per key. If nothing
 * has been added to a window for a minute, a later request of any key removes it. */
#ifndef VT_LIMIT_WINDOW_H
#define VT_LIMIT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum { WINDOW_MS = 60 * 1000 };

struct windows;

struct limit_verdict {
    bool admitted;
    int limit;        /* 0 means unlimited */
    int remaining;    /* further requests that would be admitted now */
    int64_t reset_ms; /* time until the oldest request leaves the window; 0 if the window is empty */
};

/* Creates windows with a limit of `limit` requests a minute; 0 means unlimited. */
struct windows *windows_new(int limit);
void windows_free(struct windows *l);

/* Changes the limit. Retains the newest `limit` requests of each key and removes the stored rejections. */
void windows_set_limit(struct windows *l, int limit);

/* Checks one request at `now_ms`, and records it if it is admitted. If out of memory, admits the request
 * without recording it, because lack of memory must not lock clients out. */
struct limit_verdict windows_acquire(struct windows *l, int64_t key, int64_t now_ms);

/* Records a request that Redis has admitted. If the window is full, removes its oldest request. Records
 * nothing if out of memory. */
void windows_record(struct windows *l, int64_t key, int64_t now_ms);

/* Stores that Redis has rejected a request of the key, and admits none until `until_ms`. The rejection can be
 * used without querying Redis again until `expires_ms`, which is not later than `until_ms`. Replaces an
 * earlier rejection of the key. Stores nothing if out of memory. */
void windows_store_rejection(struct windows *l, int64_t key, int64_t until_ms, int64_t expires_ms);

/* Returns `until_ms` of the key's stored rejection, or 0 if there is no valid one. */
int64_t windows_find_rejection(const struct windows *l, int64_t key, int64_t now_ms);

/* Returns the number of keys that have a window. */
int windows_key_count(const struct windows *l);

#endif
