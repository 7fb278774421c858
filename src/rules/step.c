/* A step works in memory on the videos as the transaction sees them, and saves each changed video once at the
 * end. Exception: a first reading makes a video comparable to the other videos of the same step, so such a
 * video is saved before the comparable videos are read, and again at the end.
 *
 *     step_add()       reading -> merged with the other readings of its post
 *     apply_all()      merged readings -> counts and times of the videos
 *     decide_viral()   video -> viral or not, against the author's comparable videos
 *     write_video()    video -> milestones, events, database */
#include "rules/step.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "rules/milestones.h"
#include "store/author_days.h"

#include <stdlib.h>

enum { ARENA_BLOCK = 64 * 1024, SLOTS_LEAST = 64, FUTURE_MS = 60 * SECOND_MS };

/* The readings of one post in this step, merged. */
struct merged_readings {
    bool is_read, baseline;        /* is_read: there is a reading; baseline: there is a baseline reading */
    bool has_views;                /* there is a reading that measured views */
    int64_t readings;              /* number of readings of the post in this step */
    int64_t baseline_views, views; /* highest baseline and highest ordinary reading; COUNT_NONE: none */
    int64_t counts[COUNT_KINDS];   /* highest value of each other count, by enum count_kind */
    int64_t baseline_gain, gain;   /* by how much the readings raise the views of the post */
};

struct touched_video {
    struct video video;
    struct merged_readings posts[PLATFORM_COUNT]; /* parallel to video.posts */
    /* goes_viral: in this step; viral_event: the event of going viral must still be written. */
    bool changed, has_views, first_reading, goes_viral, viral_event;
    int64_t newest_reading_at; /* time of the video's newest reading, which may be later than the step */
    /* The views before the step, and the views that the baseline and the other readings add. */
    int64_t before, baseline_gain, gain;
};

struct str rejection_text(enum rejection rejection)
{
    switch (rejection) {
    case REJECTION_NONE: break;
    case REJECTION_UNKNOWN_POST: return STR("unknown post");
    case REJECTION_FUTURE: return STR("observed_at is more than 60 s in the future");
    case REJECTION_BEFORE_POST: return STR("observed_at is before the post's posted_at");
    case REJECTION_AFTER_LIFE: return STR("observed_at is after the video's posted_at + 30 days");
    case REJECTION_STALE: return STR("observed_at is older than the post's last reading");
    }
    return STR("");
}

void step_init(struct step *s, const struct step_rules *rules)
{
    *s = (struct step){.rules = *rules, .base_t = TIME_NONE};
    arena_init(&s->arena, ARENA_BLOCK);
}

void step_fini(struct step *s)
{
    arena_fini(&s->arena);
    VEC_FREE(&s->videos);
    VEC_FREE(&s->platform_gains);
    free(s->slots);
}

static void reset_slots(struct step *s, size_t count)
{
    if (count != s->slot_count) {
        free(s->slots);
        s->slots = xmalloc(count * sizeof s->slots[0]);
        s->slot_count = count;
    }
    memset(s->slots, 0, count * sizeof s->slots[0]);
}

void step_begin(struct step *s, struct store *store, int64_t observed_at_ms, int64_t now_ms)
{
    s->store = store;
    s->observed_at = observed_at_ms;
    s->now = now_ms;
    s->author_row = 0;
    s->videos.count = 0;
    s->platform_gains.count = 0;
    s->base_t = TIME_NONE;
    arena_reset(&s->arena);
    reset_slots(s, SLOTS_LEAST);
}

/* ---- touched videos ---- */

