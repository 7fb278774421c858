/* Counts the posts of all authors, and the calls that are needed to read them. */
#include "fetch/survey.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/plural.h"
#include "store/runs.h"

#include <inttypes.h>

enum { HEARTBEAT_AUTHORS = 64 }; /* number of authors between two calls of run_heartbeat() */

struct survey {
    int64_t posts[PLATFORM_COUNT][AGE_CLASSES];
    int64_t calls[PLATFORM_APIS];
    int64_t posts_by_key; /* posts read with YouTube's API key; one call can read posts of several authors */
};

static int64_t sum(const int64_t posts[AGE_CLASSES])
{
    return posts[AGE_DAY] + posts[AGE_WEEK] + posts[AGE_OLDER];
}

static int64_t calls_for(const struct api_queue *api, int tier, int64_t posts)
{
    const int per_call = throttle_ids_per_call(api->throttle, CALL_READ, tier);
    return (posts + per_call - 1) / per_call;
}

static void count_platform(const struct author_plan *p, struct survey *s, enum platform platform,
                           const int64_t posts[AGE_CLASSES])
{
    const struct credential *account = author_plan_account(p, platform);
    const bool has_key = author_plan_reads_without_account(p, platform);
    if (!account && !has_key)
        return;
    for (int age = 0; age < AGE_CLASSES; age++)
        s->posts[platform][age] += posts[age];
    if (has_key)
        s->posts_by_key += sum(posts);
    else
        s->calls[account->api] +=
            calls_for(&p->apis[account->api], account->tier_until > p->now ? account->tier : 0, sum(posts));
}

static void count_author(const struct author_plan *p, struct survey *s)
{
    int64_t posts[PLATFORM_COUNT][AGE_CLASSES] = {{0}};
    for (size_t i = 0; i < p->posts.count; i++) {
        const struct plan_post *post = &p->posts.items[i];
        posts[post->platform][age_class_of(post->posted_at, p->now)]++;
    }
    for (int platform = 0; platform < PLATFORM_COUNT; platform++)
        if (sum(posts[platform]))
            count_platform(p, s, (enum platform)platform, posts[platform]);
}

/* Returns how many posts each run reads if older posts are read less often. */
static int64_t posts_by_age(const int64_t posts[AGE_CLASSES])
{
    int64_t n = 0;
    for (int age = 0; age < AGE_CLASSES; age++) {
        const int hours = read_interval_hours((enum age_class)age);
        n += (posts[age] + hours - 1) / hours;
    }
    return n;
}

/* Decides whether older posts are read less often: if the limits do not allow reading every post in every
 * run, or if the last run left a backlog. In that case, sets walk->by_age. Returns the number of planned
 * calls. */
static int64_t decide_intervals(const struct throttle *t, struct platform_walk *walk,
                                const int64_t posts[AGE_CLASSES], int64_t calls, int64_t deadline_s)
{
    const int64_t all = sum(posts);
    if (calls <= throttle_capacity(t, deadline_s) && !t->backlog)
        return calls;
    walk->by_age = true;
    walk->passes = 2;
    log_warn("platforms: %s: %s (%" PRId64 " post%s): posts older than a day are read every 6 hours, and "
             "posts older than a week once a day",
             t->desc->name,
             t->backlog ? "the previous run could not read all posts" : "the quota or rate limit is too low",
             all, plural(all, "", "s"));
    return all ? calls * posts_by_age(posts) / all + 1 : calls;
}

static void decide(const struct survey *s, const struct config *config, struct api_queue apis[PLATFORM_APIS],
                   struct platform_walk walks[PLATFORM_COUNT])
{
    const int64_t deadline_s = config->platforms.deadline_s;
    const int64_t pace_s = config->platforms.pace_s < deadline_s ? config->platforms.pace_s : deadline_s;
    for (int api = 0; api < PLATFORM_APIS; api++) {
        struct throttle *t = apis[api].throttle;
        const enum platform platform = t->desc->platform;
        if (!t->configured)
            continue;
        const int64_t planned =
            decide_intervals(t, &walks[platform], s->posts[platform], s->calls[api], deadline_s);
        t->pace.retries_max = retry_budget(planned, config->platforms.retry_percent);
        spread_init(&t->pace.spread, clock_mono_ms(), pace_s * SECOND_MS, planned);
    }
    for (int p = 0; p < PLATFORM_COUNT; p++)
        walks[p].planned = sum(s->posts[p]);
}

static enum err count_all(struct author_plan *p, struct survey *s)
{
    int64_t author_row = 0;
    for (int n = 0;; n++) {
        enum err err = n % HEARTBEAT_AUTHORS == 0 ? run_heartbeat(p->run) : OK;
        if (err)
            return err;
        err = store_find_next_author(run_store(p->run), author_row, &author_row);
        if (err)
            return err == ERR_NOT_FOUND ? OK : run_fail_database(p->run, err);
        err = author_plan_read(p, author_row);
        if (err)
            return err;
        count_author(p, s);
    }
}

enum err survey_make(struct run *run, struct api_queue apis[PLATFORM_APIS],
                     struct platform_walk walks[PLATFORM_COUNT])
{
    struct survey s = {.posts_by_key = 0};
    struct author_plan plan;
    author_plan_init(&plan, run, apis);
    const enum err err = count_all(&plan, &s);
    author_plan_fini(&plan);
    if (err)
        return err;
    if (apis[API_YOUTUBE].key)
        s.calls[API_YOUTUBE] += calls_for(&apis[API_YOUTUBE], 0, s.posts_by_key);
    decide(&s, run_config(run), apis, walks);
    return OK;
}
