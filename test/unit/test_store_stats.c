/* Daily gains of an author's videos, in slices, against a simple model. */
#include "lib/random.h"
#include "lib/temp_db.h"

#include "base/clock.h"
#include "store/handle.h"

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
            v->recent.known = false; /* like a row written by an older version */
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

/* --- the model --- */

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
    bool returned[VIDEOS];
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
        assert_true(v->posted_at < w->last.posted_at ||
                    (v->posted_at == w->last.posted_at && uuid_cmp(&v->id, &w->last.id) < 0));
    assert_days(i, w, row->days, row->day_count);
    assert_true(row->day_count > 0);
    assert_int_equal(row->gained_before, gained_before(i, w->from));
    assert_int_equal(row->baseline, videos[i].baseline);
    assert_int_equal(row->first_reading_at, videos[i].first_reading_at);
    assert_true(str_eq(v->title, videos[i].title));
    assert_int_equal(!row->book.title.p, !videos[i].book_row);
    w->returned[i] = true;
    w->last = (struct video_position){.posted_at = v->posted_at, .id = v->id};
    w->rows++;
    return w->rows != w->stop_after;
}

static struct stats_query query_of(const struct walk *w, int limit)
{
    return (struct stats_query){
        .author_row = author.row,
        .from = date_of(TEST_DAY) + w->from,
        .to = date_of(TEST_DAY) + w->to,
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

/* The recent days in a row match the table `daily`, or are unknown until the next gain. */
static void recent_days_match_the_daily_table(void **state)
{
    (void)state;
    int known = 0, unknown = 0;
    for (int i = 0; i < VIDEOS; i++) {
        struct video v;
        assert_int_equal(store_get_video(t.w, &t.arena, videos[i].row, &v), OK);
        if (!v.recent.known) {
            unknown++;
            continue;
        }
        size_t n = v.recent.count;
        known += n > 1;
        for (int d = DAYS - 1; d >= 0; d--) {
            int32_t date = date_of(TEST_DAY) + d;
            if (!has_row[i][d] || (n < v.recent.count && date <= v.recent.days[v.recent.count - 1].date - 8))
                continue;
            assert_true(n > 0);
            n--;
            assert_int_equal(v.recent.days[n].date, date);
            assert_int_equal(v.recent.days[n].gained, gains[i][d]);
            assert_int_equal(v.recent.days[n].gained_total, gained_before(i, d + 1));
        }
        assert_int_equal(n, 0);
    }
    assert_true(known > VIDEOS / 4 && unknown > 0);
}

static bool count_days(void *ctx, const struct stats_video *row)
{
    *(size_t *)ctx += row->day_count;
    return true;
}

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

/* With an empty table `daily`, ranges that start up to seven days before the newest gain still have all
 * gains. */
static void last_week_is_read_without_the_daily_table(void **state)
{
    (void)state;
    struct video *v = &videos[0];
    test_begin(&t);
    assert_int_equal(
        sqlite3_exec(t.w->db.handle, "DELETE FROM daily; UPDATE videos SET recent = x''", NULL, NULL, NULL),
        SQLITE_OK);
    v->author_row = author.row;
    v->recent = (struct recent_days){.known = true};
    for (int d = 30; d <= 40; d++)
        add_reading(&t, v, TEST_DAY + d * DAY_MS, v->views + 1);
    assert_int_equal(sqlite3_exec(t.w->db.handle, "DELETE FROM daily", NULL, NULL, NULL), SQLITE_OK);
    test_commit(&t);
    assert_int_equal(days_from(33), 8);
    assert_int_equal(days_from(32), 0);
}

/* An import may change posted_at later. */
static void gains_survive_a_change_of_posted_at(void **state)
{
    (void)state;
    int i = 0;
    while (videos[i].author_row != author.row || videos[i].views == 0)
        i++;
    int64_t moves[] = {TEST_DAY - INT64_C(100) * DAY_MS, TEST_DAY + INT64_C(300) * DAY_MS};
    for (size_t m = 0; m < 2; m++) {
        struct walk w = {.from = 0, .to = DAYS};
        videos[i].posted_at = moves[m];
        test_begin(&t);
        assert_int_equal(store_update_video(t.w, &videos[i]), OK);
        test_commit(&t);
        struct stats_query q = query_of(&w, VIDEOS);
        walk(&q, &w);
        assert_true(w.returned[i]);
    }
}

static void stopped_slice_continues_after_the_last_video(void **state)
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

/* The video is found only for its author, and has the days of the range, if any. */
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

static void revision_comes_from_the_same_snapshot(void **state)
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
        cmocka_unit_test_setup_teardown(recent_days_match_the_daily_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(last_week_is_read_without_the_daily_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gains_survive_a_change_of_posted_at, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stopped_slice_continues_after_the_last_video, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_one_video_with_its_days, set_up, tear_down),
        cmocka_unit_test_setup_teardown(revision_comes_from_the_same_snapshot, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
