/* A step engine on a temporary database, and helpers for both. Times are around TEST_DAY. Helpers pass
 * LATER as the current time, so that no reading is from the future. If a helper fails, the test fails. */
#ifndef VT_TEST_STEPS_H
#define VT_TEST_STEPS_H

#include "import/finalizing.h"
#include "rules/step.h"

#include "lib/temp_db.h"

#define H     HOUR_MS
#define D     DAY_MS
#define LATER (TEST_DAY + INT64_C(180) * DAY_MS)

/* The viral threshold is 5 times the median and at least 10,000. A video is compared with the newest 50 that
 * are at least 7 days old. Events begin 30 days before TEST_DAY. */
extern const struct step_rules default_rules;
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
/* Return a reading of the YouTube post of the video: an ordinary reading or a baseline. on() returns the same
 * reading for another platform. */
struct reading views_of(const struct video *v, int64_t views);
struct reading baseline_of(const struct video *v, int64_t views);
struct reading on(enum platform platform, struct reading r);
/* Applies the readings of time `at` as one step in one transaction. Each reading must be accepted. */
void apply(int64_t at, const struct reading *readings, size_t n);
void apply_one(int64_t at, struct reading r);
/* Returns the reason why a step at `at` rejects the reading at the time `now` (REJECTION_NONE: it does not).
 * Writes nothing. */
enum rejection rejection_of(int64_t at, int64_t now, struct reading r);
struct video load(const struct video *v);
struct author make_author(uint64_t n);
struct video make_video(const struct author *a, uint64_t n, int64_t posted_at);
void put_post(struct video *v, enum platform platform, int64_t posted_at); /* in the open transaction */
void add_post(struct video *v, enum platform platform, int64_t posted_at);
/* Adds five old videos with these views, read one day before TEST_DAY, so that the author has a median. */
void make_history(const struct author *a, const int64_t views[5]);
int64_t gained_on(const struct video *v, int32_t day);
/* Returns the events of the author, in the order of their ids. */
struct seen_events events_of(const struct author *a);
/* Finalizes all videos with a pending baseline. */
void finalize_all(void);

#define STEP_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
