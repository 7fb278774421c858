/* Exact sliding windows in the memory of this process (decision 7): a request is admitted if and only if
 * fewer than `limit` requests of its key were admitted in the last 60,000 ms. Rejected requests are not
 * recorded. Times are monotonic and come from the caller.
 *
 * Memory: 8 bytes for each request admitted in the last minute, at most `limit` of a key. Keys without a
 * request for a minute are removed. */
#ifndef VT_LIMIT_WINDOW_H
#define VT_LIMIT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum { WINDOW_MS = 60 * 1000 };

struct windows;

struct limit_verdict {
    bool admitted;
    int limit;        /* 0: unlimited */
    int remaining;    /* further requests that would be admitted now */
    int64_t reset_ms; /* until the oldest counted request leaves the window; 0 if none is counted */
};

/* `limit` requests a minute; 0: unlimited. */
struct windows *windows_new(int limit);
void windows_free(struct windows *l);

/* Keeps the newest `limit` requests of each key, and drops stored rejections. */
void windows_set_limit(struct windows *l, int limit);

/* Judges one request at `now_ms` and records it if admitted. If out of memory, the request is admitted and
 * not recorded, because a shortage of memory must not lock clients out. The two functions below then record
 * nothing. */
struct limit_verdict windows_acquire(struct windows *l, int64_t key, int64_t now_ms);

/* Records a request that Redis has admitted. If the window is full, drops its oldest request. */
void windows_record(struct windows *l, int64_t key, int64_t now_ms);

/* Stores that Redis rejects the key until `until_ms`. windows_find_rejection() returns that time up to
 * `expires_ms`, and 0 afterwards or if there is none. Replaces an earlier rejection. */
void windows_store_rejection(struct windows *l, int64_t key, int64_t until_ms, int64_t expires_ms);
int64_t windows_find_rejection(const struct windows *l, int64_t key, int64_t now_ms);

/* The number of keys that have a window now. */
int windows_key_count(const struct windows *l);

#endif
