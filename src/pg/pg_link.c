/* The state machine of the link: attempts to connect to the hosts, deadlines, and the barrier. pg_queue.c has
 * the queries, pg_connection.c the connection. One timer checks all deadlines. */
#include "pg/pg_link.h"

#include "base/backoff.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "net/name_lookup.h"
#include "pg/pg_barrier.h"
#include "pg/pg_queue.h"
#include "pg/pg_server_settings.h"
#include "pg/pg_timeline.h"

#include <stdio.h>
#include <stdlib.h>

enum { TICK_MS = 50, REASON_MAX = 1000 };

/* Ids of internal commands. A smaller id is the index of a statement and belongs to the command that prepares
 * this statement. */
enum {
    ID_PREPARE_SETTINGS = PG_STATEMENTS_MAX,
    ID_PREPARE_IDENTITY,
    ID_PREPARE_BARRIER,
    ID_SETTINGS,
    ID_IDENTITY,
    ID_BARRIER
};

struct host_lookup {
    struct pg_link *link;
    int host;
    struct name_lookup *lookup; /* NULL for a Unix socket */
};

struct pg_link {
    uv_loop_t *loop;
    uv_timer_t tick;
    uv_prepare_t prepare;
    struct pg_options where;
    struct pg_link_options options;
    struct host_lookup lookups[PG_HOSTS_MAX];
    enum pg_link_state state;
    struct pg_connection
        *connection; /* NULL while the link is DOWN, and until the name of the host is resolved */
    struct pg_queue queue;
    struct pg_barrier barrier;
    struct backoff backoff;
    int host;            /* index of the host of the current attempt or connection */
    int tried;           /* number of hosts that have failed in the current attempt */
    bool is_opened;      /* OPENING: the connection is open and the opening batch is in flight */
    int64_t since_ms;    /* OPENING: start of connecting, or of the opening batch */
    int64_t retry_at_ms; /* DOWN: time of the next attempt */
    enum pg_failure failure;
    char reason[REASON_MAX];
    unsigned reported; /* a bit for each enum pg_failure that was logged since the link was up */
    char host_text[300];
    void (*closed)(void *ctx);
    void *closed_ctx;
    int open_handles;
};

static void try_host(struct pg_link *l);

/* ---- state of the link ---- */

static void pg_link_enter(struct pg_link *l, enum pg_link_state state)
{
    static const unsigned char edges[] = {
        [PG_DOWN] = 1 << PG_OPENING,
        [PG_OPENING] = 1 << PG_UP | 1 << PG_DOWN,
        [PG_UP] = 1 << PG_STALE | 1 << PG_DOWN,
        [PG_STALE] = 1 << PG_UP | 1 << PG_DOWN,
    };
    CHECK(l->state != PG_CLOSED && (state == PG_CLOSED || edges[l->state] & 1 << state));
    l->state = state;
}

/* Logs each kind of failure once until the link is up. If the addresses of a host fail for different reasons,
 * the failure changes with every attempt. */
static void report_failure(struct pg_link *l)
{
    if (l->reported & 1U << l->failure)
        return;
    l->reported |= 1U << l->failure;
    const bool is_connection = l->failure == PG_FAILED_CONNECTION;
    /* If the connection was open, host and port are right, so the advice to check them is left out. */
    log_at(is_connection ? LOG_WARN : LOG_ERROR, "postgresql: unavailable (%s)%s", l->reason,
           is_connection && l->is_opened ? "" : pg_failure_fix(l->failure, l->reason));
}

static void drop_connection(struct pg_link *l)
{
    pg_connection_close(l->connection);
    l->connection = NULL;
    l->is_opened = false;
    pg_queue_lost(&l->queue);
}

/* Enters DOWN before it drops the connection, because dropping it completes waiters, whose owners may start
 * queries. */
static void go_down(struct pg_link *l, enum pg_failure failure, const char *reason)
{
    if (l->state == PG_CLOSED || l->state == PG_DOWN)
        return;
    if (reason != l->reason)
        (void)snprintf(l->reason, sizeof l->reason, "%s", reason);
    l->failure = failure;
    l->queue.counts.losses += l->state != PG_OPENING;
    pg_link_enter(l, PG_DOWN);
    l->retry_at_ms = clock_connection_ms() + backoff_next(&l->backoff);
    report_failure(l);
    drop_connection(l);
}

/* ---- attempts to connect ---- */

