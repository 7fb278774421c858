/* Compares the daily gains of an author's videos, read in slices, with a simple model. */
#include "lib/random.h"
#include "lib/temp_db.h"

#include "base/clock.h"
#include "store/day_pack.h"
#include "store/sqlite/sqlite_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

enum { VIDEOS = 60, DAYS = 50 };

static struct temp_db t;
static struct author author, other;
static struct book book;
static struct video videos[VIDEOS];
static int64_t gains[VIDEOS][DAYS]; /* by day since TEST_DAY */
static bool has_row[VIDEOS][DAYS];

static void run_sql(char *sql)
{
    if (sqlite3_exec(sqlite_db_of(t.w)->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(sqlite_db_of(t.w)->handle));
    sqlite3_free(sql);
}

/* Runs `sql` with triggers, as the previous release does. Connections of this release have them disabled. */
static void run_sql_of_previous_release(char *sql)
{
    sqlite3 *db = sqlite_db_of(t.w)->handle;
    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, NULL), SQLITE_OK);
    run_sql(sql);
    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL), SQLITE_OK);
}

/* Adds the gain only to the table `daily`, as the previous release does. */
static void add_gain_to_table(const struct video *v, int32_t day, int64_t gained)
{
    run_sql(sqlite3_mprintf(
        "INSERT INTO daily (video_id, day, gained, gained_total) VALUES (%lld, %d, %lld, %lld + "
        "ifnull((SELECT gained_total FROM daily WHERE video_id = %lld ORDER BY day DESC LIMIT 1), 0)) "
        "ON CONFLICT (video_id, day) DO UPDATE SET gained = gained + excluded.gained, "
        "gained_total = excluded.gained_total",
        (long long)v->row, (int)day, (long long)gained, (long long)gained, (long long)v->row));
}

static void add_reading_by_previous_release(struct video *v, int64_t at, int64_t views)
{
    if (views > v->views)
        add_gain_to_table(v, date_of(at), views - v->views);
    run_sql(sqlite3_mprintf("UPDATE videos SET views = %lld, views_updated_at = %lld, recent = NULL, "
                            "first_reading_at = ifnull(first_reading_at, %lld) WHERE id = %lld",
                            (long long)views, (long long)at, (long long)at, (long long)v->row));
    struct video stored;
    assert_int_equal(store_get_video(t.w, &t.arena, v->row, &stored), OK);
    v->views = stored.views;
    v->updated_at = stored.updated_at;
    v->first_reading_at = stored.first_reading_at;
    v->posts[0].counts[COUNT_VIEWS] = views;
    v->days = stored.days;
}

/* Adds readings over some days after posting: several a day, and some without a gain. */
static void add_life(int i, int posted_day)
{
    struct video *v = &videos[i];
    int64_t at = v->posted_at + HOUR_MS;
    int day;
    for (uint64_t n = random_below(12); n; n--) {
        at += (int64_t)random_below((uint64_t)3 * DAY_MS);
        day = date_of(at) - date_of(TEST_DAY);
        if (day >= DAYS || day - posted_day > 30)
            return;
        int64_t views = v->views + (random_below(4) ? (int64_t)random_below(5000) : 0);
        gains[i][day] += views - v->views;
        has_row[i][day] |= views > v->views;
        if (random_below(3) == 0)
            add_reading_by_previous_release(v, at, views);
        else
            add_reading(&t, v, at, views);
    }
}

