/* Decides videos whose baseline is pending. Deciding one changes no views, so each is decided from the same
 * state whatever the order. */
#include "import/finalizing.h"

#include "base/check.h"
#include "base/clock.h"
#include "import/import_lock.h"
#include "rules/comparables.h"

enum { ARENA_BLOCK = 16 * 1024 };

/* Viral by its baseline; or because no line is above its views any more, neither the stored nor today's: "not
 * viral" always means below the viral. */
static bool is_viral(const struct video *video, const struct viral_comparison *viral)
{
    return video->baseline >= viral->threshold ||
           (video->views >= viral->threshold && video->views >= video->viral.threshold);
}

static enum err decide(struct store *store, const struct step_rules *rules, struct video *video,
                       struct finalizing_result *result)
{
    struct comparables base;
    bool flipped = false;
    if (video->went_viral_at == TIME_NONE && video->updated_at != TIME_NONE) {
        enum err err = comparables_read(&base, store, rules, video->author_row, video->updated_at);
        if (err)
            return err;
        comparables_sort(&base);
        struct viral_comparison viral = comparables_compare(&base, rules, video->row);
        flipped = is_viral(video, &viral);
        if (flipped || viral.threshold > video->views)
            video->viral = viral;
    }
    if (flipped) {
        video->went_viral_at = video->updated_at - video->updated_at % HOUR_MS;
        video->views_when_viral = video->views;
    }
    video->baseline_pending = false;
    result->videos++;
    result->went_viral += flipped;
    return store_save_counts(store, video, flipped);
}

static enum err decide_each(struct store *store, const struct step_rules *rules, struct arena *arena,
                            const struct pending_video *pending, size_t count,
                            struct finalizing_result *result)
{
    enum err err = OK;
    for (size_t i = 0; i < count && !err; i++) {
        struct video video;
        arena_reset(arena);
        err = store_get_video(store, arena, pending[i].video_row, &video);
        if (!err)
            err = decide(store, rules, &video, result);
        /* Pending videos come ordered by author. */
        if (!err && (i + 1 == count || pending[i + 1].author_row != pending[i].author_row))
            err = store_touch_author(store, pending[i].author_row, TIME_NONE);
    }
    return err;
}

enum err finalizing_pass(struct store *store, const struct step_rules *rules, size_t limit,
                         struct finalizing_result *result, bool *more)
{
    struct pending_video pending[FINALIZING_BATCH_MAX];
    size_t count = 0;
    CHECK(limit > 0 && limit <= FINALIZING_BATCH_MAX);
    enum err err = store_list_pending(store, pending, limit, &count);
    if (err)
        return err;
    struct arena arena;
    arena_init(&arena, ARENA_BLOCK);
    err = decide_each(store, rules, &arena, pending, count, result);
    arena_fini(&arena);
    *more = count == limit;
    return err;
}

static enum err complete(struct store *store, const struct step_rules *rules,
                         struct finalizing_result *result)
{
    struct pending_video any;
    size_t count = 0;
    /* Who has nothing to do need not wait for a writer. */
    enum err err = store_list_pending(store, &any, 1, &count);
    bool more = count > 0;
    while (!err && more) {
        err = store_begin(store);
        if (!err)
            err = finalizing_pass(store, rules, FINALIZING_BATCH_MAX, result, &more);
        if (!err)
            err = store_commit(store);
        store_rollback(store);
    }
    return err;
}

enum err finalizing_complete(const struct store_options *options, const struct step_rules *rules,
                             struct finalizing_result *result, struct error *error)
{
    struct store *store;
    struct import_lock lock;
    *result = (struct finalizing_result){0};
    enum err err = store_open(&store, options, error);
    if (err)
        return err;
    err = import_lock_open(&lock, options->path);
    if (!err && import_lock_try_exclusive(&lock))
        err = complete(store, rules, result);
    if (err)
        error_set(error, err, "%s", err_name(err));
    import_lock_close(&lock);
    store_close(store);
    return err;
}