/* Appends the reason to the reasons of the hosts that have failed before in this attempt, and tries the next
 * host. The failure of an attempt is the most important one (enum pg_failure): a wrong configuration rather
 * than a host that does not respond. */
static void host_failed(struct pg_link *l, enum pg_failure failure, const char *reason)
{
    const size_t len = strlen(l->reason);
    (void)snprintf(l->reason + len, sizeof l->reason - len, "%s%s", len ? "; " : "", reason);
    if (failure > l->failure)
        l->failure = failure;
    drop_connection(l);
    if (l->state != PG_OPENING) /* a waiter has closed the link */
        return;
    if (++l->tried == l->where.host_count) {
        go_down(l, l->failure, l->reason);
        return;
    }
    l->host = (l->host + 1) % l->where.host_count;
    try_host(l);
}

static void connection_failed(struct pg_link *l, enum pg_failure failure, const char *reason)
{
    if (l->state == PG_OPENING)
        host_failed(l, failure, reason);
    else
        go_down(l, failure, reason);
}

static void on_lost(void *ctx, enum pg_failure failure, const char *reason)
{
    connection_failed(ctx, failure, reason);
}

static void on_ready(void *ctx);

/* Returns true if another connection of this process has used the cluster after a later promotion. */
static bool is_former_primary(const struct pg_link *l)
{
    return l->barrier.incarnation.timeline < pg_timeline_newest();
}

/* Returns true while the results of the server may be used. */
static bool is_trusted(const struct pg_link *l)
{
    return l->state == PG_UP && pg_barrier_is_valid(&l->barrier) && !is_former_primary(l);
}

static void refuse_former_primary(struct pg_link *l)
{
    char why[PG_FORMER_PRIMARY_REASON_MAX], reason[500];
    pg_timeline_describe_former_primary(why, l->barrier.incarnation.timeline);
    (void)snprintf(reason, sizeof reason, "%s: %s", l->host_text, why);
    connection_failed(l, PG_FAILED_NOT_PRIMARY, reason);
}

static void on_got(void *ctx, enum pg_got got, const struct pg_result *result, const struct pg_error *error)
{
    struct pg_link *l = ctx;
    if (!pg_queue_got(&l->queue, got, result, error, is_trusted(l), &l->barrier.incarnation))
        connection_failed(l, PG_FAILED_CONNECTION, "unexpected message from the server");
}

static void open_address(struct pg_link *l, const char *address)
{
    const struct pg_connection_events events = {.ready = on_ready, .got = on_got, .lost = on_lost, .ctx = l};
    pg_options_reload_password(&l->where);
    l->connection = pg_connection_open(l->loop, &l->where, l->host, address, &events);
    if (!l->connection)
        host_failed(l, PG_FAILED_CONNECTION, "out of memory");
}

static void try_host(struct pg_link *l)
{
    struct name_lookup *lookup = l->lookups[l->host].lookup;
    const char *address = lookup ? name_lookup_next_address(lookup) : NULL;
    l->since_ms = clock_connection_ms();
    (void)snprintf(l->host_text, sizeof l->host_text, "%s:%s", l->where.hosts[l->host].name,
                   l->where.hosts[l->host].port);
    if (lookup && !address)
        name_lookup_start(lookup);
    else
        open_address(l, address);
}

static void on_resolved(void *ctx, const char *why)
{
    const struct host_lookup *h = ctx;
    struct pg_link *l = h->link;
    if (l->state != PG_OPENING || l->host != h->host || l->connection)
        return;
    if (why) {
        char reason[400];
        (void)snprintf(reason, sizeof reason, "cannot resolve %s: %s", l->where.hosts[h->host].name, why);
        host_failed(l, PG_FAILED_CONNECTION, reason);
    } else {
        open_address(l, name_lookup_next_address(h->lookup));
    }
}

static void attempt(struct pg_link *l)
{
    pg_link_enter(l, PG_OPENING);
    l->tried = 0;
    l->reason[0] = 0;
    l->failure = PG_FAILED_CONNECTION;
    try_host(l);
}

/* ---- opening batch and barrier ---- */

static void on_internal(void *ctx, int id, const struct pg_result *result, const struct pg_error *error);

static bool prepare_one(struct pg_link *l, const struct pg_statement *s, int id)
{
    return pg_connection_prepare(l->connection, s->name, s->sql) &&
           pg_queue_add_internal(&l->queue, true, id, on_internal, l);
}

