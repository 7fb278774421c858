/* Tests steps with random data: the result depends neither on the order of readings within a step nor on
 * crashes between steps. */
#include "lib/steps.h"

#include "base/clock.h"
#include "lib/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* --- random data --- */

enum { WORLD_VIDEOS = 12, WORLD_STEPS = 40, STEP_READINGS = 30 };

struct world_step {
    int64_t at;
    size_t n;
    struct reading r[STEP_READINGS];
};

static struct world_step *make_world(unsigned *seed)
{
    static const enum platform platforms[] = {PLATFORM_YOUTUBE, PLATFORM_TIKTOK};
    struct world_step *steps = calloc(WORLD_STEPS, sizeof *steps);
    int64_t rows[WORLD_VIDEOS];
    struct author a = add_author(&db, 1);
    for (uint64_t i = 0; i < WORLD_VIDEOS; i++) {
        struct video v = add_video(&db, &a, 0, i + 1, TEST_DAY - (rand_r(seed) % 14) * (int64_t)D);
        put_post(&v, PLATFORM_TIKTOK, v.posted_at + rand_r(seed) % 3 * H);
        rows[i] = v.row;
    }
    int64_t at = TEST_DAY;
    for (size_t s = 0; s < WORLD_STEPS; s++) {
        at += rand_r(seed) % 20 * (int64_t)H;
        steps[s].at = at + (int64_t)s;
        steps[s].n = 1 + (size_t)rand_r(seed) % STEP_READINGS;
        for (size_t i = 0; i < steps[s].n; i++) {
            struct reading *r = &steps[s].r[i];
            *r = (struct reading){.video_row = rows[rand_r(seed) % WORLD_VIDEOS],
                                  .platform = platforms[rand_r(seed) % 2],
                                  .baseline = rand_r(seed) % 5 == 0};
            for (int k = 0; k < COUNT_KINDS; k++)
                r->counts[k] = rand_r(seed) % 6 ? rand_r(seed) % ((int64_t)s * 900 + 100) : COUNT_NONE;
        }
    }
    return steps;
}

/* Applies the readings of a step, some of which are invalid; if `backwards`, in reverse order. */
static void run_step(const struct world_step *w, bool backwards)
{
    enum rejection rejection;
    step_begin(&step, db.w, w->at, LATER);
    for (size_t i = 0; i < w->n; i++)
        assert_int_equal(step_add(&step, &w->r[backwards ? w->n - 1 - i : i], &rejection), OK);
    assert_int_equal(step_finish(&step, &result), OK);
}

static void check_invariants(void)
{
    assert_int_equal(query_i64(db.path,
                               "SELECT count(*) FROM videos v WHERE views <> baseline + "
                               "ifnull((SELECT sum(gained) FROM daily d WHERE d.video_id = v.id), 0)"),
                     0);
    /* On each day, the gains of all videos and the gains of all platforms have the same sum. The baselines
     * of all videos and of all platforms have the same sum, too; author_daily stores baselines under the day
     * -2147483648. */
    assert_int_equal(
        query_i64(db.path, "SELECT count(*) FROM (SELECT day, sum(gained) AS g FROM (SELECT day, gained "
                           "FROM daily UNION ALL SELECT -2147483648, baseline FROM videos) GROUP BY day) d "
                           "FULL JOIN (SELECT day, sum(gained) AS g FROM author_daily GROUP BY day) p "
                           "ON p.day = d.day WHERE ifnull(d.g, 0) <> ifnull(p.g, 0)"),
        0);
    /* Over all days, the gains and baselines of all platforms add up to the views of all videos. */
    assert_int_equal(
        query_i64(db.path, "SELECT abs(sum(gained) - (SELECT sum(views) FROM videos)) FROM author_daily"), 0);
    assert_int_equal(
        query_i64(db.path, "SELECT count(*) FROM videos WHERE went_viral_at IS NULL AND views >= threshold"),
        0);
    assert_int_equal(query_i64(db.path, "SELECT count(*) FROM videos WHERE baseline_pending <> 0"), 0);
}

/* Appends the dump of the world of this seed to `out`. If `cut` is not 0, applies the first `cut` steps and
 * then all steps again, as after a crash. */
static void world_dump(unsigned seed, size_t cut, bool backwards, struct buf *out)
{
    test_begin(&db);
    struct world_step *steps = make_world(&seed);
    for (size_t s = 0; s < cut; s++)
        run_step(&steps[s], backwards);
    for (size_t s = 0; s < WORLD_STEPS; s++)
        run_step(&steps[s], backwards);
    test_commit(&db);
    finalize_all();
    check_invariants();
    dump_database(db.path, out);
    free(steps);
}

static void fresh_database(void)
{
    tear_down(NULL);
    set_up(NULL);
}

static void neither_crashes_nor_the_order_of_readings_change_the_result(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct buf straight, other;
        buf_init(&straight, 1 << 24);
        buf_init(&other, 1 << 24);
        world_dump(seed, 0, false, &straight);
        fresh_database();
        world_dump(seed, 0, true, &other);
        assert_same_dump(&straight, &other);
        for (size_t cut = 1; cut <= WORLD_STEPS; cut += 1 + seed % 9) {
            buf_reset(&other, 0);
            fresh_database();
            world_dump(seed, cut, false, &other);
            assert_same_dump(&straight, &other);
        }
        fresh_database();
        buf_fini(&straight);
        buf_fini(&other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEP_TEST(neither_crashes_nor_the_order_of_readings_change_the_result),
    };
    /* Uses /dev/shm if it exists, because syncing a disk is slow and is not under test. */
    if (access("/dev/shm", W_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
