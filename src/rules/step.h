/* The step engine: applies the readings of one author with one observed_at and decides every video they touch
 * (decisions 1, 3, 4, 5, 6). It runs inside a write transaction of the caller, which commits or rolls back
 * the whole step; the importer and the refresh use the same code.
 *
 *     step_begin(&step, store, observed_at, now);
 *     for each reading: err = step_add(&step, &reading, &rejection);
 *     err = step_finish(&step, &result);
 *
 * The order of the readings never changes a result. A reading that is there already changes nothing: a step
 * that was applied before can be applied again. */
#ifndef VT_RULES_STEP_H
#define VT_RULES_STEP_H

#include "base/arena.h"
#include "rules/comparables.h"
#include "rules/rule_settings.h"
#include "store/write.h"

/* One reading of a post that is known: the post is that of the video on the platform. */
struct reading {
    int64_t video_row;
    enum platform platform;
    bool baseline;
    bool not_of_views; /* its views were not measured, the others were: it moves neither the time of the post
                        * nor that of the video, and decides nothing
                        */
    int64_t counts[COUNT_KINDS]; /* COUNT_NONE: unknown */
};

/* Why a reading is not applied, in the order in which it is checked. */
enum rejection {
    REJECTION_NONE,
    REJECTION_UNKNOWN_POST,
    REJECTION_FUTURE,
    REJECTION_BEFORE_POST,
    REJECTION_AFTER_LIFE,
    REJECTION_STALE,
};
enum { REJECTION_KINDS = 6 };

/* The reason as decision 1 words it; static. */
struct str rejection_text(enum rejection rejection);

/* What steps did; sums, so that one can be used over many steps. */
struct step_result {
    int64_t videos_changed;
    int64_t gained, baseline;               /* views */
    int64_t went_viral, milestones;         /* reached, with or without an event */
    int64_t viral_events, milestone_events; /* written */
};

struct touched_video;

/* Reusable: memory is kept from step to step. The members are the engine's own. */
struct step {
    struct step_rules rules;
    struct arena arena; /* the touched videos and their texts; until the next step_begin() */
    struct store *store;
    int64_t observed_at, now;
    int64_t author_row; /* 0: no reading yet */
    struct touched_video **videos;
    size_t video_count, video_cap;
    uint32_t *slots; /* hash table: index in `videos` + 1 by video row */
    size_t slot_count;
    struct comparables base;
    int64_t base_t; /* the time of `base`; TIME_NONE: not read */
};

void step_init(struct step *s, const struct step_rules *rules);
void step_fini(struct step *s);

/* Forgets an unfinished step. `now` judges readings from the future and numbers the events. */
void step_begin(struct step *s, struct store *store, int64_t observed_at_ms, int64_t now_ms);

/* Takes one reading in, or says why not. All readings of a step are of videos of one author. After an error
 * the step is of no more use and the transaction has to be rolled back. */
MUST_USE enum err step_add(struct step *s, const struct reading *reading, enum rejection *rejection);

/* Writes what the readings change: counts, gains, milestones, viral states, events, the author's revision.
 * Adds to `*result`. */
MUST_USE enum err step_finish(struct step *s, struct step_result *result);

#endif