/* Returns the slot of the video, or the empty slot where it belongs. At least half of the slots are empty. */
static uint32_t *find_slot(const struct step *s, int64_t video_row)
{
    size_t i = (size_t)((uint64_t)video_row * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (s->slot_count - 1);
    while (s->slots[i] && s->videos.items[s->slots[i] - 1]->video.row != video_row)
        i = (i + 1) & (s->slot_count - 1);
    return &s->slots[i];
}

static struct touched_video *find_touched(const struct step *s, int64_t video_row)
{
    uint32_t n = *find_slot(s, video_row);
    return n ? s->videos.items[n - 1] : NULL;
}

static void add_touched(struct step *s, struct touched_video *v)
{
    *VEC_ADD(&s->videos) = v;
    *find_slot(s, v->video.row) = (uint32_t)s->videos.count;
    if (2 * s->videos.count < s->slot_count)
        return;
    reset_slots(s, 2 * s->slot_count);
    for (size_t i = 0; i < s->videos.count; i++)
        *find_slot(s, s->videos.items[i]->video.row) = (uint32_t)i + 1;
}

static const struct merged_readings nothing_merged = {
    .baseline_views = COUNT_NONE,
    .views = COUNT_NONE,
    .counts = {COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE},
};

static enum err load_touched(struct step *s, int64_t video_row, struct touched_video **out)
{
    *out = find_touched(s, video_row);
    if (*out)
        return OK;
    struct touched_video *v = arena_alloc(&s->arena, sizeof *v);
    enum err err = store_get_video(s->store, &s->arena, video_row, &v->video);
    if (err)
        return err;
    CHECK(s->author_row == 0 || s->author_row == v->video.author_row);
    s->author_row = v->video.author_row;
    for (size_t i = 0; i < PLATFORM_COUNT; i++)
        v->posts[i] = nothing_merged;
    add_touched(s, v);
    *out = v;
    return OK;
}

/* ---- adding readings ---- */

static void raise(int64_t *to, int64_t value)
{
    if (value > *to) /* COUNT_NONE is below every count */
        *to = value;
}

static void merge_reading(struct merged_readings *m, const struct reading *r)
{
    m->is_read = true;
    m->readings++;
    m->baseline = m->baseline || r->baseline;
    m->has_views = m->has_views || !r->lacks_views;
    raise(r->baseline ? &m->baseline_views : &m->views, r->counts[COUNT_VIEWS]);
    for (int k = COUNT_LIKES; k < COUNT_KINDS; k++)
        raise(&m->counts[k], r->counts[k]);
}

static enum rejection check_reading(const struct step *s, const struct video *video, const struct post *post)
{
    if (s->observed_at > s->now + FUTURE_MS)
        return REJECTION_FUTURE;
    if (s->observed_at < post->posted_at)
        return REJECTION_BEFORE_POST;
    if (s->observed_at > video->posted_at + VIDEO_LIFE_DAYS * (int64_t)DAY_MS)
        return REJECTION_AFTER_LIFE;
    if (s->observed_at < post->updated_at) /* TIME_NONE is before every time */
        return REJECTION_STALE;
    return REJECTION_NONE;
}

/* An import may correct the id of a post while a refresh run has a reading of the post with the old id. */
static bool is_post_of(const struct post *post, const struct reading *reading)
{
    return post->platform == reading->platform &&
           (!reading->post_id_hash || hash_64(post->post_id, 0) == reading->post_id_hash);
}

enum err step_add(struct step *s, const struct reading *reading, enum rejection *rejection)
{
    struct touched_video *v;
    enum err err = load_touched(s, reading->video_row, &v);
    *rejection = REJECTION_UNKNOWN_POST;
    if (err) /* the video may have been removed since its row was looked up */
        return err == ERR_NOT_FOUND ? OK : err;
    for (size_t i = 0; i < v->video.post_count; i++)
        if (is_post_of(&v->video.posts[i], reading)) {
            *rejection = check_reading(s, &v->video, &v->video.posts[i]);
            if (*rejection == REJECTION_NONE)
                merge_reading(&v->posts[i], reading);
        }
    return OK;
}

/* ---- applying the readings ---- */

static int64_t zero_or(int64_t count)
{
    return count > 0 ? count : 0;
}

/* A post's views are the highest of all its readings. Returns true if they changed. */
static bool apply_views(struct touched_video *v, struct post *post, struct merged_readings *m)
{
    const int64_t mark = post->counts[COUNT_VIEWS];
    int64_t now = mark;
    raise(&now, m->baseline_views);
    m->baseline_gain = zero_or(now) - zero_or(mark);
    int64_t with_baseline = now;
    raise(&now, m->views);
    m->gain = zero_or(now) - zero_or(with_baseline);
    v->baseline_gain += m->baseline_gain;
    v->gain += m->gain;
    post->counts[COUNT_VIEWS] = now;
    return now != mark;
}

static bool apply_post(const struct step *s, struct touched_video *v, struct post *post,
                       struct merged_readings *m)
{
    bool changed = m->has_views && s->observed_at != post->updated_at;
    if (m->has_views)
        post->updated_at = s->observed_at;
    if (apply_views(v, post, m))
        changed = true;
    for (int k = COUNT_LIKES; k < COUNT_KINDS; k++)
        if (m->counts[k] != COUNT_NONE && m->counts[k] != post->counts[k]) {
            post->counts[k] = m->counts[k];
            changed = true;
        }
    return changed;
}

/* If the same step is applied again, it changes no count and must not mark the video as changed. Otherwise
 * the threshold of the video would be recomputed from the present views of the other videos. */
static void apply_video(const struct step *s, struct touched_video *v, struct step_result *result)
{
    struct video *video = &v->video;
    v->before = video->views;
    for (size_t i = 0; i < video->post_count; i++)
        if (v->posts[i].is_read && !apply_post(s, v, &video->posts[i], &v->posts[i])) {
            result->unchanged += v->posts[i].readings;
        } else if (v->posts[i].is_read) {
            v->changed = true;
            v->has_views = v->has_views || v->posts[i].has_views;
            video->baseline_pending = video->baseline_pending || v->posts[i].baseline;
        }
    v->newest_reading_at = video->updated_at;
    if (!v->has_views)
        return;
    v->first_reading = video->updated_at == TIME_NONE;
    v->newest_reading_at = s->observed_at > video->updated_at ? s->observed_at : video->updated_at;
    video->updated_at = v->newest_reading_at;
    if (video->first_reading_at == TIME_NONE || s->observed_at < video->first_reading_at)
        video->first_reading_at = s->observed_at;
    video->baseline += v->baseline_gain;
    video->views += v->baseline_gain + v->gain;
}

static int by_id(const void *a, const void *b)
{
    struct touched_video *const *x = a, *const *y = b;
    return uuid_cmp(&(*x)->video.id, &(*y)->video.id);
}

/* Applies the readings of each video of the step. Then removes the unchanged videos and sorts the others by
 * id, which determines the order of the events. */
static void apply_all(struct step *s, struct step_result *result)
{
    size_t count = 0;
    for (size_t i = 0; i < s->videos.count; i++) {
        apply_video(s, s->videos.items[i], result);
        if (s->videos.items[i]->changed)
            s->videos.items[count++] = s->videos.items[i];
    }
    s->videos.count = count;
    if (count > 1)
        qsort(s->videos.items, count, sizeof(struct touched_video *), by_id);
    reset_slots(s, s->slot_count);
    for (size_t i = 0; i < count; i++)
        *find_slot(s, s->videos.items[i]->video.row) = (uint32_t)i + 1;
}

/* ---- the viral state ---- */

static enum err read_comparables(struct step *s, int64_t t)
{
    if (s->base_t == t)
        return OK;
    enum err err = comparables_read(&s->base, s->store, &s->rules, s->author_row, t);
    if (err)
        return err;
    for (size_t i = 0; i < s->base.count; i++) {
        const struct touched_video *v = find_touched(s, s->base.videos[i].video_row);
        if (v)
            s->base.videos[i].views = v->video.views;
    }
    comparables_sort(&s->base);
    s->base_t = t;
    return OK;
}

static enum err decide_viral(struct step *s, struct touched_video *v)
{
    struct video *video = &v->video;
    if (video->went_viral_at != TIME_NONE || !v->has_views)
        return OK;
    enum err err = read_comparables(s, v->newest_reading_at);
    if (err)
        return err;
    struct viral_comparison viral = comparables_compare(&s->base, &s->rules, video->row);
    if (v->gain > 0 && video->views >= viral.threshold) {
        v->goes_viral = true;
        v->viral_event = !(video->baseline_pending && video->baseline >= viral.threshold);
        video->viral = viral;
        video->went_viral_at = v->newest_reading_at - v->newest_reading_at % HOUR_MS;
        video->views_when_viral = video->views;
    } else if (viral.threshold > video->views) {
        video->viral = viral;
    }
    return OK;
}

static enum err write_event(struct step *s, const struct touched_video *v, struct event *event,
                            int64_t *written)
{
    if (v->newest_reading_at < s->rules.history_start_ms)
        return OK;
    event->occurred_at = v->newest_reading_at;
    event->author_row = v->video.author_row;
    event->video_row = v->video.row;
    ++*written;
    return store_insert_event(s->store, event, s->now);
}

static enum err write_viral_event(struct step *s, struct touched_video *v, struct step_result *result)
{
    struct event event = {
        .type = EVENT_WENT_VIRAL,
        .value = v->video.views_when_viral,
        .threshold = v->video.viral.threshold,
        .median = v->video.viral.median,
    };
    v->viral_event = false;
    return write_event(s, v, &event, &result->viral_events);
}

static enum err write_milestone_event(struct step *s, struct touched_video *v, int64_t value,
                                      struct step_result *result)
{
    struct event event = {.type = EVENT_MILESTONE_REACHED, .value = value, .median = COUNT_NONE};
    return write_event(s, v, &event, &result->milestone_events);
}

/* Appends the milestones of this step and writes the events, ordered by value. */
static enum err reach_milestones(struct step *s, struct touched_video *v, struct step_result *result)
{
    struct video *video = &v->video;
    int64_t values[MILESTONES_MAX];
    /* A correction may have lowered the views below milestones that were reached (store/lower_views.h). */
    const int64_t reached = video->milestone_count ? video->milestones[video->milestone_count - 1].value : 0;
    size_t n = milestones_between(reached > v->before ? reached : v->before, video->views, values);
    enum err err = OK;
    if (video->milestone_count + n > MILESTONES_MAX)
        return ERR_CORRUPT;
    result->milestones += (int64_t)n;
    for (size_t i = 0; i < n && !err; i++) {
        video->milestones[video->milestone_count++] = (struct milestone){values[i], v->newest_reading_at};
        if (values[i] <= v->before + v->baseline_gain)
            continue; /* only the baseline reached it, so there is no event */
        if (v->viral_event && video->viral.threshold < values[i])
            err = write_viral_event(s, v, result);
        if (!err)
            err = write_milestone_event(s, v, values[i], result);
    }
    if (!err && v->viral_event)
        err = write_viral_event(s, v, result);
    return err;
}

/* ---- gains by platform ---- */

struct platform_gain {
    int32_t day; /* or DAY_BASELINE */
    enum platform platform;
    int64_t gained;
};

/* A linear search is sufficient, because a step has few of these gains. Almost all are gains of one day; only
 * a video with a reading that is newer than the step adds another day. */
static void add_platform_gain(struct step *s, int32_t day, enum platform platform, int64_t gained)
{
    if (!gained)
        return;
    for (size_t i = 0; i < s->platform_gains.count; i++) {
        struct platform_gain *g = &s->platform_gains.items[i];
        if (g->day == day && g->platform == platform) {
            g->gained = gained < AUTHOR_GAINED_MAX - g->gained ? g->gained + gained : AUTHOR_GAINED_MAX;
            return;
        }
    }
    *VEC_ADD(&s->platform_gains) = (struct platform_gain){day, platform, gained};
}

static void add_platform_gains(struct step *s, const struct touched_video *v)
{
    for (size_t i = 0; i < v->video.post_count; i++) {
        add_platform_gain(s, date_of(v->newest_reading_at), v->video.posts[i].platform, v->posts[i].gain);
        add_platform_gain(s, DAY_BASELINE, v->video.posts[i].platform, v->posts[i].baseline_gain);
    }
}

static enum err write_platform_gains(struct step *s)
{
    enum err err = OK;
    for (size_t i = 0; i < s->platform_gains.count && !err; i++) {
        const struct platform_gain *g = &s->platform_gains.items[i];
        err = store_add_platform_gain(s->store, s->author_row, g->day, g->platform, g->gained);
    }
    return err;
}

static enum err write_video(struct step *s, struct touched_video *v, struct step_result *result)
{
    result->viral_by_baseline += v->goes_viral && !v->viral_event; /* before the event is written */
    enum err err = reach_milestones(s, v, result);
    if (!err)
        err = store_save_gain(s->store, &s->arena, &v->video, v->goes_viral, date_of(v->newest_reading_at),
                              v->gain);
    add_platform_gains(s, v);
    result->videos_changed++;
    result->gained += v->gain;
    result->baseline += v->baseline_gain;
    result->went_viral += v->goes_viral;
    return err;
}

/* ---- finishing the step ---- */

static int64_t latest_t(const struct step *s)
{
    int64_t t = TIME_NONE;
    for (size_t i = 0; i < s->videos.count; i++)
        if (s->videos.items[i]->newest_reading_at > t)
            t = s->videos.items[i]->newest_reading_at;
    return t;
}

/* Saves the videos that this step makes comparable. Call before the comparable videos are read. */
static enum err save_first_readings(struct step *s, int64_t t)
{
    enum err err = OK;
    for (size_t i = 0; i < s->videos.count && !err; i++) {
        const struct touched_video *v = s->videos.items[i];
        if (v->first_reading && v->video.posted_at <= t - s->rules.compare_min_age_ms)
            err = store_save_counts(s->store, &v->video, false);
    }
    return err;
}

enum err step_finish(struct step *s, struct step_result *result)
{
    apply_all(s, result);
    if (s->videos.count == 0)
        return OK;
    const int64_t t = latest_t(s);
    enum err err = save_first_readings(s, t);
    for (size_t i = 0; i < s->videos.count && !err; i++)
        err = decide_viral(s, s->videos.items[i]);
    for (size_t i = 0; i < s->videos.count && !err; i++)
        err = write_video(s, s->videos.items[i], result);
    if (!err)
        err = write_platform_gains(s);
    return err ? err : store_touch_author(s->store, s->author_row, t);
}
