/* Opens the connection, and runs the private loop until a batch is complete. The callbacks only set members:
 * the functions that run the loop close the connection. */
#include "store/pg/pg_session.h"

#include "base/check.h"
#include "base/hash.h"
#include "pg/pg_barrier.h"
#include "pg/pg_queue.h"
#include "pg/pg_server_settings.h"
#include "pg/pg_timeline.h"
#include "store/pg/pg_where.h"
#include "store/store.h"

#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* A list of all authors is one result: 1 GiB is enough for five million authors. */
enum { ADDRESS_MAX = 64, RESULT_BYTES_MAX = 1 << 30 };

/* ---- callbacks of the connection ---- */

static void on_ready(void *ctx)
{
    struct pg_session *s = ctx;
    s->is_ready = true;
}

static void on_lost(void *ctx, enum pg_failure failure, const char *reason)
{
    struct pg_session *s = ctx;
    s->is_lost = true;
    s->failure = failure;
    (void)snprintf(s->reason, sizeof s->reason, "%s", reason);
}

static void on_got(void *ctx, enum pg_got got, const struct pg_result *result, const struct pg_error *error)
{
    struct pg_session *s = ctx;
    if (got == PG_GOT_RESULT) {
        pg_result_free(s->result);
        s->result = result;
        pg_connection_keep_result(s->connection);
    } else if (got == PG_GOT_ERROR && !s->has_error) {
        s->has_error = true;
        s->error = *error;
        s->failed_at = s->ended;
    }
    s->ended += got == PG_GOT_END;
    s->is_synced = s->is_synced || got == PG_GOT_SYNC;
}

/* ---- threads that must not wait ---- */

#ifdef VT_TEST_SEAMS
static _Thread_local bool waits_are_forbidden;

void pg_session_forbid_waits(bool forbids)
{
    waits_are_forbidden = forbids;
}
#else
enum { waits_are_forbidden = false };
#endif

/* ---- limits of the waiting time ---- */

enum { TICK_MS = 200, LAST_WAIT_MS = 500 };

/* From this time on, which is uv_hrtime() in ms, no call waits longer than LAST_WAIT_MS. */
static _Atomic uint64_t limited_from_ms = UINT64_MAX;

static uint64_t now_ms(void)
{
    return uv_hrtime() / 1000000;
}

void store_limit_waits(int ms)
{
    atomic_store(&limited_from_ms, now_ms() + (uint64_t)ms);
}

bool pg_session_is_limited(void)
{
    return now_ms() >= atomic_load(&limited_from_ms);
}

static void on_tick(uv_timer_t *timer)
{
    struct pg_session *s = timer->data;
    const uint64_t now = now_ms();
    s->is_late = now >= s->late_at_ms || (pg_session_is_limited() && now - s->started_ms >= LAST_WAIT_MS);
}

/* ---- creating and freeing a session ---- */

enum err pg_session_init(struct pg_session *s, const char *url, const char *password_file,
                         struct error *error)
{
    *s = (struct pg_session){.host = 0};
    enum err err = pg_where_parse(&s->where, url, password_file, error);
    if (!err && uv_loop_init(&s->loop) != 0)
        err = error_set(error, ERR_IO,
                        "PostgreSQL: cannot create an event loop: too many open files, or out "
                        "of memory");
    if (err) {
        pg_options_fini(&s->where);
        return err;
    }
    CHECK(uv_timer_init(&s->loop, &s->timer) == 0); /* cannot fail */
    s->timer.data = s;
    return OK;
}

void pg_session_close(struct pg_session *s)
{
    pg_connection_close(s->connection);
    s->connection = NULL;
    pg_result_free(s->result);
    s->result = NULL;
    /* Runs the close callbacks, which free the handles of the connection. */
    (void)uv_run(&s->loop, UV_RUN_NOWAIT);
}

void pg_session_fini(struct pg_session *s)
{
    pg_session_close(s);
    uv_close((uv_handle_t *)&s->timer, NULL);
    (void)uv_run(&s->loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&s->loop) == 0);
    pg_options_fini(&s->where);
}

/* ---- running the loop ---- */

/* Runs the loop until `*done`, the connection is lost, or `deadline_ms` have passed (0: no deadline). */
static void run_until(struct pg_session *s, const bool *done, int64_t deadline_ms)
{
    const uint64_t first_ms = deadline_ms && deadline_ms < TICK_MS ? (uint64_t)deadline_ms : TICK_MS;
    s->is_late = false;
    s->started_ms = now_ms();
    s->late_at_ms = deadline_ms ? s->started_ms + (uint64_t)deadline_ms : UINT64_MAX;
    uv_update_time(&s->loop);
    CHECK(uv_timer_start(&s->timer, on_tick, first_ms, TICK_MS) == 0);
    while (!*done && !s->is_lost && !s->is_late)
        (void)uv_run(&s->loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&s->timer);
}

