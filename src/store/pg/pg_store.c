/* Opens and closes a PostgreSQL store. */
#include "store/pg/pg_store.h"

#include "base/check.h"
#include "base/clock.h"
#include "store/pg/pg_plan.h"
#include "store/pg/pg_replace.h"
#include "store/pg/pg_schema.h"
#include "store/pg/pg_server_load.h"

#define SQL_CLOCK "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"

static enum err open_links(struct pg_store *p, const struct store_options *o, struct error *error)
{
    const enum err err = pg_reads_open(&p->reads, o, error);
    if (err)
        return err;
    p->store.driver = &p->reads.driver;
    return pg_heads_open(&p->heads, &p->store, o, error);
}

static enum err open_database(struct pg_store *p, const struct store_options *o, struct error *error)
{
    struct pg_schema schema;
    enum err err = pg_sql_open(&p->db, o->url, o->password_file, o->mode == STORE_READ, error);
    if (err)
        return err;
    p->is_open = true;
    p->busy_timeout_ms = o->busy_timeout_ms;
    err = pg_schema_read(&p->db.session, &schema, error);
    if (!err)
        err = pg_schema_check(&schema, error);
    if (!err && o->mode == STORE_WRITE)
        err = pg_schema_check_writable(&schema, error);
    if (err)
        return err;
    err = store_load(&p->store);
    if (err)
        return error_set(error, err, "database %s: %s", schema.database, err_name(err));
    return o->loop ? open_links(p, o, error) : OK;
}

static enum err pg_open(struct store **out, const struct store_options *options, struct error *error)
{
    struct pg_store *opened = xcalloc(1, sizeof *opened);
    struct store *s = &opened->store;
    store_init(s, &store_pg_engine, &opened->db.sql);
    enum err err = open_database(opened, options, error);
    if (err) {
        store_close(s);
        return err;
    }
    *out = s;
    return OK;
}

static void pg_close(struct store *s)
{
    struct pg_store *p = (struct pg_store *)s;
    pg_reads_close(&p->reads);
    pg_heads_close(p->heads);
    if (p->is_open)
        pg_sql_close(pg_sql_of_store(s));
}

static enum err begin(struct store *s)
{
    return pg_sql_begin(pg_sql_of_store(s), ((struct pg_store *)s)->busy_timeout_ms);
}

static enum err begin_snapshot(struct store *s)
{
    return pg_sql_begin_snapshot(pg_sql_of_store(s));
}

static enum err commit(struct store *s)
{
    pg_ahead_clear(&((struct pg_store *)s)->ahead);
    const enum err err = pg_sql_commit(pg_sql_of_store(s));
    if (!err)
        pg_plan_log_slow(pg_sql_of_store(s));
    return err;
}

static void rollback(struct store *s)
{
    pg_ahead_clear(&((struct pg_store *)s)->ahead);
    pg_sql_rollback(pg_sql_of_store(s));
}

static bool has_conflict(const struct store *s)
{
    return ((const struct pg_store *)s)->db.has_conflict;
}

/* clock_timestamp() is the time of the statement, unlike now(), which is that of the transaction. A fake
 * clock takes precedence, because it is the same for all processes of a test, and unrelated to the server's
 * clock. */
static enum err read_clock(struct store *s, int64_t *now_ms)
{
    const struct pg_result *result = NULL;
    struct pg_params none;
    *now_ms = clock_wall_ms();
    if (clock_wall_is_fake())
        return OK;
    pg_params_init(&none);
    const enum err err = pg_sql_read(pg_sql_of_store(s), "clock", SQL_CLOCK, &none, PG_STATEMENT_MS, &result);
    if (err)
        return err;
    struct pg_row row = {.result = result};
    *now_ms = pg_row_i64(&row, 0);
    pg_result_free(result);
    return row.bad ? sql_report_damage(s->sql, "clock") : OK;
}

static bool has_changed(struct store *s, uint64_t *seen)
{
    return pg_sql_has_changed(pg_sql_of_store(s), seen);
}

