/* Drives a step engine on a temporary database. */
#include "lib/steps.h"

#include "base/clock.h"
#include "lib/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

const struct step_rules default_rules = {
    .multiplier_milli = 5000,
    .min_views = 10000,
    .compare_last = 50,
    .compare_min_age_ms = 7 * (int64_t)DAY_MS,
    .history_start_ms = TEST_DAY - 30 * (int64_t)DAY_MS,
};

struct temp_db db;
struct step step;
struct step_result result;

int set_up(void **state)
{
    (void)state;
    temp_db_init(&db);
    step_init(&step, &default_rules);
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    step_fini(&step);
    temp_db_fini(&db);
    return 0;
}

/* --- helpers --- */

struct reading views_of(const struct video *v, int64_t views)
{
    return (struct reading){.video_row = v->row,
                            .platform = PLATFORM_YOUTUBE,
                            .counts = {views, COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE}};
}

struct reading baseline_of(const struct video *v, int64_t views)
{
    struct reading r = views_of(v, views);
    r.baseline = true;
    return r;
}

struct reading on(enum platform platform, struct reading r)
{
    r.platform = platform;
    return r;
}

void apply(int64_t at, const struct reading *readings, size_t n)
{
    enum rejection rejection;
    memset(&result, 0, sizeof result);
    test_begin(&db);
    step_begin(&step, db.w, at, LATER);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(step_add(&step, &readings[i], &rejection), OK);
        assert_int_equal(rejection, REJECTION_NONE);
    }
    assert_int_equal(step_finish(&step, &result), OK);
    test_commit(&db);
}

void apply_one(int64_t at, struct reading r)
{
    apply(at, &r, 1);
}

enum rejection rejection_of(int64_t at, int64_t now, struct reading r)
{
    enum rejection rejection;
    test_begin(&db);
    step_begin(&step, db.w, at, now);
    assert_int_equal(step_add(&step, &r, &rejection), OK);
    store_rollback(db.w);
    return rejection;
}

struct video load(const struct video *v)
{
    struct video out;
    assert_int_equal(store_get_video(db.w, &db.arena, v->row, &out), OK);
    return out;
}

struct author make_author(uint64_t n)
{
    test_begin(&db);
    struct author a = add_author(&db, n);
    test_commit(&db);
    return a;
}

struct video make_video(const struct author *a, uint64_t n, int64_t posted_at)
{
    test_begin(&db);
    struct video v = add_video(&db, a, 0, n, posted_at);
    test_commit(&db);
    return v;
}

void put_post(struct video *v, enum platform platform, int64_t posted_at)
{
    struct post p = {.platform = platform,
                     .post_id = arena_printf(&db.arena, "p%d-%lld", platform, (long long)v->row),
                     .posted_at = posted_at,
                     .updated_at = TIME_NONE,
                     .counts = {COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE}};
    const struct video old = *v;
    size_t i = v->post_count++;
    for (; i > 0 && v->posts[i - 1].platform > platform; i--)
        v->posts[i] = v->posts[i - 1];
    v->posts[i] = p;
    assert_int_equal(store_update_video(db.w, &old, v), OK);
    assert_int_equal(store_put_post_key(db.w, platform, p.post_id, v->row), OK);
}

void add_post(struct video *v, enum platform platform, int64_t posted_at)
{
    test_begin(&db);
    put_post(v, platform, posted_at);
    test_commit(&db);
}

void make_history(const struct author *a, const int64_t views[5])
{
    for (uint64_t i = 0; i < 5; i++) {
        struct video v = make_video(a, 900 + i, TEST_DAY - 20 * (int64_t)D);
        apply_one(TEST_DAY - D, baseline_of(&v, views[i]));
    }
}

int64_t gained_on(const struct video *v, int32_t day)
{
    char sql[160];
    (void)snprintf(sql, sizeof sql,
                   "SELECT ifnull(sum(gained), 0) FROM daily WHERE video_id = %lld AND day = %d",
                   (long long)v->row, day);
    return query_i64(db.path, sql);
}

static bool on_event(void *ctx, const struct event *event, const struct video_ref *video,
                     const struct book_ref *book)
{
    struct seen_events *all = ctx;
    (void)video;
    (void)book;
    assert_true(all->n < 64);
    all->e[all->n++] = (struct seen_event){event->type, event->value, event->occurred_at, event->video_row};
    return true;
}

struct seen_events events_of(const struct author *a)
{
    struct seen_events all = {.n = 0};
    struct events_progress progress;
    struct store_read read = temp_db_read(&db);
    struct events_query query = {
        .author_row = a->row, .occurred_after = INT64_MIN, .limit = 64, .scan_limit = 64};
    assert_int_equal(store_list_events(&read, &query, on_event, &all, &progress), NEXT_MORE);
    assert_int_equal(read.err, OK);
    return all;
}

void finalize_all(void)
{
    bool more = true;
    struct finalizing_result finalized = {0};
    while (more) {
        test_begin(&db);
        assert_int_equal(finalizing_apply_batch(db.w, &default_rules, 3, &finalized, &more), OK);
        test_commit(&db);
    }
}
