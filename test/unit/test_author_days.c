/* Tests store/author_days.h: the gains of an author per day and platform. */
#include "lib/random.h"
#include "lib/temp_db.h"

#include "store/author_days.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS_MAX = 64, DAYS = 9 };

static struct temp_db t;
static struct author author, other;
static struct author_day rows[ROWS_MAX];
static size_t row_count;

static int set_up(void **state)
{
    (void)state;
    random_state = 0x1357;
    temp_db_init(&t);
    test_begin(&t);
    author = add_author(&t, 1);
    other = add_author(&t, 2);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_db_fini(&t);
    return 0;
}

static void add(int32_t day, enum platform platform, int64_t gained)
{
    assert_int_equal(store_add_platform_gain(t.w, author.row, day, platform, gained), OK);
}

static void on_day(void *ctx, const struct author_day *day)
{
    (void)ctx;
    assert_true(row_count < ROWS_MAX);
    rows[row_count++] = *day;
}

/* Reads all rows up to `to` in slices of `limit`. Returns the number of slices. */
static int list(int32_t to, int limit)
{
    struct store_read read = {
        .store = t.w}; /* the connection with the open transaction, so that the read sees its changes */
    struct author_days_query q = {
        .author_row = author.row, .to = to, .after = {.day = INT64_MIN, .platform = -1}, .limit = limit};
    struct author_days_progress progress;
    int slices = 0;
    row_count = 0;
    do {
        assert_int_equal(store_list_author_days(&read, &q, on_day, NULL, &progress), NEXT_MORE);
        assert_int_equal(read.err, OK);
        assert_int_equal(progress.author_rev, author.rev);
        q.after = progress.next;
        slices++;
    } while (progress.more);
    return slices;
}

static int64_t gained_on(int32_t day, enum platform platform)
{
    (void)list(INT32_MAX, ROWS_MAX);
    for (size_t i = 0; i < row_count; i++)
        if (rows[i].day == day && rows[i].platform == platform)
            return rows[i].gained;
    return 0;
}

static void gains_add_up_by_day_and_platform(void **state)
{
    (void)state;
    add(20, PLATFORM_YOUTUBE, 5);
    add(20, PLATFORM_TIKTOK, 7);
    add(20, PLATFORM_YOUTUBE, 6);
    add(-3, PLATFORM_PINTEREST, 1);
    add(DAY_BASELINE, PLATFORM_TIKTOK, 100);
    add(21, PLATFORM_TIKTOK, 0);
    assert_int_equal(store_add_platform_gain(t.w, other.row, 20, PLATFORM_YOUTUBE, 1000), OK);
    static const struct author_day expected[] = {{DAY_BASELINE, PLATFORM_TIKTOK, 100},
                                                 {-3, PLATFORM_PINTEREST, 1},
                                                 {20, PLATFORM_TIKTOK, 7},
                                                 {20, PLATFORM_YOUTUBE, 11}};
    for (int limit = 1; limit <= 5; limit++) {
        assert_int_equal(list(20, limit), limit >= 4 ? 1 : (4 + limit - 1) / limit);
        assert_int_equal(row_count, 4);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(rows[i].day, expected[i].day);
            assert_int_equal(rows[i].platform, expected[i].platform);
            assert_int_equal(rows[i].gained, expected[i].gained);
        }
    }
    (void)list(19, 10);
    assert_int_equal(row_count, 2);
    (void)list(INT32_MIN, 1);
    assert_int_equal(row_count, 1);
}

static void author_without_gains_has_no_rows_and_unknown_author_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(list(INT32_MAX, 10), 1);
    assert_int_equal(row_count, 0);
    struct store_read read = {.store = t.w};
    const struct author_days_query q = {
        .author_row = 99, .to = INT32_MAX, .after = {INT64_MIN, -1}, .limit = 1};
    struct author_days_progress progress;
    (void)store_list_author_days(&read, &q, on_day, NULL, &progress);
    assert_int_equal(read.err, ERR_NOT_FOUND);
}

static void sum_of_gains_saturates_at_its_maximum(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        add(1, PLATFORM_YOUTUBE, AUTHOR_GAINED_MAX - 1);
    assert_true(gained_on(1, PLATFORM_YOUTUBE) == AUTHOR_GAINED_MAX);
    add(1, PLATFORM_YOUTUBE, INT64_MAX);
    assert_true(gained_on(1, PLATFORM_YOUTUBE) == AUTHOR_GAINED_MAX);
}

