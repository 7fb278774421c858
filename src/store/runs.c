/* Implements runs.h with the tables refresh_lease, leases, refresh_runs and refresh_counts. */
#include "store/runs.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/row_read.h"
#include "store/rows.h"

#include <stdio.h>

/* --- leases --- */

/* Indexed by enum lease_kind. The lease of the refresh has its own table and therefore no name. */
static const char *const lease_names[] = {[LEASE_BACKUP] = "backup", [LEASE_WEBHOOKS] = "webhooks"};

enum err store_read_lease(struct store *s, enum lease_kind kind, struct lease_row *out)
{
    const bool named = kind != LEASE_REFRESH;
    struct sql_statement *q = sql_use(s->sql, named ? QUERY_NAMED_LEASE : QUERY_LEASE);
    if (named)
        sql_bind_text(q, 1, str_from_cstr(lease_names[kind]));
    enum err err = sql_one(s->sql, q);
    if (err == ERR_NOT_FOUND && named) { /* The first holder inserts the row. */
        *out = (struct lease_row){.fence = 0};
        return OK;
    }
    if (err)
        return err == ERR_NOT_FOUND ? sql_report_damage(s->sql, "refresh_lease") : err;
    struct str holder = sql_text(q, 1);
    out->fence = sql_i64(q, 0);
    (void)snprintf(out->holder, sizeof out->holder, "%.*s", (int)holder.len, holder.p);
    out->acquired_at = sql_i64(q, 2);
    out->expires_at = sql_i64(q, 3);
    sql_reset(q);
    return OK;
}

enum err store_put_lease(struct store *s, enum lease_kind kind, const struct lease_row *lease)
{
    const bool named = kind != LEASE_REFRESH;
    struct sql_statement *q = sql_use(s->sql, named ? QUERY_NAMED_LEASE_PUT : QUERY_LEASE_PUT);
    if (named)
        sql_bind_text(q, 5, str_from_cstr(lease_names[kind]));
    sql_bind_i64(q, 1, lease->fence);
    sql_bind_text(q, 2, str_from_cstr(lease->holder));
    sql_bind_i64(q, 3, lease->acquired_at);
    sql_bind_i64(q, 4, lease->expires_at);
    return sql_write(s->sql, q);
}

/* --- runs --- */

enum err store_insert_run(struct store *s, struct run_row *run)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_RUN_INSERT);
    sql_bind_i64(q, 1, run->cause);
    sql_bind_text(q, 2, run->holder);
    sql_bind_i64(q, 3, run->started_at);
    return sql_insert(s->sql, q, &run->row);
}

enum err store_finish_run(struct store *s, const struct run_row *run)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_RUN_FINISH);
    sql_bind_i64(q, 1, run->row);
    sql_bind_i64_or_null(q, 2, run->finished_at, TIME_NONE);
    sql_bind_i64(q, 3, run->outcome);
    sql_bind_text(q, 4, run->error);
    return sql_write(s->sql, q);
}

enum err store_put_run_count(struct store *s, int64_t run_row, int source, int platform, const char *name,
                             int64_t value)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_RUN_COUNT_PUT);
    sql_bind_i64(q, 1, run_row);
    sql_bind_i64(q, 2, source);
    sql_bind_i64(q, 3, platform);
    sql_bind_text(q, 4, str_from_cstr(name));
    sql_bind_i64(q, 5, value);
    return sql_write(s->sql, q);
}

enum err store_abandon_runs(struct store *s)
{
    return sql_write(s->sql, sql_use(s->sql, QUERY_RUNS_ABANDON));
}

enum err store_prune_runs(struct store *s, int64_t newest_row)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_RUNS_PRUNE);
    sql_bind_i64(q, 1, newest_row);
    return sql_write(s->sql, q);
}

struct complete_run_read {
    int64_t *started_at, *finished_at;
};

static bool on_complete_run(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct complete_run_read *r = ctx;
    (void)s;
    (void)err;
    *r->started_at = sql_i64(q, 0);
    *r->finished_at = sql_i64_or(q, 1, TIME_NONE);
    return false;
}

static const struct row_reader complete_run_reader = {.row = on_complete_run};

enum err store_get_last_complete_run(struct store *s, int64_t *started_at, int64_t *finished_at)
{
    struct complete_run_read r = {.started_at = started_at, .finished_at = finished_at};
    *started_at = *finished_at = TIME_NONE;
    return row_read_pass(s, s->sql, sql_use(s->sql, QUERY_RUN_LAST_COMPLETE), &complete_run_reader, &r);
}

enum next store_find_last_complete_run(struct store_read *read, int64_t *started_at, int64_t *finished_at)
{
    struct complete_run_read r = {.started_at = started_at, .finished_at = finished_at};
    *started_at = *finished_at = TIME_NONE;
    return row_read_run(read, row_read_use(read, QUERY_RUN_LAST_COMPLETE), &complete_run_reader, &r,
                        sizeof r);
}

enum err store_list_runs(struct store *s, int limit, store_run_fn fn, void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_RUNS);
    enum err err;
    sql_bind_i64(q, 1, limit);
    while (sql_row(s->sql, q, &err)) {
        const struct run_row run = {
            .row = sql_i64(q, 0),
            .cause = (enum run_cause)sql_i64(q, 1),
            .holder = sql_text(q, 2),
            .started_at = sql_i64(q, 3),
            .finished_at = sql_i64_or(q, 4, TIME_NONE),
            .outcome = (int)sql_i64_or(q, 5, RUN_IN_PROGRESS),
            .error = sql_text(q, 6),
        };
        if (!fn(ctx, &run)) {
            sql_reset(q);
            return OK;
        }
    }
    return err;
}

enum err store_list_run_counts(struct store *s, int64_t run_row, store_run_count_fn fn, void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_RUN_COUNTS);
    enum err err;
    sql_bind_i64(q, 1, run_row);
    while (sql_row(s->sql, q, &err)) {
        const struct run_count count = {
            .source = (int)sql_i64(q, 0),
            .platform = (int)sql_i64(q, 1),
            .name = sql_text(q, 2),
            .value = sql_i64(q, 3),
        };
        if (!fn(ctx, &count)) {
            sql_reset(q);
            return OK;
        }
    }
    return err;
}

/* --- live videos --- */

enum err store_find_next_author(struct store *s, int64_t after, int64_t *author_row)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_AUTHOR_NEXT);
    sql_bind_i64(q, 1, after);
    return sql_one_i64(s->sql, q, author_row);
}

static void bind_live(struct sql_statement *q, int64_t author_row, int64_t posted_from, int64_t now)
{
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, posted_from);
    sql_bind_i64(q, 3, now);
}

enum err store_list_live_videos(struct store *s, int64_t author_row, int64_t posted_from, int64_t now,
                                store_live_fn fn, void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_VIDEOS_LIVE);
    struct video video;
    enum err err;
    bind_live(q, author_row, posted_from, now);
    while (sql_row(s->sql, q, &err)) {
        bool good = row_to_video(q, 0, &video);
        if (good && fn(ctx, &video))
            continue;
        sql_reset(q);
        return good ? OK : sql_report_damage(s->sql, "video");
    }
    return err;
}

enum err store_count_live_videos(struct store *s, int64_t author_row, int64_t posted_from, int64_t now,
                                 int64_t updated_before, int64_t *live, int64_t *stale)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_VIDEOS_COUNT_LIVE);
    bind_live(q, author_row, posted_from, now);
    sql_bind_i64(q, 4, updated_before);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    *live = sql_i64(q, 0);
    *stale = sql_i64(q, 1);
    sql_reset(q);
    return OK;
}
