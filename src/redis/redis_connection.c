/* Traps of hiredis: it has no timeouts. After a failure, it calls the callbacks of all commands in flight
 * with NULL and frees its context. A context cannot be reused, so each attempt creates a new one.
 * context->data is NULL after the connection has been dropped. */
#include "redis/redis_connection.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/fault.h"
#include "net/name_lookup.h"
#include "redis/redis_command.h"
#include "redis/redis_memory.h"
#include "redis/redis_poll.h"
#include "redis/redis_reply.h"

#include <hiredis/async.h>
#include <hiredis/hiredis_ssl.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS_MAX = 1024, COMMAND_MAX = 64 << 10, REASON_MAX = 256 };

struct login_command {
    struct redis_command command; /* must be the first member */
    struct redis_connection *connection;
};

struct redis_connection {
    uv_loop_t *loop;
    struct redis_options options;
    struct redis_connection_events events;
    struct name_lookup *lookup; /* NULL for a Unix socket */
    struct redis_tls *tls;      /* NULL without TLS, and while the TLS files are not loaded */
    redisAsyncContext *context; /* NULL if none exists */
    struct ssl_st *session;     /* owned by the context; may be NULL */
    bool is_opening, has_replied;
    struct login_command auth, select;
    struct buf command; /* the command that is being formatted */
    char reason[REASON_MAX];
    struct error tls_error;
};

static void report_loss(struct redis_connection *c, const char *reason)
{
    c->is_opening = false;
    c->events.lost(c->events.ctx, REDIS_FAILED_CONNECTION, reason);
}

/* Returns the reason of the loss. If the reason is TLS, frees the TLS context, so that the next attempt reads
 * the TLS files again. */
static const char *explain_loss(struct redis_connection *c, struct ssl_st *session, const char *reason)
{
    const char *why = redis_tls_explain_loss(session, !c->has_replied, reason, c->reason, sizeof c->reason);
    if (why == c->reason) {
        redis_tls_free(c->tls);
        c->tls = NULL;
    }
    return why;
}

const char *redis_connection_explain(struct redis_connection *c, const char *reason)
{
    return explain_loss(c, c->session, reason);
}

/* ---- sending commands ---- */

static void on_reply(redisAsyncContext *context, void *reply, void *privdata)
{
    struct redis_connection *c = context->data;
    struct redis_command *command = privdata;
    redis_poll_reply_complete(context);
    if (c && reply)
        c->has_replied = true;
    if (command)
        command->replied(command, c ? reply : NULL);
}

bool redis_connection_send(struct redis_connection *c, struct redis_command *command, const struct str *args,
                           int count)
{
    CHECK(redis_command_format(&c->command, args, count));
    return redisAsyncFormattedCommand(c->context, on_reply, command, c->command.p, c->command.len) ==
           REDIS_OK;
}

bool redis_connection_has_output(const struct redis_connection *c)
{
    return c->context && redis_poll_wants_write(c->context);
}

void redis_connection_flush(struct redis_connection *c)
{
    if (c->context)
        redis_poll_write(c->context);
}

/* ---- connecting and logging in ---- */

static void check_login(const struct login_command *login, enum redis_failure failure, const char *name,
                        const struct redisReply *reply)
{
    struct redis_connection *c = login->connection;
    const char *error = redis_reply_error(reply);
    if (!error)
        return;
    if (str_starts_with(str_from_cstr(error), STR("NOAUTH")))
        failure = REDIS_FAILED_AUTH; /* Redis requires a password, and none is configured */
    (void)snprintf(c->reason, sizeof c->reason, "%s failed: %s", name, error);
    c->events.lost(c->events.ctx, failure, c->reason);
}

static void on_auth_replied(struct redis_command *command, const struct redisReply *reply)
{
    check_login((const struct login_command *)command, REDIS_FAILED_AUTH, "AUTH", reply);
}

static void on_select_replied(struct redis_command *command, const struct redisReply *reply)
{
    check_login((const struct login_command *)command, REDIS_FAILED_SELECT, "SELECT", reply);
}

/* Sends AUTH also for a user without a password; otherwise the connection would belong to the user "default".
 * Returns false if out of memory; the connection must then be dropped, because later commands must not run as
 * another user. */
static bool log_in(struct redis_connection *c)
{
    const struct redis_options *o = &c->options;
    struct str auth[3] = {STR("AUTH")};
    char number[16];
    int n = 1;
    if (o->user)
        auth[n++] = str_from_cstr(o->user);
    auth[n++] = str_from_cstr(o->password ? o->password : "");
    c->auth = (struct login_command){.command = {on_auth_replied}, .connection = c};
    if ((o->user || o->password) && !redis_connection_send(c, &c->auth.command, auth, n))
        return false;
    (void)snprintf(number, sizeof number, "%d", o->database);
    const struct str select[] = {STR("SELECT"), str_from_cstr(number)};
    c->select = (struct login_command){.command = {on_select_replied}, .connection = c};
    return !o->database || redis_connection_send(c, &c->select.command, select, 2);
}

