/* Author by author: the live videos are read, a reading is made up for each of their posts, and all of them
 * are handed in as one step. */
#include "refresh/simulated.h"

#include "base/check.h"
#include "base/clock.h"
#include "refresh/growth.h"
#include "refresh/run.h"
#include "store/runs.h"

#include <stdlib.h>

enum { SEED = 2026, ARENA_BLOCK = 256 * 1024 };

/* The live videos of one author, as far as growth needs them. */
struct live_videos {
    struct arena arena; /* the videos and the ids of their posts */
    struct video **videos;
    size_t count, cap;
    struct reading *readings;
    size_t reading_count, reading_cap;
};

static bool add_video(void *ctx, const struct video *video)
{
    struct live_videos *live = ctx;
    if (live->count == live->cap) {
        live->cap = live->cap ? 2 * live->cap : 64;
        live->videos = xrealloc(live->videos, live->cap * sizeof(struct video *));
    }
    struct video *copy = arena_alloc(&live->arena, sizeof *copy);
    *copy = *video;
    for (size_t i = 0; i < copy->post_count; i++)
        copy->posts[i].post_id = arena_copy(&live->arena, video->posts[i].post_id);
    live->videos[live->count++] = copy;
    return true;
}

static void add_reading(struct live_videos *live, const struct video *video, enum platform platform,
                        const int64_t counts[COUNT_KINDS])
{
    if (live->reading_count == live->reading_cap) {
        live->reading_cap = live->reading_cap ? 2 * live->reading_cap : 64;
        live->readings = xrealloc(live->readings, live->reading_cap * sizeof live->readings[0]);
    }
    struct reading *r = &live->readings[live->reading_count++];
    *r = (struct reading){.video_row = video->row, .platform = platform};
    memcpy(r->counts, counts, sizeof r->counts);
}

/* A post that appears later, or was read later than now (a clock went back), has nothing to show yet. */
static void make_readings(struct live_videos *live, const struct growth_moment *m)
{
    struct take_off take_off;
    int64_t counts[PLATFORM_COUNT][COUNT_KINDS];
    take_off_begin(&take_off, m);
    live->reading_count = 0;
    for (size_t i = 0; i < live->count; i++)
        take_off_add(&take_off, m, live->videos[i]);
    for (size_t i = 0; i < live->count; i++) {
        const struct video *video = live->videos[i];
        growth_of(video, m, &take_off, counts);
        for (size_t p = 0; p < video->post_count; p++)
            if (video->posts[p].posted_at <= m->now_ms && video->posts[p].updated_at < m->now_ms)
                add_reading(live, video, video->posts[p].platform, counts[p]);
    }
}

static enum err read_author(struct run *run, struct live_videos *live, const struct growth_moment *m,
                            int64_t author_row)
{
    live->count = 0;
    arena_reset(&live->arena);
    enum err err = store_list_live(run_store(run), author_row, m->now_ms - VIDEO_LIFE_DAYS * DAY_MS,
                                   m->now_ms, add_video, live);
    if (err)
        return run_fail_database(run, err);
    make_readings(live, m);
    return run_queue_step(run, m->now_ms, live->readings, live->reading_count);
}

static struct growth_moment moment_of(const struct run *run)
{
    const int64_t interval_s = run_config(run)->refresh.interval_s;
    return (struct growth_moment){
        .now_ms = run_observed_at(run),
        .interval_ms = interval_s ? interval_s * SECOND_MS : HOUR_MS,
        .seed = SEED,
    };
}

static enum err run_simulated(struct run *run)
{
    struct live_videos live = {0};
    const struct growth_moment m = moment_of(run);
    int64_t author_row = 0;
    enum err err = OK;
    arena_init(&live.arena, ARENA_BLOCK);
    while (!err && (err = run_heartbeat(run)) == OK) {
        err = store_next_author(run_store(run), author_row, &author_row);
        if (!err)
            err = read_author(run, &live, &m, author_row);
        else if (err != ERR_NOT_FOUND)
            (void)run_fail_database(run, err);
    }
    if (err == ERR_NOT_FOUND)
        err = run_flush(run);
    free(live.videos);
    free(live.readings);
    arena_fini(&live.arena);
    return err;
}

const struct source simulated_source = {.kind = SOURCE_SIMULATED, .run = run_simulated};
