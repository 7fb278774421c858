/* The only file that knows hiredis, but for its hooks into the loop (events.c).
 *
 * Traps that shape it: a reply dies when its callback returns; there is no cancel and no deadline for a
 * single command; on an error hiredis calls every pending callback with NULL and frees the context by itself;
 * a context is never used again, so each attempt is a new one. Hence a call record on the heap for each
 * command, which outlives whoever waited for it. */
#include "redis/redis.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/list.h"
#include "base/log.h"
#include "base/number.h"
#include "redis/backoff.h"
#include "redis/redis_command.h"
#include "redis/redis_poll.h"
#include "redis/redis_status.h"
#include "redis/name_lookup.h"
#include "redis/redis_memory.h"
#include "redis/redis_reply.h"

#include <hiredis/async.h>
#include <hiredis/hiredis_ssl.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPEN_MS = 1000, PROBE_MS = 1000, SHA_LEN = 40, REASON_MAX = 256 };
enum { ELEMENTS_MAX = 1024, COMMAND_MAX = 64 << 10, CALL_MAGIC = 0x43616c6c };

enum state { STATE_DOWN, STATE_OPENING, STATE_UP, STATE_BROKEN, STATE_CLOSED };

struct redis {
    uv_loop_t *loop;
    uv_timer_t retry;    /* the next attempt, or the end of the one under way */
    uv_timer_t deadline; /* of the oldest call */
    uv_prepare_t prepare;
    void (*gather)(void *ctx); /* NULL: nobody */
    void (*ride)(void *ctx);   /* the same */
    void *gather_ctx, *ride_ctx;
    struct buf command; /* the one being sent */
    struct redis_options options;
    redisAsyncContext *context; /* NULL: none */
    struct name_lookup *lookup; /* NULL: a Unix socket */
    struct redis_tls *tls;      /* NULL: none, or its files are to be read (again) */
    struct ssl_st *session;     /* the context's, which frees it; NULL: none */
    char reason[REASON_MAX];
    enum state state;
    struct redis_status health;
    bool trying; /* an attempt (OPENING, a probe) is under way; the retry timer is its end */
    struct backoff backoff;
    const struct redis_probe *probes;
    int probe_count, probed; /* probed: how many of this attempt were answered well */
    const char *const *scripts;
    int script_count, loaded;
    char sha[REDIS_SCRIPTS_MAX][SHA_LEN + 1];
    struct list calls; /* oldest first */
    struct redis_counts counts;
    int open_handles;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

struct call {
    unsigned magic;
    struct redis *redis;
    struct list link;    /* in calls, until it is answered or late */
    struct waiter *wait; /* NULL: nobody waits (any more) */
    struct redis_result *out;
    int64_t sent_ms;  /* monotonic; for the deadline */
    uint64_t sent_ns; /* for the metrics */
};

static void on_retry(uv_timer_t *timer);

/* ---- state ---- */

static void enter(struct redis *r, enum state state, const char *reason)
{
    static const unsigned char edges[] = {
        [STATE_DOWN] = 1 << STATE_OPENING | 1 << STATE_DOWN,
        [STATE_OPENING] = 1 << STATE_UP | 1 << STATE_DOWN,
        [STATE_UP] = 1 << STATE_BROKEN | 1 << STATE_DOWN,
        [STATE_BROKEN] = 1 << STATE_UP | 1 << STATE_DOWN,
    };
    CHECK(r->state != STATE_CLOSED && (state == STATE_CLOSED || edges[r->state] & 1 << state));
    r->state = state;
    r->trying = state == STATE_OPENING;
    if (state == STATE_UP)
        redis_status_up(&r->health);
    else if (state == STATE_DOWN || state == STATE_BROKEN)
        redis_status_lost(&r->health, reason);
}

static void retry_later(struct redis *r)
{
    r->trying = false;
    CHECK(uv_timer_start(&r->retry, on_retry, (uint64_t)backoff_next(&r->backoff), 0) == 0);
}

static void drop_context(struct redis *r)
{
    redisAsyncContext *context = r->context;
    r->context = NULL;
    r->session = NULL;
    if (context) {
        context->data = NULL; /* its last callbacks are for nobody */
        redisAsyncFree(context);
    }
}

static void go_down(struct redis *r, const char *reason)
{
    if (r->state == STATE_CLOSED)
        return;
    enter(r, STATE_DOWN, reason); /* first: dropping wakes whoever waits, and they may call again */
    drop_context(r);
    retry_later(r);
}

/* A call has failed. */
static void go_broken(struct redis *r, const char *reason)
{
    if (r->state != STATE_UP)
        return;
    redis_status_call_failed(&r->health);
    enter(r, STATE_BROKEN, reason);
    retry_later(r);
}

static void go_up(struct redis *r)
{
    enter(r, STATE_UP, "");
    (void)uv_timer_stop(&r->retry);
}

/* Only this resets the back-off. A Redis that answers every probe and fails every call would otherwise be
 * left and found again some 20 times a second. */
static void call_succeeded(struct redis *r)
{
    redis_status_call_succeeded(&r->health);
    backoff_reset(&r->backoff);
}

/* ---- calls ---- */

static void arm_deadline(struct redis *r);

/* Tells whoever waits, once. */
static void answer(struct call *c)
{
    struct waiter *w = c->wait;
    c->wait = NULL;
    c->out = NULL;
    list_remove(&c->link);
    if (w)
        waiter_complete(w);
}

static void leave(struct waiter *w)
{
    struct call *c = w->call;
    CHECK(c->magic == CALL_MAGIC);
    c->wait = NULL;
    c->out = NULL;
}

static void on_deadline(uv_timer_t *timer)
{
    struct redis *r = timer->data;
    int64_t now_ms = clock_mono_ms();
    bool late = false;
    while (!list_is_empty(&r->calls)) {
        struct call *c = LIST_ENTRY(r->calls.next, struct call, link);
        if (now_ms - c->sent_ms < REDIS_DEADLINE_MS)
            break;
        late = true;
        r->counts.late++;
        r->counts.failed++;
        answer(c);
    }
    if (late)
        go_broken(r, "no reply in time");
    arm_deadline(r);
}

static void arm_deadline(struct redis *r)
{
    if (list_is_empty(&r->calls)) {
        (void)uv_timer_stop(&r->deadline);
        return;
    }
    int64_t age_ms = clock_mono_ms() - LIST_ENTRY(r->calls.next, struct call, link)->sent_ms;
    int64_t left_ms = age_ms >= REDIS_DEADLINE_MS ? 0 : REDIS_DEADLINE_MS - age_ms;
    CHECK(uv_timer_start(&r->deadline, on_deadline, (uint64_t)left_ms, 0) == 0);
}

/* `data` is the context's: NULL once the connection was given up. A late answer has nobody to go to. */
static void on_reply(redisAsyncContext *context, void *raw, void *privdata)
{
    struct call *c = privdata;
    const redisReply *reply = raw;
    struct redis *r = context->data;
    CHECK(c->magic == CALL_MAGIC);
    bool is_error = reply && reply->type == REDIS_REPLY_ERROR;
    redis_poll_reply_complete(context);
    if (c->out) {
        c->out->ok = redis_reply_integers(reply, c->out);
        c->redis->counts.failed += !c->out->ok;
        metrics_observe(&c->redis->counts.times, (int64_t)((uv_hrtime() - c->sent_ns) / 1000));
        if (r && c->out->ok && r->state == STATE_UP)
            call_succeeded(r);
        if (r && reply && !c->out->ok)
            go_broken(r, is_error ? reply->str : "an answer that is none");
    } else if (r && is_error) {
        go_broken(r, reply->str);
    }
    answer(c);
    c->magic = 0;
    free(c);
}

static int send_strings(struct redis *r, redisCallbackFn *fn, void *privdata, const struct str *args,
                        int count)
{
    struct buf *b = &r->command;
    CHECK(redis_command_format(b, args, count));
    return redisAsyncFormattedCommand(r->context, fn, privdata, b->p, b->len);
}

static int send_script(struct redis *r, redisCallbackFn *fn, void *privdata, int script,
                       const struct str *args, int keys, int count)
{
    struct str command[REDIS_ARGS_MAX + 3] = {STR("EVALSHA"), str_make(r->sha[script], SHA_LEN)};
    char number[20];
    CHECK(script < r->script_count && keys <= count && count <= REDIS_ARGS_MAX);
    command[2] = str_make(number, i64_format(keys, number));
    memcpy(command + 3, args, (size_t)count * sizeof *args);
    return send_strings(r, fn, privdata, command, count + 3);
}

enum next redis_call(struct redis *r, int script, const struct str *args, int keys, int count,
                     struct waiter *w, struct redis_result *out)
{
    out->ok = false;
    out->count = 0;
    if (r->state != STATE_UP)
        return NEXT_MORE;
    CHECK(!waiter_is_armed(w));
    struct call *c = try_malloc(sizeof *c);
    if (!c)
        return NEXT_MORE; /* as if Redis were away */
    *c = (struct call){.magic = CALL_MAGIC, .redis = r, .wait = w, .out = out};
    c->sent_ms = clock_mono_ms();
    c->sent_ns = uv_hrtime();
    list_init(&c->link);
    if (send_script(r, on_reply, c, script, args, keys, count) != REDIS_OK) {
        free(c);
        return NEXT_MORE;
    }
    r->counts.calls++;
    bool first = list_is_empty(&r->calls);
    list_add_last(&r->calls, &c->link);
    if (first)
        arm_deadline(r);
    w->cancel = leave;
    w->call = c;
    return NEXT_WAIT;
}

void redis_send(struct redis *r, int script, const struct str *args, int keys, int count)
{
    if (r->state == STATE_UP)
        (void)send_script(r, NULL, NULL, script, args, keys, count);
}

void redis_set_before_wait(struct redis *r, void (*gather)(void *ctx), void *ctx)
{
    r->gather = gather;
    r->gather_ctx = ctx;
}

void redis_set_before_write(struct redis *r, void (*ride)(void *ctx), void *ctx)
{
    r->ride = ride;
    r->ride_ctx = ctx;
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct redis *r = prepare->data;
    if (r->gather)
        r->gather(r->gather_ctx);
    if (r->ride && r->context && redis_poll_wants_write(r->context))
        r->ride(r->ride_ctx);
    if (r->context)
        redis_poll_write(r->context);
}

/* ---- attempts: connecting, and probing a connection that stopped answering ---- */

static bool is_probing(const struct redis *r)
{
    return r->trying && (r->state == STATE_OPENING || r->state == STATE_BROKEN);
}

static void probe_failed(struct redis *r, const redisReply *reply)
{
    if (r->state == STATE_OPENING)
        go_down(r, reply->type == REDIS_REPLY_ERROR ? reply->str : "a probe got an unexpected reply");
    else
        retry_later(r);
}

/* `privdata`: the number of the probe. */
static void on_probe(redisAsyncContext *context, void *raw, void *privdata)
{
    struct redis *r = context->data;
    const redisReply *reply = raw;
    redis_poll_reply_complete(context);
    if (!r || !reply || !is_probing(r))
        return;
    if (reply->type != REDIS_REPLY_ARRAY || r->probed != (int)(size_t)privdata)
        probe_failed(r, reply);
    else if (++r->probed == r->probe_count)
        go_up(r);
}

static void run_probes(struct redis *r)
{
    r->probed = 0;
    for (int i = 0; i < r->probe_count; i++) {
        const struct redis_probe *p = &r->probes[i];
        (void)send_script(r, on_probe, (void *)(size_t)i, p->script, p->args, p->keys, p->count);
    }
}

/* `privdata`: the number of the script. */
static void on_script(redisAsyncContext *context, void *raw, void *privdata)
{
    struct redis *r = context->data;
    const redisReply *reply = raw;
    redis_poll_reply_complete(context);
    if (!r || !reply || !is_probing(r))
        return;
    if (reply->type != REDIS_REPLY_STRING || reply->len != SHA_LEN) {
        probe_failed(r, reply);
        return;
    }
    memcpy(r->sha[(size_t)privdata], reply->str, SHA_LEN);
    if (++r->loaded == r->script_count)
        run_probes(r);
}

/* Loads the scripts and runs them on keys of their own: whatever would make a call fail (no right to a
 * command, a replica, memory that is full, a redirect) fails here first. */
static void probe(struct redis *r)
{
    r->loaded = 0;
    for (int i = 0; i < r->script_count; i++) {
        const struct str load[] = {STR("SCRIPT"), STR("LOAD"), str_from_cstr(r->scripts[i])};
        (void)send_strings(r, on_script, (void *)(size_t)i, load, 3);
    }
    r->trying = true;
    CHECK(uv_timer_start(&r->retry, on_retry, PROBE_MS, 0) == 0);
}

static void log_in(struct redis *r)
{
    const struct redis_options *o = &r->options;
    struct str auth[3] = {STR("AUTH")};
    char number[16];
    int n = 1;
    if (o->user)
        auth[n++] = str_from_cstr(o->user);
    auth[n++] = str_from_cstr(o->password ? o->password : "");
    if (o->password)
        (void)send_strings(r, NULL, NULL, auth, n);
    (void)snprintf(number, sizeof number, "%d", o->database);
    const struct str select[] = {STR("SELECT"), str_from_cstr(number)};
    if (o->database)
        (void)send_strings(r, NULL, NULL, select, 2);
}

/* If TLS is the reason its files are read again for the next attempt. */
static const char *why_lost(struct redis *r, struct ssl_st *session, const char *socket_says)
{
    const char *why =
        redis_tls_explain_loss(session, r->state == STATE_OPENING, socket_says, r->reason, sizeof r->reason);
    if (why == r->reason) {
        redis_tls_free(r->tls);
        r->tls = NULL;
    }
    return why;
}

/* NULL, or why not. */
static const char *start_tls(struct redis *r)
{
    if (!r->tls)
        r->tls = redis_tls_new(&r->options.files, r->reason, sizeof r->reason);
    if (!r->tls)
        return r->reason;
    struct ssl_st *session = redis_tls_session_new(r->tls, r->options.host);
    if (!session)
        return "TLS: no session can be made for this host";
    if (redisInitiateSSL(&r->context->c, session) != REDIS_OK) {
        const char *why = why_lost(r, session, r->context->c.errstr);
        redis_tls_session_free(session);
        return why;
    }
    r->session = session;
    return NULL;
}

static void on_connect(const redisAsyncContext *context, int status)
{
    struct redis *r = context->data;
    if (!r)
        return;
    if (status != REDIS_OK) {
        r->context = NULL; /* hiredis frees it */
        go_down(r, context->errstr);
        return;
    }
    const char *why = r->options.tls ? start_tls(r) : NULL;
    if (why) {
        go_down(r, why);
        return;
    }
    log_in(r);
    probe(r);
}

static void on_disconnect(const redisAsyncContext *context, int status)
{
    struct redis *r = context->data;
    (void)status;
    if (!r)
        return;
    const char *reason = why_lost(r, r->session, context->errstr[0] ? context->errstr : "connection closed");
    r->context = NULL;
    go_down(r, reason);
}

static void on_too_large(redisAsyncContext *context)
{
    struct redis *r = context->data;
    if (r)
        go_down(r, "protocol error: a reply of more than 1 MiB");
}

/* `address`: numeric, or NULL for a Unix socket. */
static void open_socket(struct redis *r, const char *address)
{
    redisOptions o = {0};
    if (address)
        REDIS_OPTIONS_SET_TCP(&o, address, r->options.port);
    else
        REDIS_OPTIONS_SET_UNIX(&o, r->options.unix_path);
    r->context = redisAsyncConnectWithOptions(&o);
    if (!r->context || r->context->err || !redis_poll_attach(r->context, r->loop, on_too_large)) {
        go_down(r, r->context && r->context->err ? r->context->errstr : "out of memory");
        return;
    }
    r->context->data = r;
    r->context->c.reader->maxelements = ELEMENTS_MAX; /* it allocates what a reply announces */
    (void)redisAsyncSetConnectCallback(r->context, on_connect);
    (void)redisAsyncSetDisconnectCallback(r->context, on_disconnect);
}

/* What came too late for its attempt stays for the next one. */
static void on_looked_up(void *ctx, const char *why)
{
    struct redis *r = ctx;
    if (r->state != STATE_OPENING || r->context)
        return;
    if (why)
        go_down(r, why);
    else
        open_socket(r, name_lookup_next_address(r->lookup));
}

static void attempt(struct redis *r)
{
    enter(r, STATE_OPENING, "");
    CHECK(uv_timer_start(&r->retry, on_retry, OPEN_MS, 0) == 0);
    const char *address = r->options.unix_path ? NULL : name_lookup_next_address(r->lookup);
    if (address || r->options.unix_path)
        open_socket(r, address);
    else
        name_lookup_start(r->lookup);
}

/* Time for the next attempt, or the end of one that was not answered. */
static void on_retry(uv_timer_t *timer)
{
    struct redis *r = timer->data;
    if (r->state == STATE_DOWN)
        attempt(r);
    else if (r->trying || r->state == STATE_OPENING)
        go_down(r, why_lost(r, r->session, "no reply in time"));
    else if (r->state == STATE_BROKEN)
        probe(r);
}

/* ---- life ---- */

static void release(struct redis *r)
{
    void (*closed)(void *) = r->closed;
    void *ctx = r->closed_ctx;
    redis_options_fini(&r->options);
    redis_tls_free(r->tls);
    buf_fini(&r->command);
    free(r);
    if (closed)
        closed(ctx);
}

static void on_own_handle_closed(uv_handle_t *handle)
{
    struct redis *r = handle->data;
    if (--r->open_handles == 0)
        release(r);
}

/* The buffer gets its largest size now, so that sending a command needs no memory of ours. */
static bool allocate_parts(struct redis *r)
{
    buf_init_fallible(&r->command, COMMAND_MAX);
    if (r->options.host)
        r->lookup = name_lookup_new(r->loop, r->options.host, on_looked_up, r);
    return buf_reserve(&r->command, COMMAND_MAX) && (r->lookup || !r->options.host);
}

struct redis *redis_new(uv_loop_t *loop, struct redis_options *options, const char *const *scripts,
                        const struct redis_probe *probes, int probe_count)
{
    struct redis *r = try_calloc(1, sizeof *r);
    redis_memory_install();
    if (!r) {
        redis_options_fini(options);
        return NULL;
    }
    r->loop = loop;
    r->options = *options;
    *options = (struct redis_options){0};
    r->scripts = scripts;
    while (scripts[r->script_count])
        r->script_count++;
    CHECK(r->script_count <= REDIS_SCRIPTS_MAX);
    r->probes = probes;
    r->probe_count = probe_count;
    backoff_reset(&r->backoff);
    list_init(&r->calls);
    if (!allocate_parts(r)) {
        name_lookup_close(r->lookup);
        release(r);
        return NULL;
    }
    /* libuv has no way to fail here. */
    CHECK(uv_timer_init(loop, &r->retry) == 0 && uv_timer_init(loop, &r->deadline) == 0);
    CHECK(uv_prepare_init(loop, &r->prepare) == 0 && uv_prepare_start(&r->prepare, on_prepare) == 0);
    if (FAULT_OR(UV_EIO, uv_random(NULL, NULL, &r->backoff.random, sizeof r->backoff.random, 0, NULL)))
        r->backoff.random = uv_hrtime();
    r->retry.data = r->deadline.data = r->prepare.data = r;
    r->open_handles = 3;
    attempt(r);
    return r;
}

void redis_close(struct redis *r, void (*closed)(void *ctx), void *ctx)
{
    r->closed = closed;
    r->closed_ctx = ctx;
    enter(r, STATE_CLOSED, "");
    drop_context(r);
    CHECK(list_is_empty(&r->calls));
    name_lookup_close(r->lookup);
    uv_close((uv_handle_t *)&r->retry, on_own_handle_closed);
    uv_close((uv_handle_t *)&r->deadline, on_own_handle_closed);
    uv_close((uv_handle_t *)&r->prepare, on_own_handle_closed);
}

bool redis_is_up(const struct redis *r)
{
    return r->state == STATE_UP;
}

bool redis_is_unavailable(const struct redis *r)
{
    return r->health.reported == HEALTH_AWAY;
}

struct redis_counts redis_counts(const struct redis *r)
{
    return r->counts;
}
