/* The Redis client: one connection on the loop that calls scripts. Each call has a deadline. While Redis is
 * unavailable, slow or failing, calls fail immediately, and the client reconnects automatically.
 *
 *   DOWN --attempt--> OPENING --probes succeed--> UP --a call fails or is late--> BROKEN
 *   BROKEN --a later round of probes succeeds--> UP
 *   OPENING, UP, BROKEN --connection lost, or no reply to an attempt or to probes for 1 s--> DOWN
 *
 * redis_enter() makes every transition. From DOWN and BROKEN the next attempt follows after 100 ms, doubled
 * up to 5 s, with jitter. Only a successful call resets that pause: a Redis that passes every probe and fails
 * every call would otherwise be retried about 20 times a second. */
#ifndef VT_REDIS_REDIS_H
#define VT_REDIS_REDIS_H

#include "base/error.h"
#include "base/metrics.h"
#include "base/next.h"
#include "base/str.h"
#include "redis/redis_tls.h"

#include <uv.h>

struct redis;

/* Strings are NUL-terminated. What the URL leaves out is NULL, 6379 or 0. */
struct redis_options {
    char *host, *unix_path, *user, *password;
    int port, database;
    bool tls;
    struct redis_tls_files files; /* borrowed; must outlive the client. They are read again after a failed
                               handshake, so that a renewed certificate needs no restart */
};

/* redis://[user[:password]@]host[:port][/database], rediss://… (TLS), unix:/path[?database=N]. A password in
 * the URL is used only if `password` is NULL or empty. Call redis_options_fini() in every case. */
MUST_USE enum err redis_options_parse(struct redis_options *o, const char *url, const char *password,
                                      struct error *error);
void redis_options_fini(struct redis_options *o);

/* The options of the configuration, whose strings must outlive the client. Also reads the TLS files once. On
 * failure the error names the key, and there is nothing to release. */
struct config;
MUST_USE enum err redis_options_configured(struct redis_options *o, const struct config *c,
                                           struct error *error);

enum { REDIS_DEADLINE_MS = 50, REDIS_ARGS_MAX = 330, REDIS_SCRIPTS_MAX = 4, REDIS_PROBES_MAX = 4 };

/* One call of a script that must reply with an array. The first `keys` of the `count` args are its keys. */
enum { REDIS_PROBE_ARGS_MAX = 8 };
struct redis_probe {
    int script, keys, count;
    struct str args[REDIS_PROBE_ARGS_MAX];
};

/* Connects in the background and retries until redis_close(). Takes ownership of the options, also on
 * failure. Returns NULL if out of memory. `scripts`: Lua sources, NULL-terminated; they must live until the
 * process ends. A connection is up once all `probes` have succeeded; they must outlive the client. */
struct redis *redis_new(uv_loop_t *loop, struct redis_options *options, const char *const *scripts,
                        const struct redis_probe *probes, int probe_count);

/* Precondition: no call has a waiter. `closed` may be NULL; it is called on the loop. */
void redis_close(struct redis *r, void (*closed)(void *ctx), void *ctx);

bool redis_is_up(const struct redis *r);
/* True from the first failed attempt or call on, until an attempt succeeds. Both are false before the first
 * attempt has ended. */
bool redis_is_unavailable(const struct redis *r);
/* Why the last attempt or call failed; "" if none has. Valid until the next one. */
const char *redis_failure_reason(const struct redis *r);

/* The reply of a script: an array of integers. The caller provides the room, which must live as long as the
 * wait is armed. */
struct redis_result {
    bool ok; /* false: Redis is unavailable or late, or the reply is an error, something else, or too long */
    size_t count, room;
    int64_t *integers;
};

/* Calls scripts[script]. The first `keys` of the `count` args are its keys. NEXT_MORE with ok = false if
 * Redis is not up; else NEXT_WAIT: `w` completes with `*out` filled within REDIS_DEADLINE_MS. */
enum next redis_call(struct redis *r, int script, const struct str *args, int keys, int count,
                     struct waiter *w, struct redis_result *out);

/* Calls a script and ignores its reply. Does nothing if Redis is not up. */
void redis_send(struct redis *r, int script, const struct str *args, int keys, int count);

/* All commands of one loop iteration are sent in one write, just before the loop waits. `before_wait` is
 * called first and may add commands; then, if there is anything to write, `before_write`, for commands that
 * do not justify a write of their own. At most one of each; NULL: none. */
void redis_set_before_wait(struct redis *r, void (*before_wait)(void *ctx), void *ctx);
void redis_set_before_write(struct redis *r, void (*before_write)(void *ctx), void *ctx);

struct redis_counts {
    unsigned long long calls, failed, late;
    struct metrics_times times; /* of calls with a reply, from sending to the reply */
};
struct redis_counts redis_counts(const struct redis *r);

#endif
