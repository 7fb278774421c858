/* What is to be asked for, author by author: the live posts and the accounts that can be asked for them, how
 * many calls that makes, and whether there are too many of them. */
#include "fetch/engine.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PLAN_BLOCK = 64 * 1024, PART_BLOCK = 4096, TURN_AUTHORS = 64 };

void plan_init(struct plan *p)
{
    *p = (struct plan){0};
    arena_init(&p->arena, PLAN_BLOCK);
}

void plan_fini(struct plan *p)
{
    arena_fini(&p->arena);
    free(p->posts);
    free(p->accounts);
}

/* --- an author --- */

struct reading_in {
    struct plan *plan;
    struct engine *engine;
    int64_t now;
};

static bool on_video(void *ctx, const struct video *video)
{
    const struct reading_in *in = ctx;
    struct plan *p = in->plan;
    for (size_t i = 0; i < video->post_count; i++) {
        const struct post *post = &video->posts[i];
        if (post->posted_at > in->now || !in->engine->lanes[post->platform].active)
            continue;
        if (p->post_count == p->post_cap) {
            p->post_cap = p->post_cap ? 2 * p->post_cap : 256;
            p->posts = xrealloc(p->posts, p->post_cap * sizeof *p->posts);
        }
        p->posts[p->post_count++] = (struct plan_post){
            .video_row = video->row,
            .video_posted_at = video->posted_at,
            .posted_at = post->posted_at,
            .read_at = post->updated_at,
            .platform = post->platform,
            .post_id = arena_copy(&p->arena, post->post_id),
        };
    }
    return true;
}

static bool on_account(void *ctx, const struct credential *c)
{
    const struct reading_in *in = ctx;
    struct plan *p = in->plan;
    if (c->api < 0 || c->api >= PLATFORM_APIS || !in->engine->gates[c->api].active)
        return true;
    if (p->account_count == p->account_cap) {
        p->account_cap = p->account_cap ? 2 * p->account_cap : 16;
        p->accounts = xrealloc(p->accounts, p->account_cap * sizeof *p->accounts);
    }
    p->accounts[p->account_count++] = (struct credential){
        .row = c->row,
        .author_row = c->author_row,
        .api = c->api,
        .account_id = arena_copy(&p->arena, c->account_id),
        .state = c->state,
        .version = c->version,
        .tier = c->tier,
        .dropped = arena_copy(&p->arena, c->dropped),
        .tier_until = c->tier_until,
        .is_personal = c->is_personal,
    };
    return true;
}

enum err plan_read(struct plan *p, struct engine *e, int64_t author_row, int64_t now)
{
    struct reading_in in = {.plan = p, .engine = e, .now = now};
    p->post_count = p->account_count = 0;
    arena_reset(&p->arena);
    enum err err = store_list_live(e->store, author_row, now - VIDEO_LIFE_DAYS * DAY_MS, now, on_video, &in);
    if (!err && p->post_count)
        err = store_list_author_credentials(e->store, author_row, on_account, &in);
    return err ? run_fail(e->run, err, "the database says: %s", err_name(err)) : OK;
}

static bool is_of(const struct credential *c, enum platform platform)
{
    return platform_desc((enum platform_api)c->api)->platform == platform;
}

static bool is_askable(const struct credential *c, enum platform platform)
{
    return is_of(c, platform) && c->state == CREDENTIAL_FINE;
}

static bool has_key(const struct engine *e, enum platform platform)
{
    return platform == PLATFORM_YOUTUBE && e->gates[API_YOUTUBE].key;
}

/* --- all of them --- */

struct survey {
    int64_t posts[PLATFORM_COUNT][RUNGS];
    int64_t of_gate[PLATFORM_APIS]; /* posts, */
    int64_t calls[PLATFORM_APIS];   /* and calls for them */
};

static void survey_gate(struct engine *e, struct survey *s, enum platform_api api, int tier, int64_t posts)
{
    const int per_call = gate_ids_per_call(&e->gates[api], CALL_READ, tier);
    s->of_gate[api] += posts;
    s->calls[api] += (posts + per_call - 1) / per_call;
}

