/* One connection to Redis on the loop. Every call has a deadline of its own; when Redis is away, slow or
 * unwilling, calls fail at once instead of waiting, and the connection comes back by itself.
 *
 *            connect            scripts loaded and tried            deadline missed, error reply
 *   DOWN --------------> OPENING -----------------------> UP -----------------------------------> BROKEN
 *    ^                     |                               ^                                         |
 *    |  connection lost,   |                               |              a probe was answered       |
 *    +---- 1 s over -------+-------------------------------+-----------------------------------------+
 *
 * enter() in redis.c makes every transition and logs those into and out of UP, one line each. From DOWN and
 * BROKEN the next attempt waits 100 ms, doubling up to 5 s, with jitter; only a call that succeeded begins
 * again at 100 ms. */
#ifndef VT_REDIS_REDIS_H
#define VT_REDIS_REDIS_H

#include "base/error.h"
#include "base/metrics.h"
#include "base/next.h"
#include "base/str.h"
#include "redis/redis_tls.h"

#include <uv.h>

struct redis;

/* Text is NUL-terminated; what the URL did not say is NULL, 6379 or 0. */
struct redis_options {
    char *host, *unix_path, *user, *password;
    int port, database;
    bool tls;
    struct redis_tls_files files; /* the caller's; they live as long as the connection and are read again when
                               a handshake failed, so that a renewed certificate needs no restart */
};

/* redis://[user[:password]@]host[:port][/database], rediss://… (TLS), unix:/path[?database=N]. False: `*why`
 * says what is wrong. Call redis_options_fini() in both cases. */
MUST_USE bool redis_options_parse(struct redis_options *o, const char *url, const char *password,
                                  const char **why);
void redis_options_fini(struct redis_options *o);

/* Those of the configuration, whose texts must outlive the connection; the files of TLS are tried. False:
 * `message` says which key is wrong and why; nothing is to be released. */
struct config;
MUST_USE bool redis_options_configured(struct redis_options *o, const struct config *c, char *message,
                                       size_t size);

enum { REDIS_DEADLINE_MS = 50, REDIS_ARGS_MAX = 330, REDIS_SCRIPTS_MAX = 4 };

/* One call of a script that must answer with an array; the first `keys` of the `count` args are its keys. */
enum { REDIS_PROBE_ARGS_MAX = 8 };
struct redis_probe {
    int script, keys, count;
    struct str args[REDIS_PROBE_ARGS_MAX];
};

/* Begins to connect; a connection that fails is tried again. NULL: no memory. Takes the options over in both
 * cases. `scripts` are NULL-terminated Lua sources, which live as long as the process. A connection counts as
 * up when all `probes` have succeeded; they live as long as the connection. */
struct redis *redis_new(uv_loop_t *loop, struct redis_options *options, const char *const *scripts,
                        const struct redis_probe *probes, int probe_count);

/* No call may be waiting any more. `closed` is called on the loop. */
void redis_close(struct redis *r, void (*closed)(void *ctx), void *ctx);

bool redis_is_up(const struct redis *r);
/* An attempt or a call has failed, and the next attempt has not succeeded yet. Neither, before the first one
 * has ended. */
bool redis_is_unavailable(const struct redis *r);

/* An array of integers, as the scripts answer. The asking side sets where they go and how many fit; that must
 * live as long as the wait is armed. */
struct redis_result {
    bool ok; /* false: not up, late, an error reply, not integers, too many */
    size_t count, room;
    int64_t *integers;
};

/* Runs scripts[script]; the first `keys` of the `count` args are its keys. NEXT_MORE with ok = false when
 * Redis is not up; else NEXT_WAIT: `w` is woken with `*out` filled within REDIS_DEADLINE_MS. */
enum next redis_call(struct redis *r, int script, const struct str *args, int keys, int count,
                     struct waiter *w, struct redis_result *out);

/* The same for a script whose answer does not matter; nothing happens when Redis is not up. */
void redis_send(struct redis *r, int script, const struct str *args, int keys, int count);

/* All commands of one turn of the loop leave in one write, before the loop waits. `gather` is called just
 * before that, and may add to it; then, if there is anything to write, `ride` with what could wait for that.
 * One each at a time; NULL: nobody. */
void redis_set_before_wait(struct redis *r, void (*gather)(void *ctx), void *ctx);
void redis_set_before_write(struct redis *r, void (*ride)(void *ctx), void *ctx);

struct redis_counts {
    unsigned long long calls, failed, late;
    struct metrics_times times; /* of answered calls, from sending to the answer */
};
struct redis_counts redis_counts(const struct redis *r);

#endif