static enum err load_videos(struct store *s, const int64_t *video_rows, size_t needed, size_t count)
{
    return pg_ahead_load_videos(&((struct pg_store *)s)->ahead, pg_sql_of_store(s), video_rows, needed,
                                count);
}

static struct sql_statement *take_loaded_video(struct store *s, int64_t video_row)
{
    return pg_ahead_take_video(&((struct pg_store *)s)->ahead, video_row);
}

static enum err find_posts(struct store *s, const struct post_key *keys, size_t count, struct post_owner *out)
{
    return pg_ahead_find_posts(pg_sql_of_store(s), keys, count, out);
}

/* Precondition: the store has links, and read->wait is not NULL. */
static enum next resolve_key(struct store_read *read, const uint8_t hash[KEY_HASH_LEN],
                             struct key_owner *owner)
{
    return pg_heads_resolve(((struct pg_store *)read->store)->heads, read, hash, owner);
}

static enum next find_changes(struct store_read *read, struct list *waiting, struct list *changed)
{
    return pg_heads_find_changes(((struct pg_store *)read->store)->heads, read, waiting, changed);
}

static enum err check_replaceable(struct store *s, struct error *error)
{
    return pg_replace_check_replaceable(pg_sql_of_store(s), error);
}

static enum err check_not_served(struct store *s, struct error *error)
{
    return pg_replace_check_not_served(pg_sql_of_store(s), error);
}

static enum err clear(struct store *s, struct error *error)
{
    return pg_replace_clear(pg_sql_of_store(s), error);
}

/* Reports the state of the use of links (enum pg_link_use) of which no link is up, if there is one. Adds up
 * the numbers of all links. */
static void get_server_status(const struct store *s, struct store_server_status *out)
{
    const struct pg_store *p = (const struct pg_store *)s;
    CHECK(p->heads);
    const struct pg_status heads = pg_heads_get_status(p->heads), pages = pg_reads_get_status(&p->reads);
    const struct pg_status *shown = pages.state == PG_UP ? &heads : &pages;
    *out = (struct store_server_status){
        .is_up = heads.state == PG_UP && pages.state == PG_UP,
        .state = pg_link_state_name(shown->state),
        .reason = shown->reason,
        .held = heads.held + pages.held,
        .in_flight = heads.in_flight + pages.in_flight,
        .barrier_age_ms = shown->barrier_age_ms,
        .round_trips = pg_heads_get_counts(p->heads).batches + pg_reads_count_batches(&p->reads),
    };
}

static enum err read_server_load(struct store *s, struct store_server_load *out)
{
    return pg_server_load_read(pg_sql_of_store(s), out);
}

/* Does nothing: PostgreSQL's vacuum removes the deleted rows. */
static enum err prepare_erasure(struct store *s)
{
    (void)s;
    return OK;
}

static enum err share_import_lock(struct store *s)
{
    return pg_sql_share_import_lock(pg_sql_of_store(s));
}

static enum err try_import_lock(struct store *s, bool *acquired)
{
    return pg_sql_try_import_lock(pg_sql_of_store(s), acquired);
}

static void release_import_lock(struct store *s)
{
    pg_sql_release_import_lock(pg_sql_of_store(s));
}

const struct store_engine store_pg_engine = {
    .open = pg_open,
    .close = pg_close,
    .begin = begin,
    .begin_snapshot = begin_snapshot,
    .commit = commit,
    .rollback = rollback,
    .has_conflict = has_conflict,
    .read_clock = read_clock,
    .has_changed = has_changed,
    .read_batch = 1000,
    .load_videos = load_videos,
    .take_loaded_video = take_loaded_video,
    .find_posts = find_posts,
    .resolve_key = resolve_key,
    .find_changes = find_changes,
    .prepare_erasure = prepare_erasure,
    .check_replaceable = check_replaceable,
    .check_not_served = check_not_served,
    .clear = clear,
    .get_server_status = get_server_status,
    .read_server_load = read_server_load,
    .share_import_lock = share_import_lock,
    .try_import_lock = try_import_lock,
    .release_import_lock = release_import_lock,
};
