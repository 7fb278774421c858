/* Traps of libpq:
 *
 * - It blocks while it resolves names, so it gets only numeric addresses (hostaddr). `host` is still the
 *   name, because libpq looks for it in the certificate and in the password file.
 * - PQsocket() may change in each PQconnectPoll(), so the watcher of the socket is closed before each call
 *   and created again after it.
 * - PQconnectPoll() has no timeout.
 * - In pipeline mode, PQsendQuery…() only buffers.
 * - PQgetResult() returns NULL after each command, but also if nothing is in flight. So results are read only
 *   while a synchronization point is in flight. */
#include "pg/pg_connection.h"

#include "base/check.h"
#include "base/fault.h"
#include "pg/pg_byte_counter.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYWORDS_MAX = PG_SETTINGS_MAX + 15, REASON_MAX = 300, SQLSTATE_LEN = 5 };

/* A watcher exists until the loop has closed its handle, which may be after its connection has been freed. */
struct pg_watcher {
    uv_poll_t poll;
    struct pg_connection *connection; /* NULL: unwatch() was called */
};

struct pg_connection {
    uv_loop_t *loop;
    uv_idle_t starter; /* runs the first step, so that no callback runs before pg_connection_open() returns */
    PGconn *conn;
    struct pg_watcher *watcher; /* NULL if the socket is not watched */
    struct pg_connection_events events;
    const struct pg_host *host;
    int syncs; /* synchronization points in flight; each command is followed by one */
    struct pg_byte_counter received;
    uint64_t complete_bytes; /* received.bytes at the last complete result */
    bool is_open, has_failed, is_closed;
    bool keeps_result; /* the running callback has called pg_connection_keep_result() */
    bool is_busy;      /* a libuv callback is running; if pg_connection_close() is called in it, leave() calls
                          release() */
};

/* ---- watching the socket ---- */

static void on_event(uv_poll_t *poll, int status, int events);

static void on_watcher_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void unwatch(struct pg_connection *c)
{
    if (!c->watcher)
        return;
    c->watcher->connection = NULL;
    (void)uv_poll_stop(&c->watcher->poll);
    uv_close((uv_handle_t *)&c->watcher->poll, on_watcher_closed);
    c->watcher = NULL;
}

static bool watch_events(struct pg_connection *c, int events)
{
    return FAULT_OR(UV_ENOMEM, uv_poll_start(&c->watcher->poll, events, on_event)) == 0;
}

static bool watch(struct pg_connection *c, int events)
{
    struct pg_watcher *w = try_calloc(1, sizeof *w);
    if (!w)
        return false;
    if (FAULT_OR(UV_ENOMEM, uv_poll_init(c->loop, &w->poll, PQsocket(c->conn))) != 0) {
        free(w);
        return false;
    }
    w->poll.data = w;
    w->connection = c;
    c->watcher = w;
    return watch_events(c, events);
}

/* ---- closing and losing the connection ---- */

static void on_starter_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void release(struct pg_connection *c)
{
    PQfinish(c->conn);
    uv_close((uv_handle_t *)&c->starter, on_starter_closed);
}

void pg_connection_close(struct pg_connection *c)
{
    if (!c)
        return;
    CHECK(!c->is_closed);
    c->is_closed = true;
    unwatch(c);
    if (!c->is_busy)
        release(c);
}

static void fail(struct pg_connection *c, enum pg_failure failure, const char *reason)
{
    if (c->has_failed || c->is_closed)
        return;
    c->has_failed = true;
    unwatch(c);
    c->events.lost(c->events.ctx, failure, reason);
}

/* Copies the first line of a message of libpq. The further lines contain advice. */
static void first_line(const char *message, char *out, size_t size)
{
    const size_t len = strcspn(message, "\n");
    (void)snprintf(out, size, "%.*s", (int)len, len ? message : "");
    if (!len)
        (void)snprintf(out, size, "connection failed");
}

/* Returns the SQLSTATE in a message of libpq, or NULL. With PQERRORS_VERBOSE, libpq inserts the SQLSTATE into
 * the errors of the server: "FATAL:  28P01: password authentication failed". */