/* Returns NULL, or the reason if TLS cannot be started. */
static const char *start_tls(struct redis_connection *c)
{
    if (!c->tls)
        c->tls = redis_tls_new(&c->options.files, &c->tls_error);
    if (!c->tls)
        return c->tls_error.text;
    struct ssl_st *session = redis_tls_session_new(c->tls, c->options.host);
    if (!session)
        return "TLS: out of memory, or the host name is invalid";
    if (redisInitiateSSL(&c->context->c, session) != REDIS_OK) {
        const char *why = explain_loss(c, session, c->context->c.errstr);
        redis_tls_session_free(session);
        return why;
    }
    c->session = session;
    return NULL;
}

static void on_connect(const redisAsyncContext *context, int status)
{
    struct redis_connection *c = context->data;
    if (!c)
        return;
    if (status != REDIS_OK) {
        c->context = NULL; /* hiredis frees it */
        report_loss(c, context->errstr);
        return;
    }
    const char *why = c->options.tls ? start_tls(c) : NULL;
    if (why) {
        report_loss(c, why);
        return;
    }
    c->is_opening = false;
    if (log_in(c))
        c->events.connected(c->events.ctx);
    else
        report_loss(c, "out of memory");
}

static void on_disconnect(const redisAsyncContext *context, int status)
{
    struct redis_connection *c = context->data;
    (void)status;
    if (!c)
        return;
    const char *socket_error = context->errstr[0] ? context->errstr : "connection closed";
    const char *reason = redis_connection_explain(c, socket_error);
    c->context = NULL; /* hiredis frees it */
    c->session = NULL;
    report_loss(c, reason);
}

static void on_too_large(redisAsyncContext *context)
{
    struct redis_connection *c = context->data;
    if (c)
        report_loss(c, "protocol error: a reply of more than 1 MiB");
}

/* Creates the context and starts to connect. `address` is numeric, or NULL for a Unix socket. */
static void open_socket(struct redis_connection *c, const char *address)
{
    redisOptions o = {0};
    if (address)
        REDIS_OPTIONS_SET_TCP(&o, address, c->options.port);
    else
        REDIS_OPTIONS_SET_UNIX(&o, c->options.unix_path);
    c->context = redisAsyncConnectWithOptions(&o);
    if (!c->context || c->context->err || !redis_poll_attach(c->context, c->loop, on_too_large)) {
        report_loss(c, c->context && c->context->err ? c->context->errstr : "out of memory");
        return;
    }
    c->context->data = c;
    c->context->c.reader->maxelements =
        ELEMENTS_MAX; /* hiredis would allocate as many elements as a reply announces */
    (void)redisAsyncSetConnectCallback(c->context, on_connect);
    (void)redisAsyncSetDisconnectCallback(c->context, on_disconnect);
}

/* Connects to the address. If the attempt ended before the lookup did, the next attempt uses the address. */
static void on_looked_up(void *ctx, const char *why)
{
    struct redis_connection *c = ctx;
    if (!c->is_opening || c->context)
        return;
    if (why)
        report_loss(c, why);
    else
        open_socket(c, name_lookup_next_address(c->lookup));
}

void redis_connection_open(struct redis_connection *c)
{
    CHECK(!c->context);
    c->is_opening = true;
    c->has_replied = false;
    const char *address = c->lookup ? name_lookup_next_address(c->lookup) : NULL;
    if (address || !c->lookup)
        open_socket(c, address);
    else
        name_lookup_start(c->lookup);
}

void redis_connection_drop(struct redis_connection *c)
{
    redisAsyncContext *context = c->context;
    c->is_opening = false;
    c->context = NULL;
    c->session = NULL;
    if (context) {
        context->data = NULL;
        redisAsyncFree(context);
    }
}

/* ---- creating and freeing a connection ---- */

struct redis_connection *redis_connection_new(uv_loop_t *loop, struct redis_options *options,
                                              const struct redis_connection_events *events)
{
    redis_memory_install();
    struct redis_connection *c = try_calloc(1, sizeof *c);
    if (!c) {
        redis_options_fini(options);
        return NULL;
    }
    c->loop = loop;
    c->options = *options;
    *options = (struct redis_options){0};
    c->events = *events;
    buf_init_fallible(&c->command, COMMAND_MAX);
    if (c->options.host)
        c->lookup = name_lookup_new(loop, c->options.host, on_looked_up, c);
    /* Reserve the full size now, so that formatting a command cannot run out of memory. */
    if (buf_reserve(&c->command, COMMAND_MAX) && (c->lookup || !c->options.host))
        return c;
    redis_connection_free(c);
    return NULL;
}

void redis_connection_free(struct redis_connection *c)
{
    CHECK(!c->context);
    name_lookup_close(c->lookup);
    redis_options_fini(&c->options);
    redis_tls_free(c->tls);
    buf_fini(&c->command);
    free(c);
}
