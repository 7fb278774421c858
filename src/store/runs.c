/* Implements runs.h with the tables refresh_lease, refresh_runs and refresh_counts. */
#include "store/runs.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/rows.h"

#include <stdio.h>

/* --- the lease --- */

enum err store_read_lease(struct store *s, struct lease_row *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LEASE);
    enum err err = db_one(&s->db, q);
    if (err)
        return err == ERR_NOT_FOUND ? db_damaged(&s->db, "refresh_lease") : err;
    struct str holder = db_text(q, 1);
    out->fence = db_i64(q, 0);
    (void)snprintf(out->holder, sizeof out->holder, "%.*s", (int)holder.len, holder.p);
    out->taken_at = db_i64(q, 2);
    out->expires_at = db_i64(q, 3);
    db_reset(q);
    return OK;
}

enum err store_put_lease(struct store *s, const struct lease_row *lease)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LEASE_PUT);
    db_bind_i64(q, 1, lease->fence);
    db_bind_text(q, 2, str_from_cstr(lease->holder));
    db_bind_i64(q, 3, lease->taken_at);
    db_bind_i64(q, 4, lease->expires_at);
    return db_write(&s->db, q);
}

/* --- runs --- */

enum err store_insert_run(struct store *s, struct run_row *run)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_RUN_INSERT);
    db_bind_i64(q, 1, run->cause);
    db_bind_text(q, 2, run->holder);
    db_bind_i64(q, 3, run->started_at);
    return db_insert(&s->db, q, &run->row);
}

enum err store_finish_run(struct store *s, const struct run_row *run)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_RUN_FINISH);
    db_bind_i64(q, 1, run->row);
    db_bind_i64_or_null(q, 2, run->finished_at, TIME_NONE);
    db_bind_i64(q, 3, run->outcome);
    db_bind_text(q, 4, run->error);
    return db_write(&s->db, q);
}

enum err store_put_run_count(struct store *s, int64_t run_row, int source, int platform, const char *name,
                             int64_t value)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_RUN_COUNT_PUT);
    db_bind_i64(q, 1, run_row);
    db_bind_i64(q, 2, source);
    db_bind_i64(q, 3, platform);
    db_bind_text(q, 4, str_from_cstr(name));
    db_bind_i64(q, 5, value);
    return db_write(&s->db, q);
}

enum err store_abandon_runs(struct store *s)
{
    return db_write(&s->db, db_use(&s->db, QUERY_RUNS_ABANDON));
}

enum err store_prune_runs(struct store *s, int64_t newest_row)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_RUNS_PRUNE);
    db_bind_i64(q, 1, newest_row);
    return db_write(&s->db, q);
}

enum err store_last_complete_run(struct store *s, int64_t *started_at, int64_t *finished_at)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_RUN_LAST_COMPLETE);
    enum err err = db_one(&s->db, q);
    *started_at = *finished_at = TIME_NONE;
    if (err)
        return err == ERR_NOT_FOUND ? OK : err;
    *started_at = db_i64(q, 0);
    *finished_at = db_i64_or(q, 1, TIME_NONE);
    db_reset(q);
    return OK;
}

enum err store_list_runs(struct store *s, int limit, store_run_fn fn, void *ctx)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_RUNS);
    enum err err;
    db_bind_i64(q, 1, limit);
    while (db_row(&s->db, q, &err)) {
        const struct run_row run = {
            .row = db_i64(q, 0),
            .cause = (enum run_cause)db_i64(q, 1),
            .holder = db_text(q, 2),
            .started_at = db_i64(q, 3),
            .finished_at = db_i64_or(q, 4, TIME_NONE),
            .outcome = (int)db_i64_or(q, 5, RUN_IN_PROGRESS),
            .error = db_text(q, 6),
        };
        if (!fn(ctx, &run)) {
            db_reset(q);
            return OK;
        }
    }
    return err;
}

enum err store_list_run_counts(struct store *s, int64_t run_row, store_run_count_fn fn, void *ctx)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_RUN_COUNTS);
    enum err err;
    db_bind_i64(q, 1, run_row);
    while (db_row(&s->db, q, &err)) {
        const struct run_count count = {
            .source = (int)db_i64(q, 0),
            .platform = (int)db_i64(q, 1),
            .name = db_text(q, 2),
            .value = db_i64(q, 3),
        };
        if (!fn(ctx, &count)) {
            db_reset(q);
            return OK;
        }
    }
    return err;
}

/* --- videos to read --- */

enum err store_next_author(struct store *s, int64_t after, int64_t *author_row)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_AUTHOR_NEXT);
    db_bind_i64(q, 1, after);
    return db_one_i64(&s->db, q, author_row);
}

static void bind_live(struct sqlite3_stmt *q, int64_t author_row, int64_t posted_from, int64_t now)
{
    db_bind_i64(q, 1, author_row);
    db_bind_i64(q, 2, posted_from);
    db_bind_i64(q, 3, now);
}

enum err store_list_live(struct store *s, int64_t author_row, int64_t posted_from, int64_t now,
                         store_live_fn fn, void *ctx)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_VIDEOS_LIVE);
    struct video video;
    enum err err;
    bind_live(q, author_row, posted_from, now);
    while (db_row(&s->db, q, &err)) {
        bool good = row_video(q, 0, &video);
        if (good && fn(ctx, &video))
            continue;
        db_reset(q);
        return good ? OK : db_damaged(&s->db, "video");
    }
    return err;
}

enum err store_count_live(struct store *s, int64_t author_row, int64_t posted_from, int64_t now,
                          int64_t updated_before, int64_t *live, int64_t *stale)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_VIDEOS_COUNT_LIVE);
    bind_live(q, author_row, posted_from, now);
    db_bind_i64(q, 4, updated_before);
    enum err err = db_one(&s->db, q);
    if (err)
        return err;
    *live = db_i64(q, 0);
    *stale = db_i64(q, 1);
    db_reset(q);
    return OK;
}