static const char *find_sqlstate(const char *message)
{
    static const char characters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (const char *at = message; (at = strstr(at, ":  ")); at++)
        if (strspn(at + 3, characters) == SQLSTATE_LEN && strncmp(at + 3 + SQLSTATE_LEN, ": ", 2) == 0)
            return at + 3;
    return NULL;
}

/* The server reports that the role may not log in (class 28), that the database does not exist, or that the
 * role lacks the privilege CONNECT. */
static bool is_refused_login(const char *sqlstate)
{
    return strncmp(sqlstate, "28", 2) == 0 || strncmp(sqlstate, "3D000", SQLSTATE_LEN) == 0 ||
           strncmp(sqlstate, "42501", SQLSTATE_LEN) == 0;
}

static bool names_tls(const char *message)
{
    return strstr(message, "certificate") || strstr(message, "private key") || strstr(message, "SSL") ||
           strstr(message, "sslmode \"");
}

/* Classifies an error by its SQLSTATE, because a server can be configured to report errors in another
 * language. Errors of libpq itself have no SQLSTATE, and those of a pooler a wrong one, so these are
 * classified by their English text. */
static enum pg_failure classify(const struct pg_connection *c, const char *message)
{
    const char *sqlstate = find_sqlstate(message);
    if (strstr(message, "session is read-only") || strstr(message, "hot standby mode"))
        return PG_FAILED_NOT_PRIMARY;
    /* Such as: root certificate file "FILE" does not exist. */
    if (!sqlstate && names_tls(message))
        return PG_FAILED_TLS;
    if (PQconnectionNeedsPassword(c->conn) || (sqlstate && is_refused_login(sqlstate)) ||
        strstr(message, "authentication") || strstr(message, "pg_hba.conf") ||
        strstr(message, "\" does not exist") || strstr(message, "SCRAM") ||
        strstr(message, "not permitted to log in"))
        return PG_FAILED_AUTH;
    return names_tls(message) ? PG_FAILED_TLS : PG_FAILED_CONNECTION;
}

bool pg_reason_shows_a_reply(const char *reason)
{
    return strstr(reason, "(53300)") || strstr(reason, "(57P03)");
}

/* Removes the SQLSTATE and ": " from the line, because the message is for people. Appends the SQLSTATE if
 * pg_failure_fix() depends on it. `line` has REASON_MAX bytes. */
static void remove_sqlstate(char *line)
{
    const char *sqlstate = find_sqlstate(line);
    if (!sqlstate)
        return;
    const char *rest = sqlstate + SQLSTATE_LEN + 2;
    char shown[SQLSTATE_LEN + 4];
    (void)snprintf(shown, sizeof shown, " (%.*s)", SQLSTATE_LEN, sqlstate);
    memmove(line + (sqlstate - line), rest, strlen(rest) + 1);
    if (pg_reason_shows_a_reply(shown))
        (void)snprintf(line + strlen(line), REASON_MAX - strlen(line), "%s", shown);
}

static void fail_connecting(struct pg_connection *c)
{
    const char *message = PQerrorMessage(c->conn);
    const enum pg_failure failure = classify(c, message);
    char line[REASON_MAX], reason[REASON_MAX + 80];
    first_line(message, line, sizeof line);
    remove_sqlstate(line);
    if (failure == PG_FAILED_NOT_PRIMARY)
        (void)snprintf(line, sizeof line, "%s:%s is not the primary (read-only)", c->host->name,
                       c->host->port);
    if (PQconnectionNeedsPassword(c->conn))
        (void)snprintf(reason, sizeof reason, "%s:%s requires a password, but none is configured",
                       c->host->name, c->host->port);
    else
        (void)snprintf(reason, sizeof reason, "%s", line);
    fail(c, failure, reason);
}

static void fail_open(struct pg_connection *c)
{
    char reason[REASON_MAX];
    first_line(PQerrorMessage(c->conn), reason, sizeof reason);
    fail(c, PG_FAILED_CONNECTION, reason);
}

/* ---- establishing the connection ---- */

static void ignore_notice(void *ctx, const PGresult *result)
{
    (void)ctx;
    (void)result;
}