static int set_up(void **state)
{
    (void)state;
    random_state = 0x7654321;
    memset(gains, 0, sizeof gains);
    memset(has_row, 0, sizeof has_row);
    temp_db_init(&t);
    test_begin(&t);
    author = add_author(&t, 1);
    other = add_author(&t, 2);
    book = add_book(&t, &author, 1, TEST_DAY);
    for (int i = 0; i < VIDEOS; i++) {
        int posted_day = (int)random_below(20);
        const struct author *owner = random_below(6) ? &author : &other;
        int64_t book_row = owner == &author && random_below(2) ? book.row : 0;
        videos[i] = add_video(&t, owner, book_row, (uint64_t)i * 37 % VIDEOS,
                              TEST_DAY + (int64_t)posted_day * DAY_MS);
        add_life(i, posted_day);
    }
    test_commit(&t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_db_fini(&t);
    return 0;
}

/* --- expected sums, from the data in memory --- */

static int64_t gained_before(int i, int from)
{
    int64_t sum = 0;
    for (int d = 0; d < from && d < DAYS; d++)
        sum += gains[i][d];
    return sum;
}

static bool has_days(int i, int from, int to)
{
    for (int d = from; d <= to; d++)
        if (d >= 0 && d < DAYS && has_row[i][d])
            return true;
    return false;
}

static int find(const struct uuid *id)
{
    for (int i = 0; i < VIDEOS; i++)
        if (uuid_cmp(&videos[i].id, id) == 0)
            return i;
    fail_msg("unexpected video");
    return -1;
}

struct walk {
    int from, to; /* days since TEST_DAY */
    bool for_totals, returned[VIDEOS];
    int rows, stop_after;
    struct video_position last;
};

static void assert_days(int i, const struct walk *w, const struct day_gain *days, size_t day_count)
{
    int64_t total = gained_before(i, w->from);
    size_t n = 0;
    for (int d = w->from; d <= w->to && d < DAYS; d++) {
        if (d < 0 || !has_row[i][d])
            continue;
        total += gains[i][d];
        assert_true(n < day_count);
        assert_int_equal(days[n].date, date_of(TEST_DAY) + d);
        assert_int_equal(days[n].gained, gains[i][d]);
        assert_int_equal(days[n].gained_total, total);
        n++;
    }
    assert_int_equal(n, day_count);
}

static bool on_stats(void *ctx, const struct stats_video *row)
{
    struct walk *w = ctx;
    const struct video_ref *v = &row->video;
    int i = find(&v->id);
    assert_false(w->returned[i]);
    if (w->rows > 0)
        assert_true(v->posted_at < w->last.value ||
                    (v->posted_at == w->last.value && uuid_cmp(&v->id, &w->last.id) < 0));
    assert_days(i, w, row->days, row->day_count);
    assert_true(row->day_count > 0 || w->for_totals);
    assert_int_equal(row->gained_before, gained_before(i, w->from));
    assert_int_equal(row->baseline, videos[i].baseline);
    assert_int_equal(row->first_reading_at, videos[i].first_reading_at);
    assert_true(str_eq(v->title, videos[i].title));
    assert_int_equal(!row->book.title.p, !videos[i].book_row || w->for_totals);
    w->returned[i] = true;
    w->last = (struct video_position){.value = v->posted_at, .id = v->id};
    w->rows++;
    return w->rows != w->stop_after;
}

static struct stats_query query_of(const struct walk *w, int limit)
{
    return (struct stats_query){
        .author_row = author.row,
        .from = date_of(TEST_DAY) + w->from,
        .to = date_of(TEST_DAY) + w->to,
        .for_totals = w->for_totals,
        .limit = limit,
    };
}

/* Reads all slices and returns their number. */
static int walk(struct stats_query *q, struct walk *w)
{
    struct stats_progress progress;
    int slices = 0;
    do {
        struct store_read read = temp_db_read(&t);
        assert_int_equal(store_list_stats(&read, q, on_stats, w, &progress), NEXT_MORE);
        assert_int_equal(read.err, OK);
        assert_true(progress.author_rev >= 1);
        q->has_after = true;
        q->after = progress.next;
        slices++;
    } while (progress.more);
    return slices;
}

static int videos_of(const struct author *a, int64_t book_row)
{
    int n = 0;
    for (int i = 0; i < VIDEOS; i++)
        n += videos[i].author_row == a->row && (!book_row || videos[i].book_row == book_row);
    return n;
}

static void every_range_matches_the_model(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct walk w = {.from = (int)random_below(60) - 5};
        w.to = w.from + (int)random_below(20);
        int limit = 1 + (int)random_below(2 * VIDEOS);
        struct stats_query q = query_of(&w, limit);
        if (random_below(2))
            q.book_row = book.row;
        int slices = walk(&q, &w);
        int looked_at = videos_of(&author, q.book_row);
        assert_int_equal(slices, looked_at ? (looked_at + limit - 1) / limit : 1);
        for (int i = 0; i < VIDEOS; i++) {
            bool expected = videos[i].author_row == author.row &&
                            (!q.book_row || videos[i].book_row == q.book_row) && has_days(i, w.from, w.to);
            assert_int_equal(w.returned[i], expected);
        }
    }
}

