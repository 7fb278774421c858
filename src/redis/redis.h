/* The Redis client. It maintains one connection and calls Lua scripts. Each call has a deadline. While Redis
 * is unavailable or calls fail, further calls fail immediately, and the client reconnects automatically.
 *
 *   DOWN --attempt--> OPENING --probes succeed--> UP --a call fails or is late--> BROKEN
 *   BROKEN --the next round of probes succeeds--> UP
 *   OPENING, UP, BROKEN --connection lost, a probe fails, or connecting or the probes take 1 s--> DOWN
 *
 * redis_enter() performs every transition. In DOWN and BROKEN, the client waits before the next attempt: 100
 * ms, doubled after each attempt up to 5 s, with jitter (backoff.h). Only a successful call resets the pause,
 * not a successful probe. Otherwise the client would retry about 20 times a second if Redis passed every
 * probe but failed every call. */
#ifndef VT_REDIS_REDIS_H
#define VT_REDIS_REDIS_H

#include "base/error.h"
#include "base/metrics.h"
#include "base/next.h"
#include "base/str.h"
#include "redis/redis_tls.h"

#include <uv.h>

struct redis;

/* The strings are NUL-terminated. A string that the URL does not contain is NULL; the default port is 6379,
 * the default database 0. */
struct redis_options {
    char *host, *unix_path, *user, *password;
    int port, database;
    bool tls;
    struct redis_tls_files files; /* the strings must outlive the client. The files are read again after a
                                     failed handshake, so that a renewed certificate needs no restart */
};

/* Parses a URL: redis://[user[:password]@]host[:port][/database], rediss://… (TLS), or
 * unix:/path[?database=N]. User and password are percent-decoded. A password in the URL is used only if
 * `password` is NULL or empty. Call redis_options_fini() in every case, also after a failure. */
MUST_USE enum err redis_options_parse(struct redis_options *o, const char *url, const char *password,
                                      struct error *error);
void redis_options_fini(struct redis_options *o);

struct config;

/* Sets the options from the configuration, whose strings must outlive the client. Also reads the TLS files
 * once to check them. On failure, `error` names the configuration key, and redis_options_fini() must not be
 * called. */
MUST_USE enum err redis_options_from_config(struct redis_options *o, const struct config *c,
                                            struct error *error);

enum { REDIS_DEADLINE_MS = 50, REDIS_ARGS_MAX = 330, REDIS_SCRIPTS_MAX = 5, REDIS_PROBES_MAX = 4 };

/* A probe: a call of a script that must reply with an array. The first `keys` of the `count` arguments are
 * the script's keys. */
enum { REDIS_PROBE_ARGS_MAX = 8 };
struct redis_probe {
    int script, keys, count; /* `script` is an index of `scripts` of redis_new() */
    struct str args[REDIS_PROBE_ARGS_MAX];
};

/* Creates a client, which connects and reconnects until redis_close(). Takes ownership of the options, also
 * on failure. `scripts` is a NULL-terminated list of static Lua sources. The client is up when all `probes`,
 * which must outlive it, have succeeded. Returns NULL if out of memory. */
struct redis *redis_new(uv_loop_t *loop, struct redis_options *options, const char *const *scripts,
                        const struct redis_probe *probes, int probe_count);

/* Closes the connection and frees the client. Then calls `closed`, which may be NULL, on the loop.
 * Precondition: no waiter of a call is armed. */
void redis_close(struct redis *r, void (*closed)(void *ctx), void *ctx);

/* Returns true if the client is in the state UP. */
bool redis_is_up(const struct redis *r);

/* Returns true after a connection attempt or a call has failed, or the connection was lost, until an attempt
 * succeeds. If Redis came up twice in a row and the first call failed each time (for example without a reply
 * in time; a lost connection does not count), returns true until a call succeeds. Until the first attempt has
 * ended, both this function and redis_is_up() return false. */
bool redis_is_unavailable(const struct redis *r);

/* The operation that failed. REDIS_FAILED_AUTH and REDIS_FAILED_SELECT mean that the configuration is wrong:
 * Redis rejected the user and password, or requires them for SELECT; or Redis rejected the database. */
enum redis_failure {
    REDIS_FAILED_CONNECTION,
    REDIS_FAILED_AUTH,
    REDIS_FAILED_SELECT,
    REDIS_FAILED_CALL, /* a probe or a call */
    REDIS_FAILURES,
};

/* Returns "connection", "auth", "select" or "call". */
const char *redis_failure_name(enum redis_failure failure);

/* Returns the operation of the most recent failure. Only valid if redis_failure_reason() is not empty. */
enum redis_failure redis_get_last_failure(const struct redis *r);

/* Returns the reason of the most recent failure of a connection, an attempt to connect or a call, even if
 * Redis is up again. Returns "" if nothing has failed yet. The text is valid until the next failure. */
const char *redis_failure_reason(const struct redis *r);

/* The reply of a script: an array of integers. The caller provides `integers`, which has `room` elements and
 * must stay valid while the waiter is armed. */
struct redis_result {
    bool ok; /* false if Redis is unavailable or late, or if the reply is not an array of at most `room`
                integers */
    size_t count, room;
    int64_t *integers;
};

/* Calls scripts[script]. The first `keys` of the `count` arguments are the script's keys. If Redis is not up,
 * or if out of memory, sets out->ok to false and returns NEXT_MORE. Otherwise returns NEXT_WAIT; within
 * REDIS_DEADLINE_MS, `*out` is filled in and `w` completes. */
enum next redis_call(struct redis *r, int script, const struct str *args, int keys, int count,
                     struct waiter *w, struct redis_result *out);

/* Calls a script like redis_call(), but ignores its reply. Does nothing if Redis is not up. */
void redis_send(struct redis *r, int script, const struct str *args, int keys, int count);

/* Each of these sets a callback; NULL removes it. The client sends all commands of one loop iteration in one
 * write, just before the loop waits. It calls `before_wait` first, which may add commands. If there are
 * commands to send, it then calls `before_write`, which may add commands that are not worth a write of their
 * own. */
void redis_set_before_wait(struct redis *r, void (*before_wait)(void *ctx), void *ctx);
void redis_set_before_write(struct redis *r, void (*before_write)(void *ctx), void *ctx);

struct redis_counts {
    unsigned long long calls, failed, late;
    /* Time from sending a call to its reply or to the loss of the connection. Calls that timed out or were
     * canceled are not included. */
    struct metrics_duration_histogram times;
};

/* Returns the totals since the start. */
struct redis_counts redis_get_counts(const struct redis *r);

#endif