static void become_open(struct pg_connection *c)
{
    if (PQsetnonblocking(c->conn, 1) != 0 || !PQenterPipelineMode(c->conn)) {
        fail_open(c);
        return;
    }
    if (!watch(c, UV_READABLE)) {
        fail(c, PG_FAILED_CONNECTION, "out of memory");
        return;
    }
    (void)PQsetErrorVerbosity(c->conn, PQERRORS_DEFAULT);
    c->is_open = true;
    c->events.ready(c->events.ctx);
}

static void connect_step(struct pg_connection *c)
{
    unwatch(c);
    switch (PQconnectPoll(c->conn)) {
    case PGRES_POLLING_OK: become_open(c); return;
    case PGRES_POLLING_READING:
        if (!watch(c, UV_READABLE))
            fail(c, PG_FAILED_CONNECTION, "out of memory");
        return;
    case PGRES_POLLING_WRITING:
        if (!watch(c, UV_WRITABLE))
            fail(c, PG_FAILED_CONNECTION, "out of memory");
        return;
    default: fail_connecting(c);
    }
}

/* ---- reading results ---- */

static bool is_fatal(const PGresult *result)
{
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    return severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
}

static void describe(const PGresult *result, struct pg_error *error)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    (void)snprintf(error->sqlstate, sizeof error->sqlstate, "%s", state ? state : "");
    first_line(text ? text : PQresultErrorMessage(result), error->text, sizeof error->text);
}

static void deliver_error(struct pg_connection *c, const PGresult *result)
{
    struct pg_error error;
    describe(result, &error);
    /* An error without SQLSTATE comes from libpq, for example after an unexpected message. */
    if (PQstatus(c->conn) == CONNECTION_BAD || is_fatal(result) || !*error.sqlstate)
        fail(c, PG_FAILED_CONNECTION, error.text);
    else
        c->events.got(c->events.ctx, PG_GOT_ERROR, NULL, &error);
}

static void deliver(struct pg_connection *c, PGresult *result)
{
    const ExecStatusType status = result ? PQresultStatus(result) : PGRES_COMMAND_OK;
    if (!result || status == PGRES_PIPELINE_SYNC)
        c->complete_bytes = c->received.bytes;
    if (!result)
        c->events.got(c->events.ctx, PG_GOT_END, NULL, NULL);
    else if (status == PGRES_PIPELINE_SYNC) {
        c->syncs--;
        c->events.got(c->events.ctx, PG_GOT_SYNC, NULL, NULL);
    } else if (status == PGRES_PIPELINE_ABORTED)
        c->events.got(c->events.ctx, PG_GOT_ABORTED, NULL, NULL);
    else if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        c->events.got(c->events.ctx, PG_GOT_RESULT, result, NULL);
    else if (status == PGRES_FATAL_ERROR)
        deliver_error(c, result);
    else
        fail(c, PG_FAILED_CONNECTION, "unexpected message from the server");
}

static void read_results(struct pg_connection *c)
{
    while (!c->is_closed && !c->has_failed && c->syncs > 0 && !PQisBusy(c->conn)) {
        PGresult *result = PQgetResult(c->conn);
        c->keeps_result = false;
        deliver(c, result);
        if (!c->keeps_result)
            PQclear(result);
    }
    if (!c->is_closed && !c->has_failed && PQstatus(c->conn) == CONNECTION_BAD)
        fail_open(c);
}

/* libpq stores a whole result in memory, so the connection must fail if a server sends a result without end.
 */
static bool is_too_large(struct pg_connection *c)
{
    const size_t max = c->events.result_bytes_max;
    pg_byte_counter_update(&c->received, PQsocket(c->conn));
    return c->received.bytes - c->complete_bytes > (max ? max : PG_RESULT_BYTES_MAX);
}

static void receive(struct pg_connection *c)
{
    if (is_too_large(c)) {
        fail(c, PG_FAILED_CONNECTION, "a result of the server is too large");
    } else if (!PQconsumeInput(c->conn)) {
        fail_open(c);
    } else {
        pg_byte_counter_end_read(&c->received, PQsocket(c->conn));
        read_results(c);
    }
}

/* ---- events of the loop ---- */

