/* Iterates over the authors and generates readings of their live videos. */
#include "refresh/simulated.h"

#include "base/clock.h"
#include "base/vec.h"
#include "refresh/growth.h"
#include "refresh/run.h"
#include "store/runs.h"

enum { SEED = 2026 };

/* The readings of one author. */
struct simulated_step {
    struct growth_moment moment;
    VEC(struct reading) readings;
};

static bool count_video(void *ctx, const struct video *video)
{
    struct simulated_step *step = ctx;
    (void)video;
    step->moment.live++;
    return true;
}

static bool add_readings(void *ctx, const struct video *video)
{
    struct simulated_step *step = ctx;
    int64_t counts[PLATFORM_COUNT][COUNT_KINDS];
    growth_compute(video, &step->moment, counts);
    for (size_t i = 0; i < video->post_count; i++) {
        const struct post *post = &video->posts[i];
        /* Skip a post that is not published yet, or that was read at a later time, before the clock was set
         * back. */
        if (post->posted_at > step->moment.now_ms || post->updated_at >= step->moment.now_ms)
            continue;
        struct reading *reading = VEC_ADD(&step->readings);
        *reading = (struct reading){.video_row = video->row, .platform = post->platform};
        memcpy(reading->counts, counts[i], sizeof reading->counts);
    }
    return true;
}

static enum err simulate_author(struct run *run, struct simulated_step *step, int64_t author_row)
{
    struct store *store = run_store(run);
    const int64_t now = step->moment.now_ms, from = now - VIDEO_LIFE_DAYS * DAY_MS;
    step->moment.live = 0;
    step->readings.count = 0;
    enum err err = store_list_live_videos(store, author_row, from, now, count_video, step);
    if (err)
        return run_fail_database(run, err);
    err = store_list_live_videos(store, author_row, from, now, add_readings, step);
    if (err)
        return run_fail_database(run, err);
    return run_queue_step(run, now, step->readings.items, step->readings.count);
}

static enum err simulate_all(struct run *run, struct simulated_step *step)
{
    int64_t author_row = 0;
    for (;;) {
        enum err err = run_heartbeat(run);
        if (err)
            return err;
        err = store_find_next_author(run_store(run), author_row, &author_row);
        if (err == ERR_NOT_FOUND)
            return run_flush(run);
        if (err)
            return run_fail_database(run, err);
        err = simulate_author(run, step, author_row);
        if (err)
            return err;
    }
}

static enum err run_simulated(struct run *run)
{
    const int64_t interval_s = run_config(run)->refresh.interval_s;
    struct simulated_step step = {.moment = {.now_ms = run_observed_at(run),
                                             .interval_ms = interval_s ? interval_s * SECOND_MS : HOUR_MS,
                                             .seed = SEED}};
    const enum err err = simulate_all(run, &step);
    VEC_FREE(&step.readings);
    return err;
}

const struct source simulated_source = {.kind = SOURCE_SIMULATED, .run = run_simulated};