/* Closes a connection that is lost, late or out of memory, and sets the reason. */
static enum err drop(struct pg_session *s)
{
    const struct pg_host *host = &s->where.hosts[s->host];
    if (!s->is_lost && !s->is_out_of_memory) {
        s->failure = PG_FAILED_CONNECTION;
        const uint64_t now = now_ms(), end = now < s->late_at_ms ? now : s->late_at_ms;
        s->leaves_host = now >= s->late_at_ms;
        (void)snprintf(s->reason, sizeof s->reason, "%s:%s: no reply within %lld ms", host->name, host->port,
                       (long long)(end - s->started_ms));
    } else if (s->is_out_of_memory) {
        s->failure = PG_FAILED_CONNECTION;
        (void)snprintf(s->reason, sizeof s->reason, "out of memory");
    }
    pg_session_close(s);
    return s->is_out_of_memory ? ERR_NOMEM : ERR_IO;
}

/* Records why appending has failed: out of memory, or a lost connection. (While commands are appended to a
 * large batch, its first commands are already being sent, so the connection can be lost.) */
static void fail_append(struct pg_session *s)
{
    if (pg_connection_is_broken(s->connection))
        on_lost(s, PG_FAILED_CONNECTION, "the server has closed the connection");
    else
        s->is_out_of_memory = true;
}

void pg_session_prepare(struct pg_session *s, const char *name, const char *sql)
{
    if (!s->is_out_of_memory && !s->is_lost && !pg_connection_prepare(s->connection, name, sql))
        fail_append(s);
}

void pg_session_add(struct pg_session *s, const char *name, const char *sql, const struct pg_params *params)
{
    if (sql)
        pg_session_prepare(s, name, sql);
    if (!s->is_out_of_memory && !s->is_lost &&
        (params->bytes.failed || !pg_connection_query(s->connection, name, params)))
        fail_append(s);
}

enum err pg_session_run(struct pg_session *s, int64_t deadline_ms)
{
    CHECK(!waits_are_forbidden);
    pg_result_free(s->result);
    s->result = NULL;
    s->has_error = s->is_synced = false;
    s->ended = 0;
    if (!s->is_lost && !s->is_out_of_memory && !pg_connection_sync(s->connection))
        fail_append(s);
    if (s->is_lost || s->is_out_of_memory)
        return drop(s);
    pg_connection_flush(s->connection);
    run_until(s, &s->is_synced, deadline_ms);
    if (s->is_synced && !s->has_error && !s->result)
        on_lost(s, PG_FAILED_CONNECTION, "unexpected reply of the server");
    if (!s->is_synced || s->is_lost)
        return drop(s);
    return s->has_error ? pg_error_of(s->error.sqlstate) : OK;
}

bool pg_session_has_conflict(const struct pg_session *s)
{
    const char *state = s->error.sqlstate;
    return pg_session_is_open(s) && s->has_error &&
           (strcmp(state, "40P01") == 0 || strcmp(state, "40001") == 0);
}

const struct pg_result *pg_session_take_result(struct pg_session *s)
{
    const struct pg_result *result = s->result;
    s->result = NULL;
    return result;
}

/* ---- connecting and checking the server's identity ---- */

void pg_session_reject(struct pg_session *s, enum pg_failure failure, const char *reason)
{
    const struct pg_host *host = &s->where.hosts[s->host];
    s->failure = failure;
    (void)snprintf(s->reason, sizeof s->reason, "%s:%s: %s", host->name, host->port, reason);
    pg_session_close(s);
}

static bool fail_identity(struct pg_session *s, enum pg_failure failure, const char *reason)
{
    pg_session_reject(s, failure, reason);
    return false;
}

/* A role may lack the right to execute this function (42501, ERR_READONLY). Then the hosts of the URL
 * identify the cluster. */
#define SQL_CLUSTER "SELECT system_identifier FROM pg_control_system()"

static int64_t hash_hosts(const struct pg_options *where)
{
    uint64_t hash = 0;
    for (int i = 0; i < where->host_count; i++) {
        hash = hash_64(str_from_cstr(where->hosts[i].name), hash);
        hash = hash_64(str_from_cstr(where->hosts[i].port), hash);
    }
    return (int64_t)(hash | 1);
}

static bool check_timeline(struct pg_session *s, uint32_t timeline)
{
    struct pg_params none;
    int64_t cluster = PG_CLUSTER_UNKNOWN;
    pg_params_init(&none);
    pg_session_add(s, "", SQL_CLUSTER, &none);
    const enum err err = pg_session_run(s, PG_ANSWER_MS);
    if (!pg_session_is_open(s))
        return false;
    if (err == ERR_READONLY)
        cluster = hash_hosts(&s->where);
    else if (!err && pg_result_rows(s->result) == 1)
        cluster = pg_row_i64(&(struct pg_row){.result = s->result}, 0);
    if (timeline >= pg_timeline_record(cluster, timeline))
        return true;
    char reason[PG_FORMER_PRIMARY_REASON_MAX];
    pg_timeline_describe_former_primary(reason, timeline);
    return fail_identity(s, PG_FAILED_NOT_PRIMARY, reason);
}