static bool sync_now(struct pg_link *l)
{
    return pg_connection_sync(l->connection) && pg_queue_add_sync(&l->queue);
}

static bool send_barrier(struct pg_link *l)
{
    struct pg_params params;
    pg_barrier_begin(&l->barrier, l->options.process, &params);
    const bool sent = !params.bytes.failed &&
                      pg_connection_query(l->connection, pg_barrier_statement.name, &params) &&
                      pg_queue_add_internal(&l->queue, false, ID_BARRIER, on_internal, l) && sync_now(l);
    pg_params_fini(&params);
    return sent;
}

static bool prepare_and_run(struct pg_link *l, const struct pg_statement *s, int prepare_id, int id)
{
    struct pg_params none;
    pg_params_init(&none);
    const bool sent = prepare_one(l, s, prepare_id) && pg_connection_query(l->connection, s->name, &none) &&
                      pg_queue_add_internal(&l->queue, true, id, on_internal, l);
    pg_params_fini(&none);
    return sent;
}

/* Sends the opening batch and then the first barrier. The opening batch changes the settings of the backend,
 * reads the identity of the server, and prepares all statements, which may wait for the lock of a table.
 * Returns false if out of memory. */
static bool send_opening(struct pg_link *l)
{
    bool ok = prepare_and_run(l, &pg_server_settings_statement, ID_PREPARE_SETTINGS, ID_SETTINGS) &&
              prepare_and_run(l, &pg_identity_statement, ID_PREPARE_IDENTITY, ID_IDENTITY) &&
              prepare_one(l, &pg_barrier_statement, ID_PREPARE_BARRIER);
    for (int i = 0; ok && i < l->options.statement_count; i++)
        ok = prepare_one(l, &l->options.statements[i], i);
    /* The barrier is a batch of its own, because a pooler in transaction mode can run it on another backend
     * than the first batch. This reveals the pooler. */
    return ok && sync_now(l) && send_barrier(l);
}

static void on_ready(void *ctx)
{
    struct pg_link *l = ctx;
    l->is_opened = true;
    l->since_ms = clock_connection_ms();
    pg_barrier_reset(&l->barrier);
    if (send_opening(l))
        pg_connection_flush(l->connection);
    else
        host_failed(l, PG_FAILED_CONNECTION, "out of memory");
}

static void become_up(struct pg_link *l)
{
    if (l->state == PG_OPENING || l->reported)
        log_info("postgresql: up (%s, timeline %u, %s)", l->host_text, l->barrier.incarnation.timeline,
                 l->barrier.is_synchronous ? "synchronous standby" : "no synchronous standby");
    l->reported = 0;
    pg_link_enter(l, PG_UP);
}

static void barrier_committed(struct pg_link *l)
{
    pg_barrier_acknowledge(&l->barrier);
    /* If the acknowledgment arrives so late that the proof has already expired, the link waits for the next
     * barrier. */
    if (l->state != PG_UP && pg_barrier_is_valid(&l->barrier))
        become_up(l);
    if (l->barrier.acknowledged_count > 1)
        backoff_reset(&l->backoff); /* the connection has lasted for at least PG_BARRIER_MS */
}

/* Classifies the error of an internal statement. */
static enum pg_failure failure_of(const char *sqlstate)
{
    if (pg_barrier_is_pooler_error(sqlstate))
        return PG_FAILED_POOLER;
    if (strcmp(sqlstate, "25006") == 0)
        return PG_FAILED_NOT_PRIMARY;
    /* A table is missing, or the role lacks a privilege. */
    if (strncmp(sqlstate, "42", 2) == 0 || strncmp(sqlstate, "3F", 2) == 0)
        return PG_FAILED_SCHEMA;
    return PG_FAILED_CONNECTION;
}

static void internal_failed(struct pg_link *l, const struct pg_error *error)
{
    char reason[sizeof error->text + 310];
    const enum pg_failure failure = failure_of(error->sqlstate);
    (void)snprintf(reason, sizeof reason, "%s: %s", l->host_text,
                   failure == PG_FAILED_POOLER ? pg_pooler_reason : error->text);
    connection_failed(l, failure, reason);
}