static void flush(struct pg_connection *c)
{
    const int left = PQflush(c->conn);
    if (left < 0)
        fail_open(c);
    else if (!watch_events(c, left ? UV_READABLE | UV_WRITABLE : UV_READABLE))
        fail(c, PG_FAILED_CONNECTION, "out of memory");
}

static void leave(struct pg_connection *c)
{
    c->is_busy = false;
    if (c->is_closed)
        release(c);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct pg_connection *c = ((struct pg_watcher *)poll->data)->connection;
    if (!c)
        return;
    c->is_busy = true;
    if (!c->is_open) {
        connect_step(c);
    } else {
        if (status || events & UV_READABLE)
            receive(c);
        /* libuv stops watching a socket after an error, although receive() may have read only the messages
         * before the end of the connection. flush() watches the socket again, so that the end is noticed. */
        if (!c->is_closed && !c->has_failed && (status || events & UV_WRITABLE))
            flush(c);
    }
    leave(c);
}

static void on_started(uv_idle_t *starter)
{
    struct pg_connection *c = starter->data;
    (void)uv_idle_stop(starter);
    c->is_busy = true;
    if (PQstatus(c->conn) == CONNECTION_BAD)
        fail_connecting(c);
    else if (!watch(c, UV_WRITABLE))
        fail(c, PG_FAILED_CONNECTION, "out of memory");
    leave(c);
}

/* ---- starting to connect ---- */

static PGconn *start(const struct pg_options *o, const struct pg_host *host, const char *address)
{
    const char *keywords[KEYWORDS_MAX], *values[KEYWORDS_MAX];
    int n = 0;
#define SET(keyword, value) (keywords[n] = (keyword), values[n++] = (value))
    SET("tcp_user_timeout", "5000");
    SET("keepalives_idle", "30"); /* for a connection that waits for a lock while its server vanishes */
    SET("keepalives_interval", "5");
    SET("keepalives_count", "3");
    SET("fallback_application_name", "viewtally");
    for (int i = 0; i < o->setting_count; i++)
        SET(o->settings[i].keyword, o->settings[i].value); /* a later value replaces an earlier one */
    SET("host", host->name);
    SET("hostaddr", address);
    SET("port", host->port);
    SET("password", o->password);
    SET("target_session_attrs", "read-write");
    SET("gssencmode", "disable");
    SET("client_encoding", "UTF8");
    SET(NULL, NULL);
#undef SET
    CHECK(n <= KEYWORDS_MAX);
    return PQconnectStartParams(keywords, values, 0);
}

struct pg_connection *pg_connection_open(uv_loop_t *loop, const struct pg_options *options, int host,
                                         const char *address, const struct pg_connection_events *events)
{
    const struct pg_host *to = &options->hosts[host];
    struct pg_connection *c = try_calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->conn = FAULT_OR(NULL, start(options, to, address));
    if (!c->conn) {
        free(c);
        return NULL;
    }
    PQsetNoticeReceiver(c->conn, ignore_notice, NULL);
    (void)PQsetErrorVerbosity(c->conn, PQERRORS_VERBOSE); /* for find_sqlstate() */
    c->loop = loop;
    c->events = *events;
    c->host = to;
    /* These libuv calls cannot fail. */
    CHECK(uv_idle_init(loop, &c->starter) == 0 && uv_idle_start(&c->starter, on_started) == 0);
    c->starter.data = c;
    return c;
}

/* ---- sending commands ---- */

bool pg_connection_prepare(struct pg_connection *c, const char *name, const char *sql)
{
    CHECK(c->is_open);
    return FAULT_OR(0, PQsendPrepare(c->conn, name, sql, 0, NULL)) == 1;
}

bool pg_connection_query(struct pg_connection *c, const char *name, const struct pg_params *params)
{
    const char *values[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX], formats[PG_PARAMS_MAX];
    CHECK(c->is_open);
    for (int i = 0; i < params->count; i++) {
        values[i] = pg_params_value(params, i);
        lengths[i] = params->at[i].len;
        formats[i] = 1;
    }
    return FAULT_OR(0, PQsendQueryPrepared(c->conn, name, params->count, values, lengths, formats, 1)) == 1;
}

