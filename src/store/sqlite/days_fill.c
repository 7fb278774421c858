/* Fills the column videos.days. meta.days_filled_to is the row id of the last video that has been examined,
 * or FILLED_ALL. */
#include "store/sqlite/days_fill.h"

#include "base/log.h"
#include "base/seam.h"
#include "store/day_pack.h"
#include "store/sqlite/db.h"
#include "store/sqlite/diagnosis.h"
#include "store/sqlite/sqlite_queries.h"
#include "store/stored_days.h"
#include "store/write.h"

enum {
    SLICE_VIDEOS = 2000,
    SLICE_TIMEOUT_MS = 30000,
    ARENA_BYTES = 64 * 1024,
};
#define FILLED_ALL    INT64_MAX
#define DAYS_POSITION STR("days_filled_to")

struct days_slice {
    VEC(struct video) videos; /* videos to fill; only the members that stored_days_of() reads are set */
    int64_t from, to;         /* row ids above `from`, up to `to`; in the last slice, `to` is FILLED_ALL */
    size_t examined;
};

enum err days_fill_is_pending(struct db *db, bool *is_pending)
{
    int64_t version, filled_to = FILLED_ALL;
    enum err err = db_exec_i64(db, SQL_USER_VERSION, &version);
    if (!err && version >= DAYS_MIGRATION)
        err = db_exec_i64(db, SQL_DAYS_FILLED_TO, &filled_to);
    *is_pending = filled_to != FILLED_ALL;
    return err;
}

static enum err read_position(struct store *s, int64_t *position)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_META);
    sql_bind_text(q, 1, DAYS_POSITION);
    *position = 0;
    enum err err = sql_one_i64(s->sql, q, position);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err write_position(struct store *s, int64_t position)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_META_PUT);
    sql_bind_text(q, 1, DAYS_POSITION);
    sql_bind_i64(q, 2, position);
    return sql_write(s->sql, q);
}

/* Collects the videos of the slice whose column is not valid. */
static enum err list_slice(struct store *s, struct days_slice *slice)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_DAYS_OF_VIDEOS);
    enum err err;
    sql_bind_i64(q, 1, slice->from);
    sql_bind_i64(q, 2, SLICE_VIDEOS);
    slice->videos.count = slice->examined = 0;
    while (sql_row(s->sql, q, &err)) {
        const struct video video = {
            .row = sql_i64(q, 0), .views = sql_i64(q, 1), .baseline = sql_i64(q, 2), .days = STR("")};
        int64_t total;
        slice->to = video.row;
        slice->examined++;
        if (!days_total(sql_text(q, 3), &total) || total != video.views - video.baseline)
            *VEC_ADD(&slice->videos) = video;
    }
    if (slice->examined < SLICE_VIDEOS)
        slice->to = FILLED_ALL;
    return err;
}

static enum err fill_video(struct store *s, struct arena *a, struct video *video)
{
    const struct stored_days days = stored_days_of(video);
    int64_t total = 0;
    enum err err = stored_days_read_all(s, &days);
    if (!err)
        err = stored_days_pack(s, a, video);
    if (err && err != ERR_CORRUPT)
        return err;
    if (err || !days_total(video->days, &total) || total != days.total) {
        log_warn("migration 018: the daily gains of the video with row id %lld do not add up to its views "
                 "minus its baseline",
                 (long long)video->row);
        return OK;
    }
    struct sql_statement *q = sql_use(s->sql, QUERY_VIDEO_SET_DAYS);
    sql_bind_i64(q, 1, video->row);
    sql_bind_blob(q, 2, video->days.p, video->days.len);
    return sql_update(s->sql, q);
}

/* Fills the next slice in the open transaction, and stores the new position. */
static enum err fill_slice(struct store *s, struct arena *a, struct days_slice *slice)
{
    enum err err = read_position(s, &slice->from);
    if (err || slice->from == FILLED_ALL) {
        slice->to = FILLED_ALL;
        return err;
    }
    err = list_slice(s, slice);
    for (size_t i = 0; i < slice->videos.count && !err; i++) {
        arena_reset(a);
        err = fill_video(s, a, &slice->videos.items[i]);
    }
    return err ? err : write_position(s, slice->to);
}

static enum err fill_and_commit(struct store *s, struct arena *a, struct days_slice *slice)
{
    enum err err = store_begin(s);
    if (err)
        return err;
    err = fill_slice(s, a, slice);
    if (!err)
        return store_commit(s);
    store_rollback(s);
    return err;
}

static void report(const struct migration_observer *observer, bool is_committed)
{
    if (observer)
        observer->on_migration(observer->ctx, &schema_migrations[DAYS_MIGRATION - 1], is_committed);
}

enum err days_fill(const char *path, const struct migration_observer *observer, struct error *error)
{
    const struct store_options options = {
        .path = path, .mode = STORE_WRITE, .busy_timeout_ms = SLICE_TIMEOUT_MS};
    struct days_slice slice = {.to = 0};
    struct arena arena;
    struct store *s;
    enum err err = store_open(&s, &options, error);
    if (err)
        return err;
    arena_init(&arena, ARENA_BYTES);
    while (!err && slice.to != FILLED_ALL) {
        report(observer, false);
        err = fill_and_commit(s, &arena, &slice);
        seam_kill_point();
    }
    VEC_FREE(&slice.videos);
    arena_fini(&arena);
    store_close(s);
    if (err)
        return diagnose_failure(err, path, error);
    report(observer, true);
    return OK;
}