static void on_internal(void *ctx, int id, const struct pg_result *result, const struct pg_error *error)
{
    struct pg_link *l = ctx;
    enum pg_failure failure = PG_FAILED_CONNECTION;
    const char *why = NULL;
    bool ok = true;
    if (error)
        internal_failed(l, error);
    else if (id == ID_IDENTITY)
        ok = pg_barrier_read_identity(&l->barrier, result, &failure, &why);
    else if (id == ID_BARRIER && result)
        ok = pg_barrier_read(&l->barrier, result, &failure, &why);
    else if (id == ID_BARRIER)
        barrier_committed(l);
    if (!ok) {
        char reason[500];
        (void)snprintf(reason, sizeof reason, "%s: %s", l->host_text, why);
        connection_failed(l, failure, reason);
    } else if (id == ID_IDENTITY && !error) {
        (void)pg_timeline_record(PG_CLUSTER_UNKNOWN, l->barrier.incarnation.timeline);
        if (is_former_primary(l))
            refuse_former_primary(l);
    }
}

/* ---- work of each loop iteration ---- */

static void tick_opening(struct pg_link *l, int64_t now_ms)
{
    const int limit_ms = l->is_opened ? PG_ANSWER_MS : l->where.connect_ms;
    if (now_ms - l->since_ms < limit_ms)
        return;
    char reason[400];
    /* The server sends its settings only after the commit, so it is unknown whether there is a standby. */
    (void)snprintf(reason, sizeof reason, "%s: no reply within %d ms%s", l->host_text, limit_ms,
                   l->is_opened ? " (is the server overloaded, or is its synchronous standby down?)" : "");
    host_failed(l, PG_FAILED_CONNECTION, reason);
}

static void become_stale(struct pg_link *l)
{
    pg_link_enter(l, PG_STALE);
    l->failure = PG_FAILED_CONNECTION;
    (void)snprintf(l->reason, sizeof l->reason, "%s has not committed a write for %d ms (%s)", l->host_text,
                   PG_STALE_MS,
                   l->barrier.is_synchronous ? "is the synchronous standby down?"
                                             : "is the server overloaded, or is its disk full?");
    report_failure(l);
}

