/* Collects the readings of each author, and applies them as steps. */
#include "fetch/results.h"

#include "base/check.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 120 * 1000, WAITING_MAX = 50000 };

static size_t index_of(const struct result_set *set, const struct walk_position *at)
{
    size_t low = 0, high = set->authors.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (walk_position_cmp(&set->authors.items[middle]->at, at) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct author_results *result_set_get(struct result_set *set, const struct walk_position *at)
{
    const size_t i = index_of(set, at);
    if (i < set->authors.count && walk_position_cmp(&set->authors.items[i]->at, at) == 0)
        return set->authors.items[i];
    struct author_results *results = xcalloc(1, sizeof *results);
    results->at = *at;
    results->responded_at = TIME_NONE;
    *VEC_ADD(&set->authors) = NULL;
    struct author_results **place = set->authors.items + i;
    memmove(place + 1, place, (set->authors.count - 1 - i) * sizeof(struct author_results *));
    *place = results;
    return results;
}

static void free_results(struct author_results *results)
{
    VEC_FREE(&results->readings);
    VEC_FREE(&results->video_posted_at);
    free(results);
}

void result_set_free(struct result_set *set)
{
    for (size_t i = 0; i < set->authors.count; i++)
        free_results(set->authors.items[i]);
    VEC_FREE(&set->authors);
}

void result_set_add(struct result_set *set, struct author_results *results, int64_t video_posted_at,
                    const struct reading *reading)
{
    *VEC_ADD(&results->readings) = *reading;
    *VEC_ADD(&results->video_posted_at) = video_posted_at;
    results->responded_at = clock_wall_ms();
    results->responded_mono = clock_mono_ms();
    set->waiting++;
}

/* --- applying results --- */

/* Drops the readings of videos that reached the age of thirty days while the step waited for other
 * platforms. */
static void drop_expired(struct author_results *results)
{
    size_t kept = 0;
    for (size_t i = 0; i < results->readings.count; i++)
        if (results->responded_at <= results->video_posted_at.items[i] + VIDEO_LIFE_DAYS * DAY_MS)
            results->readings.items[kept++] = results->readings.items[i];
    results->readings.count = kept;
}

static enum err apply(struct result_set *set, struct author_results *results)
{
    set->waiting -= results->readings.count;
    drop_expired(results);
    const enum err err =
        run_queue_step(set->run, results->responded_at, results->readings.items, results->readings.count);
    set->unflushed += results->readings.count;
    results->readings.count = results->video_posted_at.count = 0;
    return err;
}

enum err result_set_apply(struct result_set *set, const struct walk_progress *progress, bool all)
{
    const int64_t now = clock_mono_ms();
    enum err err = OK;
    size_t kept = 0;
    for (size_t i = 0; i < set->authors.count; i++) {
        struct author_results *results = set->authors.items[i];
        const bool complete = !results->open_groups &&
                              walk_position_cmp(&progress->reached[results->at.pass], &results->at) >= 0;
        const bool due =
            all || complete || set->waiting > WAITING_MAX || now - results->responded_mono >= WAIT_MS;
        if (!err && results->readings.count && due)
            err = apply(set, results);
        if (complete && !results->readings.count)
            free_results(results);
        else
            set->authors.items[kept++] = results;
    }
    set->authors.count = kept;
    return err;
}