/* Videos without a gain in the range come without days, but with the sum of their gains before the range. */
static void every_video_with_a_reading_is_listed_on_request(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct walk w = {.for_totals = true, .from = (int)random_below(60) - 5};
        w.to = w.from + (int)random_below(20);
        struct stats_query q = query_of(&w, 1 + (int)random_below(2 * VIDEOS));
        (void)walk(&q, &w);
        for (int i = 0; i < VIDEOS; i++)
            assert_int_equal(w.returned[i],
                             videos[i].author_row == author.row && videos[i].first_reading_at != TIME_NONE);
    }
}

/* The column `days` of a video lacks the gains that the previous release has added last. The other tests are
 * only meaningful if there are such videos. */
static void random_data_include_videos_last_written_by_the_previous_release(void **state)
{
    (void)state;
    int valid = 0, stale = 0;
    for (int i = 0; i < VIDEOS; i++) {
        sqlite3_stmt *q;
        int64_t total;
        assert_int_equal(sqlite3_prepare_v2(sqlite_db_of(t.w)->handle,
                                            "SELECT days FROM videos WHERE id = ?1", -1, &q, NULL),
                         SQLITE_OK);
        sqlite3_bind_int64(q, 1, videos[i].row);
        assert_int_equal(sqlite3_step(q), SQLITE_ROW);
        struct str days = str_make(sqlite3_column_blob(q, 0), (size_t)sqlite3_column_bytes(q, 0));
        assert_true(days_total(days, &total));
        *(total == videos[i].views ? &valid : &stale) += videos[i].views > 0;
        sqlite3_finalize(q);
    }
    assert_true(valid > VIDEOS / 4 && stale > 5);
}

static bool count_days(void *ctx, const struct stats_video *row)
{
    *(size_t *)ctx += row->day_count;
    return true;
}

static bool copy_gains(void *ctx, const struct stats_video *row)
{
    int64_t *gained = ctx;
    for (size_t i = 0; i < row->day_count; i++)
        gained[row->days[i].date - date_of(TEST_DAY)] = row->days[i].gained;
    return true;
}

static bool on_video_days(void *ctx, const struct video_days *row);

static size_t days_from(int from)
{
    struct walk w = {.from = from, .to = DAYS};
    struct stats_query q = query_of(&w, VIDEOS);
    struct store_read read = temp_db_read(&t);
    struct stats_progress progress;
    size_t days = 0;
    store_list_stats(&read, &q, count_days, &days, &progress);
    assert_int_equal(read.err, OK);
    return days;
}

/* Only the previous release reads the table `daily`, so the test deletes its rows. */
static void days_are_read_without_the_daily_table(void **state)
{
    (void)state;
    struct video v;
    test_begin(&t);
    run_sql(sqlite3_mprintf("DELETE FROM daily; UPDATE videos SET views = 0, days = x''"));
    assert_int_equal(store_get_video(t.w, &t.arena, videos[0].row, &v), OK);
    for (int d = 0; d <= 40; d++)
        add_reading(&t, &v, TEST_DAY + d * DAY_MS, v.views + 1);
    run_sql(sqlite3_mprintf(
        "UPDATE videos SET author_id = %lld WHERE id = %lld; DELETE FROM daily WHERE day < %d",
        (long long)author.row, (long long)v.row, (int)date_of(TEST_DAY) - 100));
    run_sql(sqlite3_mprintf("DELETE FROM daily"));
    test_commit(&t);
    assert_int_equal(days_from(0), 41);
    assert_int_equal(days_from(33), 8);
}

