/* The step engine. A step applies all readings of one author that have the same observed_at. Then it updates
 * every video with such a reading: views, gains, milestones, viral state and events. A step runs in a write
 * transaction of the caller, which commits or rolls back the whole step.
 *
 *   step_begin(&step, store, observed_at, now);
 *   for each reading: err = step_add(&step, &reading, &rejection);
 *   err = step_finish(&step, &result);
 *
 * The order of the readings does not affect the result. Applying the same step again changes nothing. */
#ifndef VT_RULES_STEP_H
#define VT_RULES_STEP_H

#include "base/arena.h"
#include "base/vec.h"
#include "rules/comparables.h"
#include "rules/rule_settings.h"
#include "store/write.h"

/* A reading: the counts of the post that a video has on a platform. */
struct reading {
    int64_t video_row;
    enum platform platform;
    /* hash_64() with seed 0 of the post id that was read. If the post has another id by now, the reading is
     * rejected as REJECTION_UNKNOWN_POST. 0: not checked. */
    uint64_t post_id_hash;
    bool baseline;    /* the views belong to the baseline of the video */
    bool lacks_views; /* the views were not measured, so the reading updates only the other counts, and
                         neither times nor the viral state */
    int64_t counts[COUNT_KINDS]; /* COUNT_NONE: unknown */
};

/* Why a reading is rejected, in the order of the checks. */
enum rejection {
    REJECTION_NONE,
    REJECTION_UNKNOWN_POST,
    REJECTION_FUTURE,
    REJECTION_BEFORE_POST,
    REJECTION_AFTER_LIFE,
    REJECTION_STALE,
};
enum { REJECTION_KINDS = 6 };

/* Returns the reason as a static text for people. */
struct str rejection_text(enum rejection rejection);

/* Totals of one or more steps. Each step adds to the struct that it receives, so one struct can count several
 * steps. */
struct step_result {
    int64_t videos_changed;
    int64_t unchanged;                      /* accepted readings that repeat what is stored */
    int64_t gained, baseline;               /* views */
    int64_t went_viral, milestones;         /* including those without an event */
    int64_t viral_by_baseline;              /* those of `went_viral` whose baseline reached the threshold */
    int64_t viral_events, milestone_events; /* events written */
};

struct touched_video;
struct platform_gain;

/* The state of the current step. One object serves many steps, one after another. Its members are private to
 * step.c. */
struct step {
    struct step_rules rules;
    struct arena arena; /* memory of the entries of `videos`, valid until the next step_begin() */
    struct store *store;
    int64_t observed_at, now;
    int64_t author_row; /* 0: no reading was added */
    VEC(struct touched_video *) videos;
    VEC(struct platform_gain) platform_gains; /* of the author, by day and platform; written at the end */
    uint32_t *slots;                          /* hash table by video row: index in `videos` + 1 */
    size_t slot_count;
    struct comparables base;
    int64_t base_t; /* the time for which `base` was read; TIME_NONE: not read */
};

/* step_init() initializes a step; step_fini() frees its memory. */
void step_init(struct step *s, const struct step_rules *rules);
void step_fini(struct step *s);

/* Begins a step; discards an unfinished one. `now_ms` is the present time. If `observed_at_ms` is more than
 * 60 s after `now_ms`, the readings are rejected. Ids of new events are at least `now_ms` (see
 * store_insert_event()). */
void step_begin(struct step *s, struct store *store, int64_t observed_at_ms, int64_t now_ms);

/* Adds one reading. `*rejection` receives the reason why it was rejected, or REJECTION_NONE. All readings of
 * a step must belong to one author. After an error, roll back the transaction. */
MUST_USE enum err step_add(struct step *s, const struct reading *reading, enum rejection *rejection);

/* Updates and saves the videos, writes events and increments the author's revision. Adds the totals of this
 * step to `*result`. */
MUST_USE enum err step_finish(struct step *s, struct step_result *result);

#endif