/* Returns a video with two posts, which have these views on YouTube and on TikTok. */
static struct video two_posts(int64_t youtube, int64_t tiktok)
{
    struct video v = {.author_row = author.row, .post_count = 2};
    v.posts[0] = (struct post){.platform = PLATFORM_TIKTOK, .counts = {tiktok}};
    v.posts[1] = (struct post){.platform = PLATFORM_YOUTUBE, .counts = {youtube}};
    return v;
}

static void gains_are_subtracted_only_from_platforms_of_the_video(void **state)
{
    (void)state;
    struct video v = two_posts(300, 100);
    for (int32_t day = 1; day <= 4; day++) {
        add(day, PLATFORM_YOUTUBE, 80);
        add(day, PLATFORM_TIKTOK, 30);
        add(day, PLATFORM_FACEBOOK, 50);
    }
    assert_int_equal(store_subtract_platform_gains(t.w, &v, -1, 1, 40), OK); /* split 3 : 1 */
    assert_int_equal(gained_on(1, PLATFORM_YOUTUBE), 50);
    assert_int_equal(gained_on(1, PLATFORM_TIKTOK), 20);
    assert_int_equal(store_subtract_platform_gains(t.w, &v, PLATFORM_TIKTOK, 2, 40), OK);
    assert_int_equal(gained_on(2, PLATFORM_TIKTOK), 0);
    assert_int_equal(gained_on(2, PLATFORM_YOUTUBE), 70);
    assert_int_equal(store_subtract_platform_gains(t.w, &v, -1, 3, 1000),
                     OK); /* more than the rows contain */
    assert_int_equal(gained_on(3, PLATFORM_YOUTUBE) + gained_on(3, PLATFORM_TIKTOK), 0);
    v = two_posts(COUNT_NONE, COUNT_NONE);
    assert_int_equal(store_subtract_platform_gains(t.w, &v, -1, 4, 60),
                     OK); /* the posts have no views, so there is no proportion */
    assert_int_equal(gained_on(4, PLATFORM_YOUTUBE) + gained_on(4, PLATFORM_TIKTOK), 50);
    assert_int_equal(store_subtract_platform_gains(t.w, &v, -1, 99, 60), OK); /* no row */
    for (int32_t day = 1; day <= 4; day++)
        assert_int_equal(gained_on(day, PLATFORM_FACEBOOK), 50);
}

/* Adds and subtracts gains of random videos. After each step, the sum over the platforms is at most the sum
 * over the videos. */
static void gains_of_all_platforms_never_exceed_gains_of_all_videos(void **state)
{
    (void)state;
    enum { VIDEOS = 12 };
    static int64_t gains[VIDEOS][DAYS];
    struct video videos[VIDEOS];
    memset(gains, 0, sizeof gains);
    for (int i = 0; i < VIDEOS; i++)
        videos[i] = two_posts((int64_t)random_below(50), (int64_t)random_below(50));
    for (int step = 0; step < 600; step++) {
        const int i = (int)random_below(VIDEOS), day = (int)random_below(DAYS);
        if (random_below(5)) {
            const int64_t gained = (int64_t)random_below(40);
            gains[i][day] += gained;
            if (random_below(4)) /* otherwise simulate an older release, which records no platform */
                add(day, random_below(2) ? PLATFORM_TIKTOK : PLATFORM_YOUTUBE, gained);
        } else {
            const int64_t taken = (int64_t)random_below((uint64_t)gains[i][day] + 1);
            const int preferred = (int)random_below(3) - 1;
            gains[i][day] -= taken;
            assert_int_equal(store_subtract_platform_gains(t.w, &videos[i],
                                                           preferred < 0   ? -1
                                                           : preferred > 0 ? PLATFORM_TIKTOK
                                                                           : PLATFORM_YOUTUBE,
                                                           day, taken),
                             OK);
        }
        int64_t split = gained_on(day, PLATFORM_TIKTOK) + gained_on(day, PLATFORM_YOUTUBE), total = 0;
        for (int v = 0; v < VIDEOS; v++)
            total += gains[v][day];
        assert_true(split >= 0 && split <= total);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gains_add_up_by_day_and_platform, set_up, tear_down),
        cmocka_unit_test_setup_teardown(author_without_gains_has_no_rows_and_unknown_author_is_an_error,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(sum_of_gains_saturates_at_its_maximum, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gains_are_subtracted_only_from_platforms_of_the_video, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(gains_of_all_platforms_never_exceed_gains_of_all_videos, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