/* Adds a gain of 10 on each of three days. Then the previous release corrects the third day with `sql`, and
 * adds on the fourth day what the correction has removed, so that the sum stays the same. */
static void assert_correction_is_noticed(const char *sql, const int64_t expected[4])
{
    const int day = date_of(TEST_DAY);
    struct video v;
    test_begin(&t);
    run_sql(sqlite3_mprintf("DELETE FROM daily; UPDATE videos SET views = 0, days = x'', author_id = %lld",
                            (long long)author.row));
    assert_int_equal(store_get_video(t.w, &t.arena, videos[0].row, &v), OK);
    for (int d = 0; d < 3; d++)
        add_reading(&t, &v, TEST_DAY + d * DAY_MS, v.views + 10);
    run_sql_of_previous_release(sqlite3_mprintf(sql, day + 2));
    add_gain_to_table(&v, day + 3, expected[3]);
    test_commit(&t);
    struct walk w = {.from = 0, .to = DAYS};
    struct stats_query q = query_of(&w, VIDEOS);
    struct store_read read = temp_db_read(&t);
    struct stats_progress progress;
    int64_t gained[4] = {0};
    store_list_stats(&read, &q, copy_gains, gained, &progress);
    assert_int_equal(read.err, OK);
    for (int d = 0; d < 4; d++)
        assert_int_equal(gained[d], expected[d]);
    assert_int_equal(store_get_video(t.w, &t.arena, v.row, &v), OK);
    struct day_scan scan;
    struct day_gain newest;
    day_scan_begin(&scan, v.days);
    assert_true(day_scan_next(&scan, &newest));
    assert_int_equal(newest.gained, expected[3]);
}

static void correction_by_the_previous_release_is_noticed(void **state)
{
    (void)state;
    assert_correction_is_noticed("UPDATE daily SET gained = 6, gained_total = 26 WHERE day = %d",
                                 (const int64_t[]){10, 10, 6, 4});
}

static void day_deleted_by_the_previous_release_is_noticed(void **state)
{
    (void)state;
    assert_correction_is_noticed("DELETE FROM daily WHERE day = %d", (const int64_t[]){10, 10, 0, 10});
}

static void damaged_days_are_reported(void **state)
{
    (void)state;
    struct video v;
    test_begin(&t);
    run_sql(sqlite3_mprintf("UPDATE videos SET days = x'02' WHERE id = %lld", (long long)videos[0].row));
    assert_int_equal(store_get_video(t.w, &t.arena, videos[0].row, &v), ERR_CORRUPT);
    run_sql(
        sqlite3_mprintf("UPDATE videos SET days = x'02', first_reading_at = 1, views_updated_at = 1 << 60, "
                        "author_id = %lld",
                        (long long)author.row));
    test_commit(&t);
    struct walk w = {.from = 0, .to = DAYS};
    struct stats_query q = query_of(&w, VIDEOS);
    struct store_read read = temp_db_read(&t);
    struct stats_progress progress;
    store_list_stats(&read, &q, on_stats, &w, &progress);
    assert_int_equal(read.err, ERR_CORRUPT);
    assert_int_equal(store_read_video_days(&read, author.row, &videos[0].id, 0, 1, on_video_days, &w),
                     NEXT_MORE);
    assert_int_equal(read.err, ERR_CORRUPT);
}