static void survey_author(struct engine *e, const struct plan *p, struct survey *s, int64_t now)
{
    int64_t posts[PLATFORM_COUNT][RUNGS] = {{0}};
    for (size_t i = 0; i < p->post_count; i++)
        posts[p->posts[i].platform][ladder_rung_of(p->posts[i].posted_at, now)]++;
    for (int platform = 0; platform < PLATFORM_COUNT; platform++) {
        const int64_t all = posts[platform][0] + posts[platform][1] + posts[platform][2];
        const struct credential *account = NULL;
        for (size_t i = 0; i < p->account_count && !account; i++)
            if (is_askable(&p->accounts[i], (enum platform)platform))
                account = &p->accounts[i];
        if (!all || (!account && !has_key(e, (enum platform)platform)))
            continue;
        for (int rung = 0; rung < RUNGS; rung++)
            s->posts[platform][rung] += posts[platform][rung];
        if (has_key(e, (enum platform)platform))
            s->of_gate[API_YOUTUBE] += all;
        else
            survey_gate(e, s, (enum platform_api)account->api, account->tier_until > now ? account->tier : 0,
                        all);
    }
}

static int64_t on_ladder(const int64_t posts[RUNGS])
{
    int64_t sum = 0;
    for (int rung = 0; rung < RUNGS; rung++)
        sum +=
            (posts[rung] + ladder_hours((enum ladder_rung)rung) - 1) / ladder_hours((enum ladder_rung)rung);
    return sum;
}

/* How many calls of it one run may make, as far as that is known before. */
static int64_t capacity_of(const struct engine *e, const struct gate *g)
{
    int64_t most = g->share;
    if (g->pace.bucket.per_minute) {
        const int64_t by_rate = g->pace.bucket.per_minute * e->config->platforms.deadline_s / 60;
        most = by_rate < most ? by_rate : most;
    }
    return most;
}

static void decide_ladder(struct engine *e, struct gate *g, const struct survey *s)
{
    const enum platform platform = g->desc->platform;
    struct lane *lane = &e->lanes[platform];
    const int64_t *posts = s->posts[platform];
    const int64_t all = posts[0] + posts[1] + posts[2], capacity = capacity_of(e, g);
    if (g->planned <= capacity && !g->behind)
        return;
    lane->ladder = true;
    lane->passes = 2;
    if (all)
        g->planned = g->planned * on_ladder(posts) / all + 1;
    log_warn("platforms: %s: %" PRId64 " posts are more than %s; those older than a day are asked for every "
             "6 hours, older than a week once a day",
             g->desc->name, all,
             g->behind ? "the last run came to the end of" : "the quota or the limit of calls is enough for");
}

static void decide(struct engine *e, const struct survey *s)
{
    const int64_t now = clock_mono_ms(), deadline_s = e->config->platforms.deadline_s;
    const int64_t pace_s =
        e->config->platforms.pace_s < deadline_s ? e->config->platforms.pace_s : deadline_s;
    for (int api = 0; api < PLATFORM_APIS; api++) {
        struct gate *g = &e->gates[api];
        if (!g->active)
            continue;
        g->planned = s->calls[api];
        decide_ladder(e, g, s);
        g->pace.retries_max = retry_budget(g->planned, e->config->platforms.retry_percent);
        spread_init(&g->pace.spread, now, pace_s * SECOND_MS, g->planned);
    }
    for (int p = 0; p < PLATFORM_COUNT; p++)
        e->lanes[p].planned = s->posts[p][0] + s->posts[p][1] + s->posts[p][2];
}

enum err plan_survey(struct engine *e)
{
    struct survey s = {{{0}}, {0}, {0}};
    struct plan plan;
    int64_t author_row = 0;
    const int64_t now = clock_wall_ms();
    enum err err = OK;
    plan_init(&plan);
    for (int n = 0; !err; n++) {
        if (n % TURN_AUTHORS == 0)
            err = run_heartbeat(e->run);
        if (!err)
            err = store_next_author(e->store, author_row, &author_row);
        if (err == ERR_NOT_FOUND)
            break;
        if (!err)
            err = plan_read(&plan, e, author_row, now);
        if (!err)
            survey_author(e, &plan, &s, now);
    }
    plan_fini(&plan);
    if (err && err != ERR_NOT_FOUND)
        return err == ERR_CANCELLED ? err : run_fail(e->run, err, "the database says: %s", err_name(err));
    /* With a key, posts of everybody go into the same calls. */
    if (e->gates[API_YOUTUBE].key)
        survey_gate(e, &s, API_YOUTUBE, 0, s.of_gate[API_YOUTUBE]);
    decide(e, &s);
    return OK;
}

/* --- a part --- */

