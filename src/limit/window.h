/* The rate limit of decision 7, exact: a request is admitted iff fewer than `limit` requests of its key were
 * admitted in the last 60,000 ms. Refused requests are not recorded. The window of this process, on the
 * monotonic clock. Memory: 8 bytes for each admitted request of the last minute, at most `limit` a key; keys
 * that were quiet for a minute are forgotten. */
#ifndef VT_LIMIT_WINDOW_H
#define VT_LIMIT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct windows;

struct limit_verdict {
    bool admitted;
    int limit;        /* 0: there is no limit */
    int remaining;    /* requests that would be admitted right now */
    int64_t reset_ms; /* until the oldest counted request leaves the window; 0 when none is counted */
};

/* `limit` requests a minute; 0 admits everything. */
struct windows *windows_new(int limit);
void windows_free(struct windows *l);

/* From now on. Of each key its newest `limit` requests stay counted; refusals of others are forgotten. */
void windows_set_limit(struct windows *l, int limit);

/* Counts one request of the key at `now_ms` (monotonic) if it is admitted. If there is no memory to count it,
 * the request is admitted and not counted: a shortage of memory must not lock integrations out. The functions
 * below then record nothing. */
struct limit_verdict windows_acquire(struct windows *l, int64_t key, int64_t now_ms);

/* Records a request of each of the keys that somebody else admitted. Above `limit` the oldest of a key gives
 * way. Of many at once costs less than one by one: their places in memory are fetched side by side. */
void windows_record(struct windows *l, const int64_t *keys, size_t count, int64_t now_ms);

/* Somebody else refused the key until then; 0: nobody did, or it is over at `now_ms`. Forgotten with the key.
 */
void windows_store_rejection(struct windows *l, int64_t key, int64_t until_ms);
int64_t windows_find_rejection(struct windows *l, int64_t key, int64_t now_ms);

/* Keys held at the moment. */
int windows_key_count(const struct windows *l);

#endif