bool pg_connection_sync(struct pg_connection *c)
{
    CHECK(c->is_open);
    if (!FAULT_OR(0, PQsendPipelineSync(c->conn)))
        return false;
    c->syncs++;
    return true;
}

static void on_broken(uv_idle_t *starter)
{
    struct pg_connection *c = starter->data;
    (void)uv_idle_stop(starter);
    c->is_busy = true;
    fail_open(c);
    leave(c);
}

/* If PQflush() finds that the server has closed the connection, it closes the socket. libuv must stop
 * watching the socket, because libuv calls abort() for a closed descriptor. */
static void fail_later(struct pg_connection *c)
{
    unwatch(c);
    (void)uv_idle_start(&c->starter, on_broken);
}

void pg_connection_flush(struct pg_connection *c)
{
    if (c->has_failed || c->is_closed || !c->watcher)
        return;
    /* Calls `lost` later, because callers do not expect it during this call. */
    const int left = PQflush(c->conn);
    if (left < 0 || (left && !watch_events(c, UV_READABLE | UV_WRITABLE)))
        fail_later(c);
}

bool pg_connection_is_broken(const struct pg_connection *c)
{
    return PQstatus(c->conn) == CONNECTION_BAD;
}

/* ---- results and URLs ---- */

void pg_connection_keep_result(struct pg_connection *c)
{
    c->keeps_result = true;
}

/* The functions of libpq have parameters without const, but those that are called here do not modify the
 * result. */
static PGresult *without_const(const struct pg_result *result)
{
    return (PGresult *)(uintptr_t)result;
}

void pg_result_free(const struct pg_result *result)
{
    PQclear(without_const(result));
}

int64_t pg_result_changes(const struct pg_result *result)
{
    return strtoll(PQcmdTuples(without_const(result)), NULL, 10);
}

bool pg_result_is_command(const struct pg_result *result, const char *command)
{
    return strcmp(PQcmdStatus(without_const(result)), command) == 0;
}

int pg_result_rows(const struct pg_result *result)
{
    return PQntuples(result);
}

int pg_result_columns(const struct pg_result *result)
{
    return PQnfields(result);
}

bool pg_row_is_null(const struct pg_row *row, int column)
{
    return column >= PQnfields(row->result) || PQgetisnull(row->result, row->row, column);
}

/* Returns the bytes of the value. If the value is NULL, sets `bad` and returns NULL. */
static const unsigned char *value_at(struct pg_row *row, int column, int *len)
{
    *len = 0;
    if (pg_row_is_null(row, column)) {
        row->bad = true;
        return NULL;
    }
    *len = PQgetlength(row->result, row->row, column);
    return (const unsigned char *)PQgetvalue(row->result, row->row, column);
}

int64_t pg_row_i64(struct pg_row *row, int column)
{
    int len;
    const unsigned char *p = value_at(row, column, &len);
    if (len == 1 && p[0] <= 1) /* a boolean */
        return p[0];
    if (len != 2 && len != 4 && len != 8) {
        row->bad = true;
        return 0;
    }
    uint64_t v = p[0] & 0x80 ? UINT64_MAX : 0; /* sign extension */
    for (int i = 0; i < len; i++)
        v = v << 8 | p[i];
    return (int64_t)v;
}

bool pg_row_bool(struct pg_row *row, int column)
{
    int len;
    const unsigned char *p = value_at(row, column, &len);
    row->bad = row->bad || len != 1;
    return len == 1 && p[0] != 0;
}

struct str pg_row_bytes(struct pg_row *row, int column)
{
    int len;
    const unsigned char *p = value_at(row, column, &len);
    return str_make((const char *)p, (size_t)len);
}

bool pg_conninfo_parse(const char *url, void (*each)(void *ctx, const char *keyword, const char *value),
                       void *ctx)
{
    char *message = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &message);
    PQfreemem(message); /* the message is not used, because it may quote a part of the URL */
    for (const PQconninfoOption *o = options; o && o->keyword; o++)
        if (o->val)
            each(ctx, o->keyword, o->val);
    PQconninfoFree(options);
    return options != NULL;
}