static void part_accounts(struct engine *e, const struct plan *p, struct part *part)
{
    const int64_t now = clock_wall_ms();
    size_t count = 0;
    for (size_t i = 0; i < p->account_count; i++)
        count += is_askable(&p->accounts[i], part->platform);
    count = count < ACCOUNTS_MAX ? count : ACCOUNTS_MAX;
    part->accounts = arena_alloc(&part->arena, count * sizeof *part->accounts);
    for (size_t i = 0; i < p->account_count && part->account_count < count; i++) {
        const struct credential *c = &p->accounts[i];
        if (!is_askable(c, part->platform))
            continue;
        struct account *a = &part->accounts[part->account_count++];
        account_init(a, &e->gates[c->api], part);
        a->row = c->row;
        a->version = c->version;
        a->account_id = arena_copy(&part->arena, c->account_id);
        a->is_personal = c->is_personal;
        if (c->tier_until > now) {
            a->tier = c->tier;
            (void)str_put(a->dropped_metrics, sizeof a->dropped_metrics, c->dropped);
        }
    }
}

static struct part *part_new(struct engine *e, const struct plan *p, const struct lane *lane)
{
    struct part *part = xcalloc(1, sizeof *part);
    list_init(&part->link);
    part->platform = lane->platform;
    arena_init(&part->arena, PART_BLOCK);
    part_accounts(e, p, part);
    return part;
}

/* Whom to ask for it first; NULL: nobody can be. */
static struct account *first_account(struct engine *e, const struct plan *p, struct part *part,
                                     struct ask *ask)
{
    const int64_t row = ask->known.credential_row;
    for (size_t i = 0; i < part->account_count && row; i++)
        if (part->accounts[i].row == row)
            return &part->accounts[i];
    for (size_t i = 0; i < p->account_count && row; i++)
        if (p->accounts[i].row == row) /* it is there, but its author has to sign in */
            return NULL;
    ask->known.credential_row = 0;
    if (has_key(e, part->platform))
        return e->gates[API_YOUTUBE].key;
    return part->account_count ? &part->accounts[0] : NULL;
}

static bool is_due(const struct lane *lane, const struct plan_post *post, const struct platform_post *known,
                   int64_t now)
{
    if (known->is_permanent || !missing_is_due((int)known->misses, known->missed_since, known->asked_at, now))
        return false;
    const uint64_t key = (uint64_t)post->video_row * UINT64_C(0x9E3779B97F4A7C15) >> 32;
    return !lane->ladder || ladder_is_due(ladder_rung_of(post->posted_at, now), key, post->read_at, now);
}

static enum err add_ask(struct engine *e, struct plan *p, const struct lane *lane, struct part *part,
                        const struct plan_post *post, int64_t now)
{
    struct platform_post known;
    if (!platform_id_is_plain(post->post_id)) { /* would be another request, or another's */
        run_count(e->run, part->platform, RUN_PERMANENT, 1);
        return OK;
    }
    enum err err = store_get_platform_post(e->store, &part->arena, post->platform, post->post_id, &known);
    if (err == ERR_NOT_FOUND)
        known = (struct platform_post){
            .platform = post->platform, .missed_since = TIME_NONE, .asked_at = TIME_NONE};
    else if (err)
        return run_fail(e->run, err, "the database says: %s", err_name(err));
    if (!is_due(lane, post, &known, now)) {
        run_count(e->run, part->platform, RUN_PUT_OFF, 1);
        return OK;
    }
    struct ask *ask = arena_alloc(&part->arena, sizeof *ask);
    list_init(&ask->link);
    known.post_id = arena_copy(&part->arena, post->post_id);
    *ask = (struct ask){
        .link = ask->link,
        .part = part,
        .video_row = post->video_row,
        .video_posted_at = post->video_posted_at,
        .posted_at = post->posted_at,
        .read_at = post->read_at,
        .known = known,
    };
    list_init(&ask->link);
    struct account *account = first_account(e, p, part, ask);
    if (!account)
        return OK;
    part->open++;
    ask_queue(account, ask);
    return OK;
}

enum err plan_part(struct engine *e, struct plan *p, const struct lane *lane, int64_t author_row,
                   struct part **out)
{
    const int64_t now = clock_wall_ms();
    *out = NULL;
    enum err err = plan_read(p, e, author_row, now);
    for (size_t i = 0; i < p->post_count && !err; i++) {
        const struct plan_post *post = &p->posts[i];
        const bool fresh = ladder_rung_of(post->posted_at, now) == RUNG_DAY;
        if (post->platform != lane->platform || (lane->passes > 1 && fresh != (lane->at.pass == 0)))
            continue;
        if (!*out)
            *out = part_new(e, p, lane);
        err = add_ask(e, p, lane, *out, post, now);
    }
    return err;
}
