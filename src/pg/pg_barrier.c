/* The validity of the proof is counted from the time at which the barrier was sent, not from its
 * acknowledgment: the commit proves only that the server was the primary at some time between sending and
 * acknowledgment. */
#include "pg/pg_barrier.h"

#include "base/clock.h"

#include <stdlib.h>

/* pg_current_wal_lsn() fails during recovery, so the timeline of a standby is NULL. */
const struct pg_statement pg_identity_statement = {
    "vt_identity",
    "SELECT pg_is_in_recovery(), pg_postmaster_start_time(), CASE WHEN pg_is_in_recovery() THEN NULL "
    "ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END, "
    "current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') <> 'off' "
    "AND current_setting('synchronous_commit') <> 'local', pg_backend_pid()",
    true};

const struct pg_statement pg_barrier_statement = {
    "vt_barrier",
    "INSERT INTO barriers (process, n, at) VALUES ($1::text, 1, now()) "
    "ON CONFLICT (process) DO UPDATE SET n = barriers.n + 1, at = now() RETURNING pg_backend_pid()",
    false};

const char pg_pooler_reason[] = "the connection goes through a connection pooler in transaction mode; use "
                                "session mode (pool_mode = session) or connect to PostgreSQL directly";

bool pg_barrier_is_pooler_error(const char *sqlstate)
{
    return strcmp(sqlstate, "26000") == 0 || strcmp(sqlstate, "42P05") == 0;
}

void pg_barrier_reset(struct pg_barrier *b)
{
    *b = (struct pg_barrier){
        .acknowledged_ms = -1, .incarnation = b->incarnation, .is_synchronous = b->is_synchronous};
}

void pg_barrier_begin(struct pg_barrier *b, const char *process, struct pg_params *params)
{
    pg_params_init(params);
    pg_params_add_bytes(params, str_from_cstr(process));
    b->sent_ms = clock_connection_ms();
    b->in_flight = true;
}

static bool parse_timeline(struct str hex, uint32_t *out)
{
    char text[9], *end;
    if (hex.len != 8)
        return false;
    memcpy(text, hex.p, 8);
    text[8] = 0;
    *out = (uint32_t)strtoul(text, &end, 16);
    return *end == 0;
}

bool pg_barrier_read_identity(struct pg_barrier *b, const struct pg_result *result, enum pg_failure *failure,
                              const char **reason)
{
    struct pg_row row = {.result = result};
    *failure = PG_FAILED_CONNECTION;
    *reason = "unexpected reply of the server";
    if (pg_result_rows(result) != 1)
        return false;
    if (pg_row_bool(&row, 0) && !row.bad) {
        *failure = PG_FAILED_NOT_PRIMARY;
        *reason = "the PostgreSQL server is not the primary (in recovery)";
        return false;
    }
    b->incarnation.started_us = pg_row_i64(&row, 1);
    row.bad = !parse_timeline(pg_row_bytes(&row, 2), &b->incarnation.timeline) || row.bad;
    b->is_synchronous = pg_row_bool(&row, 3);
    b->backend_pid = pg_row_i64(&row, 4);
    return !row.bad;
}

bool pg_barrier_read(struct pg_barrier *b, const struct pg_result *result, enum pg_failure *failure,
                     const char **reason)
{
    struct pg_row row = {.result = result};
    const int64_t pid = pg_result_rows(result) == 1 ? pg_row_i64(&row, 0) : 0;
    *failure = PG_FAILED_CONNECTION;
    *reason = "unexpected reply of the server";
    if (pid <= 0)
        return false;
    *failure = PG_FAILED_POOLER;
    *reason = pg_pooler_reason;
    return pid == b->backend_pid;
}

void pg_barrier_acknowledge(struct pg_barrier *b)
{
    b->in_flight = false;
    b->acknowledged_ms = b->sent_ms;
    b->acknowledged_count++;
}

bool pg_barrier_is_valid(const struct pg_barrier *b)
{
    return b->acknowledged_ms >= 0 && clock_connection_ms() - b->acknowledged_ms < PG_STALE_MS;
}

bool pg_barrier_is_due(const struct pg_barrier *b)
{
    return !b->in_flight && clock_connection_ms() - b->sent_ms >= PG_BARRIER_MS;
}