static void tick_open(struct pg_link *l, int64_t now_ms)
{
    if (l->state == PG_UP && !pg_barrier_is_valid(&l->barrier))
        become_stale(l);
    if (is_former_primary(l))
        refuse_former_primary(l);
    else if (now_ms - l->barrier.acknowledged_ms >= PG_STALE_LOST_MS)
        go_down(l, PG_FAILED_CONNECTION, l->reason);
    else if (pg_queue_oldest_ms(&l->queue) >= PG_ANSWER_MS)
        go_down(l, PG_FAILED_CONNECTION, "no reply to a query within 5 s");
    else if (pg_barrier_is_due(&l->barrier)) {
        if (send_barrier(l))
            pg_connection_flush(l->connection);
        else
            go_down(l, PG_FAILED_CONNECTION, "out of memory");
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct pg_link *l = timer->data;
    const int64_t now_ms = clock_connection_ms();
    /* Queries that are about to be sent do not expire, even if hold_ms is 0. */
    if (!is_trusted(l))
        pg_queue_expire(&l->queue, l->options.hold_ms);
    switch (l->state) {
    case PG_DOWN:
        if (now_ms >= l->retry_at_ms)
            attempt(l);
        break;
    case PG_OPENING: tick_opening(l, now_ms); break;
    case PG_UP:
    case PG_STALE: tick_open(l, now_ms); break;
    case PG_CLOSED: break;
    }
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct pg_link *l = prepare->data;
    if (!is_trusted(l))
        return;
    const int sent = pg_queue_send(&l->queue, l->connection);
    if (sent < 0)
        go_down(l, PG_FAILED_CONNECTION, "out of memory");
    else if (sent > 0)
        pg_connection_flush(l->connection);
}

/* ---- creating and closing the link ---- */

static void free_link(struct pg_link *l)
{
    for (int i = 0; i < l->where.host_count; i++)
        name_lookup_close(l->lookups[i].lookup);
    pg_options_fini(&l->where);
    free(l);
}

static bool create_lookups(struct pg_link *l)
{
    for (int i = 0; i < l->where.host_count; i++) {
        struct host_lookup *h = &l->lookups[i];
        h->link = l;
        h->host = i;
        if (l->where.hosts[i].name[0] == '/')
            continue;
        h->lookup = name_lookup_new(l->loop, l->where.hosts[i].name, on_resolved, h);
        if (!h->lookup)
            return false;
    }
    return true;
}

struct pg_link *pg_link_new(uv_loop_t *loop, struct pg_options *where, const struct pg_link_options *options)
{
    CHECK(options->statement_count <= PG_STATEMENTS_MAX);
    struct pg_link *l = try_calloc(1, sizeof *l);
    if (!l) {
        pg_options_fini(where);
        return NULL;
    }
    l->loop = loop;
    l->where = *where;
    l->options = *options;
    if (!create_lookups(l)) {
        free_link(l);
        return NULL;
    }
    pg_queue_init(&l->queue, options->statements);
    pg_barrier_reset(&l->barrier);
    backoff_reset(&l->backoff);
    if (FAULT_OR(UV_EIO, uv_random(NULL, NULL, &l->backoff.random, sizeof l->backoff.random, 0, NULL)))
        l->backoff.random = uv_hrtime();
    /* These libuv calls cannot fail. */
    CHECK(uv_timer_init(loop, &l->tick) == 0 && uv_timer_start(&l->tick, on_tick, 0, TICK_MS) == 0);
    CHECK(uv_prepare_init(loop, &l->prepare) == 0 && uv_prepare_start(&l->prepare, on_prepare) == 0);
    l->tick.data = l->prepare.data = l;
    l->open_handles = 2;
    return l;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct pg_link *l = handle->data;
    if (--l->open_handles > 0)
        return;
    void (*closed)(void *) = l->closed;
    void *ctx = l->closed_ctx;
    free_link(l);
    if (closed)
        closed(ctx);
}

void pg_link_close(struct pg_link *l, void (*closed)(void *ctx), void *ctx)
{
    l->closed = closed;
    l->closed_ctx = ctx;
    pg_link_enter(l, PG_CLOSED);
    drop_connection(l);
    pg_queue_fini(&l->queue);
    uv_close((uv_handle_t *)&l->tick, on_handle_closed);
    uv_close((uv_handle_t *)&l->prepare, on_handle_closed);
}

/* ---- queries and status ---- */

enum next pg_link_query(struct pg_link *l, int statement, struct pg_params *params, struct waiter *w,
                        struct pg_reply *reply)
{
    CHECK(l->state != PG_CLOSED && statement >= 0 && statement < l->options.statement_count);
    const int max = l->state == PG_UP ? PG_QUEUE_MAX : l->options.held_max;
    return pg_queue_add(&l->queue, max, statement, params, w, reply);
}

struct pg_status pg_link_get_status(const struct pg_link *l)
{
    return (struct pg_status){
        .state = l->state,
        .incarnation = l->barrier.incarnation,
        .is_synchronous = l->barrier.is_synchronous,
        .host = l->state == PG_DOWN ? "" : l->host_text,
        .failure = l->failure,
        .reason = l->reason,
        .held = l->queue.held_count,
        .in_flight = l->queue.in_flight_count,
        .barrier_age_ms =
            l->barrier.acknowledged_ms < 0 ? -1 : clock_connection_ms() - l->barrier.acknowledged_ms,
    };
}

struct pg_counts pg_link_get_counts(const struct pg_link *l)
{
    return l->queue.counts;
}

const char *pg_failure_name(enum pg_failure failure)
{
    static const char *const names[PG_FAILURES] = {"connection",  "auth",   "tls",
                                                   "not_primary", "schema", "pooler"};
    return names[failure];
}

const char *pg_failure_fix(enum pg_failure failure, const char *reason)
{
    const bool is_busy = pg_reason_shows_a_reply(reason); /* a host is full or starting: the URL is right */
    switch (failure) {
    case PG_FAILED_AUTH: return "; check the user, the database and the password file";
    case PG_FAILED_TLS: return "; check sslmode and sslrootcert, and that the certificate names the host";
    case PG_FAILED_SCHEMA:
        return "; run `viewtally migrate`, which creates the tables or names the missing GRANT statements";
    case PG_FAILED_NOT_PRIMARY: return is_busy ? "" : "; name all servers of the cluster in the URL";
    case PG_FAILED_CONNECTION:
        return is_busy
                   ? ""
                   : "; check the host and the port in the URL, and that PostgreSQL is running and reachable";
    default: return "";
    }
}

const char *pg_link_state_name(enum pg_link_state state)
{
    static const char *const names[] = {"down", "opening", "up", "stale", "closed"};
    return names[state];
}
