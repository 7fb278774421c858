/* A step engine on a temporary database, and helpers for both. Times are around TEST_DAY; the present is
 * LATER, so that no reading is from the future. If a helper fails, the test fails. */
#ifndef VT_TEST_STEPS_H
#define VT_TEST_STEPS_H

#include "import/finalizing.h"
#include "rules/step.h"

#include "lib/temp_db.h"

#define H     HOUR_MS
#define D     DAY_MS
#define LATER (TEST_DAY + INT64_C(180) * DAY_MS)

extern const struct step_rules
    default_rules; /* 5.0, 10,000, 50, 7 days; events from 30 days before TEST_DAY */
extern struct temp_db db;
extern struct step step;
extern struct step_result result; /* of the last apply() */

struct seen_event {
    enum event_type type;
    int64_t value, occurred_at, video_row;
};

struct seen_events {
    struct seen_event e[64];
    size_t n;
};

int set_up(void **state);
int tear_down(void **state);
struct reading views_of(const struct video *v, int64_t views);
struct reading baseline_of(const struct video *v, int64_t views);
struct reading on(enum platform platform, struct reading r);
void apply(int64_t at, const struct reading *readings, size_t n);
void apply_one(int64_t at, struct reading r);
enum rejection refusal_of(int64_t at, int64_t now, struct reading r);
struct video load(const struct video *v);
struct author make_author(uint64_t n);
struct video make_video(const struct author *a, uint64_t n, int64_t posted_at);
void put_post(struct video *v, enum platform platform, int64_t posted_at); /* in the open transaction */
void add_post(struct video *v, enum platform platform, int64_t posted_at);
void make_history(const struct author *a, const int64_t views[5]);
int64_t gained_on(const struct video *v, int32_t day);
struct seen_events events_of(const struct author *a);
void close_all(void);

#define STEP_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