/* Changes the settings of the backend. Then reads the identity twice, each time in a batch of its own: a
 * pooler in transaction mode may run the second batch on another backend, on which the statement is not
 * prepared. */
static bool check_identity(struct pg_session *s)
{
    struct pg_barrier identity = {0};
    struct pg_params none;
    enum pg_failure failure;
    const char *reason;
    int64_t backend = 0;
    pg_params_init(&none);
    pg_session_add(s, "", pg_server_settings_statement.sql, &none);
    for (int i = 0; i < 2; i++) {
        const struct pg_statement *q = &pg_identity_statement;
        pg_session_add(s, q->name, i == 0 ? q->sql : NULL, &none);
        enum err err = pg_session_run(s, PG_ANSWER_MS);
        if (!pg_session_is_open(s))
            return false;
        if (err) {
            const bool is_pooler = pg_barrier_is_pooler_error(s->error.sqlstate);
            return fail_identity(s, is_pooler ? PG_FAILED_POOLER : PG_FAILED_CONNECTION,
                                 is_pooler ? pg_pooler_reason : s->error.text);
        }
        if (!pg_barrier_read_identity(&identity, s->result, &failure, &reason))
            return fail_identity(s, failure, reason);
        if (i > 0 && identity.backend_pid != backend)
            return fail_identity(s, PG_FAILED_POOLER, pg_pooler_reason);
        backend = identity.backend_pid;
    }
    s->backend_pid = backend;
    return check_timeline(s, identity.incarnation.timeline);
}

static bool open_address(struct pg_session *s, const char *address)
{
    const struct pg_connection_events events = {
        .ready = on_ready, .got = on_got, .lost = on_lost, .ctx = s, .result_bytes_max = RESULT_BYTES_MAX};
    s->is_ready = s->is_lost = s->is_out_of_memory = false;
    pg_options_reload_password(&s->where);
    s->connection = pg_connection_open(&s->loop, &s->where, s->host, address, &events);
    s->is_out_of_memory = !s->connection;
    if (s->connection)
        run_until(s, &s->is_ready, s->where.connect_ms);
    if (s->is_ready)
        return check_identity(s);
    (void)drop(s);
    return false;
}

/* Tries the addresses of the host one after the other. If all of them fail, reports the most important
 * failure (enum pg_failure). On a machine without IPv6, the last address can be an unreachable IPv6 address,
 * although the server has refused the password at another one. */
static bool open_name(struct pg_session *s, const char *name)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    uv_getaddrinfo_t request;
    const int code = uv_getaddrinfo(&s->loop, &request, NULL, name, NULL, &hints);
    char reason[sizeof s->reason] = "", address[ADDRESS_MAX];
    enum pg_failure worst = PG_FAILED_CONNECTION;
    bool opened = false;
    if (code) {
        s->failure = PG_FAILED_CONNECTION;
        (void)snprintf(s->reason, sizeof s->reason, "cannot resolve %s: %s", name, uv_strerror(code));
        return false;
    }
    for (const struct addrinfo *a = request.addrinfo; a && !opened; a = a->ai_next) {
        if (uv_ip_name(a->ai_addr, address, sizeof address) != 0)
            continue;
        opened = open_address(s, address);
        if (!opened && (!*reason || s->failure > worst)) {
            worst = s->failure;
            memcpy(reason, s->reason, sizeof reason);
        }
    }
    uv_freeaddrinfo(request.addrinfo);
    if (opened)
        return true;
    s->failure = worst;
    memcpy(s->reason, reason, sizeof reason);
    return false;
}

bool pg_session_leave_host(struct pg_session *s)
{
    if (s->where.host_count < 2)
        return false;
    pg_session_close(s);
    s->leaves_host = true;
    return true;
}

static void use_next_host(struct pg_session *s)
{
    s->host = (s->host + 1) % s->where.host_count;
    s->leaves_host = false;
}

enum err pg_session_open(struct pg_session *s)
{
    char reasons[sizeof s->reason] = "";
    enum pg_failure worst = PG_FAILED_CONNECTION;
    CHECK(!s->connection && !waits_are_forbidden);
    if (s->leaves_host)
        use_next_host(s);
    for (int i = 0; i < s->where.host_count; i++) {
        const char *name = s->where.hosts[s->host].name;
        if (name[0] == '/' ? open_address(s, NULL) : open_name(s, name)) {
            s->leaves_host = false; /* an address of this host may have been late */
            return OK;
        }
        const size_t len = strlen(reasons), room = sizeof reasons - len;
        (void)snprintf(reasons + len, room, "%s%.*s", len ? "; " : "", (int)room, s->reason);
        if (s->failure > worst)
            worst = s->failure;
        use_next_host(s);
    }
    s->failure = worst;
    memcpy(s->reason, reasons, sizeof s->reason);
    return worst == PG_FAILED_NOT_PRIMARY ? ERR_READONLY : ERR_IO;
}