/* An import may change posted_at after the video has gains; the gains stay. */
static void gains_survive_a_change_of_posted_at(void **state)
{
    (void)state;
    int i = 0;
    while (videos[i].author_row != author.row || videos[i].views == 0)
        i++;
    int64_t moves[] = {TEST_DAY - INT64_C(100) * DAY_MS, TEST_DAY + INT64_C(300) * DAY_MS};
    for (size_t m = 0; m < 2; m++) {
        struct walk w = {.from = 0, .to = DAYS};
        const struct video old = videos[i];
        videos[i].posted_at = moves[m];
        test_begin(&t);
        assert_int_equal(store_update_video(t.w, &old, &videos[i]), OK);
        test_commit(&t);
        struct stats_query q = query_of(&w, VIDEOS);
        walk(&q, &w);
        assert_true(w.returned[i]);
    }
}

static void slice_after_a_stopped_one_begins_with_the_next_video(void **state)
{
    (void)state;
    struct walk whole = {.from = 0, .to = DAYS}, stopped = {.from = 0, .to = DAYS, .stop_after = 5};
    struct stats_query q = query_of(&whole, VIDEOS);
    walk(&q, &whole);
    struct store_read read = temp_db_read(&t);
    struct stats_progress progress;
    q = query_of(&stopped, VIDEOS);
    store_list_stats(&read, &q, on_stats, &stopped, &progress);
    assert_int_equal(stopped.rows, 5);
    assert_true(progress.more);
    q.has_after = true;
    q.after = progress.next;
    stopped.stop_after = 0;
    walk(&q, &stopped);
    assert_int_equal(stopped.rows, whole.rows);
}

static bool on_video_days(void *ctx, const struct video_days *row)
{
    struct walk *w = ctx;
    int i = find(&row->video->id);
    assert_days(i, w, row->days, row->day_count);
    assert_int_equal(row->video->row, videos[i].row);
    assert_int_equal(!row->book.title.p, !videos[i].book_row);
    w->returned[i] = true;
    w->rows++;
    return true;
}

/* The video is found only for its author. It comes with its days in the range, which may be none. */
static void reads_one_video_with_its_days(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct store_read read = temp_db_read(&t);
        struct walk w = {.from = (int)random_below(60) - 5};
        int i = (int)random_below(VIDEOS);
        w.to = w.from + (int)random_below(60);
        int32_t from = date_of(TEST_DAY) + w.from, to = date_of(TEST_DAY) + w.to;
        assert_int_equal(store_read_video_days(&read, author.row, &videos[i].id, from, to, on_video_days, &w),
                         NEXT_MORE);
        bool own = videos[i].author_row == author.row;
        assert_int_equal(read.err, own ? OK : ERR_NOT_FOUND);
        assert_int_equal(w.rows, own);
        assert_int_equal(w.returned[i], own);
    }
}

static void slice_comes_with_the_current_revision_of_the_author(void **state)
{
    (void)state;
    struct walk w = {.from = 0, .to = 1};
    struct stats_query q = query_of(&w, 1);
    struct store_read read = temp_db_read(&t);
    struct stats_progress a, c;
    store_list_stats(&read, &q, on_stats, &w, &a);
    test_begin(&t);
    assert_int_equal(store_touch_author(t.w, author.row, TIME_NONE), OK);
    test_commit(&t);
    w = (struct walk){.from = 0, .to = 1};
    store_list_stats(&read, &q, on_stats, &w, &c);
    assert_int_equal(c.author_rev, a.author_rev + 1);
    q.author_row = 999;
    store_list_stats(&read, &q, on_stats, &w, &c);
    assert_int_equal(read.err, ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_range_matches_the_model, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_video_with_a_reading_is_listed_on_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_data_include_videos_last_written_by_the_previous_release,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(days_are_read_without_the_daily_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(correction_by_the_previous_release_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(day_deleted_by_the_previous_release_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_days_are_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gains_survive_a_change_of_posted_at, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slice_after_a_stopped_one_begins_with_the_next_video, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(reads_one_video_with_its_days, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slice_comes_with_the_current_revision_of_the_author, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
