/* Decides which videos are viral. Setting the viral state of a video changes no views, so the order of videos
 * does not matter. */
#include "import/finalizing.h"

#include "base/check.h"
#include "base/clock.h"
#include "store/import_lock.h"
#include "rules/comparables.h"
#include "store/transaction_scope.h"

enum { ARENA_BLOCK = 16 * 1024 };

/* Returns true if the baseline reaches the current threshold (`viral`), or if the views reach both the
 * current and the stored threshold. Invariant: the views of a video that is not viral are below its stored
 * threshold. */
static bool is_viral(const struct video *video, const struct viral_comparison *viral)
{
    return video->baseline >= viral->threshold ||
           (video->views >= viral->threshold && video->views >= video->viral.threshold);
}

static enum err finalize(struct store *store, const struct step_rules *rules, struct video *video,
                         struct finalizing_result *result)
{
    struct comparables others;
    bool goes_viral = false;
    if (video->went_viral_at == TIME_NONE && video->updated_at != TIME_NONE) {
        enum err err = comparables_read(&others, store, rules, video->author_row, video->updated_at);
        if (err)
            return err;
        comparables_sort(&others);
        struct viral_comparison viral = comparables_compare(&others, rules, video->row);
        goes_viral = is_viral(video, &viral);
        if (goes_viral || viral.threshold > video->views)
            video->viral = viral;
    }
    if (goes_viral) {
        video->went_viral_at = video->updated_at - video->updated_at % HOUR_MS;
        video->views_when_viral = video->views;
    }
    video->baseline_pending = false;
    result->videos++;
    result->went_viral += goes_viral;
    return store_save_counts(store, video, goes_viral);
}

static enum err finalize_each(struct store *store, const struct step_rules *rules, struct arena *arena,
                              const struct pending_video *pending, size_t count,
                              struct finalizing_result *result)
{
    for (size_t i = 0; i < count; i++) {
        struct video video;
        arena_reset(arena);
        enum err err = store_get_video(store, arena, pending[i].video_row, &video);
        if (err)
            return err;
        err = finalize(store, rules, &video, result);
        if (err)
            return err;
        /* The list is ordered by author, so increment the revision once per author. */
        if (i + 1 == count || pending[i + 1].author_row != pending[i].author_row)
            err = store_touch_author(store, pending[i].author_row, TIME_NONE);
        if (err)
            return err;
    }
    return OK;
}

enum err finalizing_apply_batch(struct store *store, const struct step_rules *rules, size_t limit,
                                struct finalizing_result *result, bool *more)
{
    struct pending_video pending[FINALIZING_BATCH_MAX];
    size_t count = 0;
    CHECK(limit > 0 && limit <= FINALIZING_BATCH_MAX);
    enum err err = store_list_pending_videos(store, pending, limit, &count);
    if (err)
        return err;
    struct arena arena;
    arena_init(&arena, ARENA_BLOCK);
    err = finalize_each(store, rules, &arena, pending, count, result);
    arena_fini(&arena);
    *more = count == limit;
    return err;
}

struct finalizing_batch {
    const struct step_rules *rules;
    struct finalizing_result *result;
    bool more;
};

static enum err finalize_batch(struct store *store, void *ctx)
{
    struct finalizing_batch *b = ctx;
    return finalizing_apply_batch(store, b->rules, FINALIZING_BATCH_MAX, b->result, &b->more);
}

static enum err complete(struct store *store, const struct step_rules *rules,
                         struct finalizing_result *result)
{
    struct pending_video any;
    size_t count = 0;
    /* Check before the transaction, so that this function does not wait for another writer if no videos are
     * pending. */
    enum err err = store_list_pending_videos(store, &any, 1, &count);
    const struct transaction_scope scope = transaction_scope_plain(store);
    struct finalizing_batch batch = {.rules = rules, .result = result, .more = count > 0};
    while (!err && batch.more)
        err = transaction_run(&scope, finalize_batch, &batch);
    return err;
}

enum err finalizing_run_all(const struct store_options *options, const struct step_rules *rules,
                            struct finalizing_result *result, struct error *error)
{
    struct store *store;
    *result = (struct finalizing_result){0};
    enum err err = store_open(&store, options, error);
    if (err)
        return err;
    bool acquired;
    err = import_lock_try_exclusive(store, &acquired);
    if (!err && acquired)
        err = complete(store, rules, result);
    if (err)
        error_set(error, err, "%s", err_name(err));
    store_close(store);
    return err;
}
