/* Reads an author's posts and accounts, and builds the group of posts of one platform. */
#include "fetch/author_plan.h"

#include "base/check.h"
#include "base/clock.h"
#include "store/runs.h"

enum { PLAN_BLOCK = 64 * 1024 };

void author_plan_init(struct author_plan *p, struct run *run, struct api_queue apis[PLATFORM_APIS])
{
    *p = (struct author_plan){.run = run, .apis = apis};
    arena_init(&p->arena, PLAN_BLOCK);
    for (int api = 0; api < PLATFORM_APIS; api++)
        if (apis[api].throttle->configured)
            p->has_source[apis[api].throttle->desc->platform] = true;
}

void author_plan_fini(struct author_plan *p)
{
    arena_fini(&p->arena);
    VEC_FREE(&p->posts);
    VEC_FREE(&p->accounts);
}

/* --- reading the author's videos and accounts --- */

static bool on_video(void *ctx, const struct video *video)
{
    struct author_plan *p = ctx;
    for (size_t i = 0; i < video->post_count; i++) {
        const struct post *post = &video->posts[i];
        if (post->posted_at > p->now || !p->has_source[post->platform])
            continue;
        *VEC_ADD(&p->posts) = (struct plan_post){
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
    struct author_plan *p = ctx;
    if (c->api < 0 || c->api >= PLATFORM_APIS || !p->apis[c->api].throttle->has_app)
        return true;
    *VEC_ADD(&p->accounts) = (struct credential){
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

enum err author_plan_read(struct author_plan *p, int64_t author_row)
{
    struct store *store = run_store(p->run);
    p->now = clock_wall_ms();
    p->posts.count = p->accounts.count = 0;
    arena_reset(&p->arena);
    enum err err =
        store_list_live_videos(store, author_row, p->now - VIDEO_LIFE_DAYS * DAY_MS, p->now, on_video, p);
    if (!err && p->posts.count)
        err = store_list_author_credentials(store, author_row, on_account, p);
    return err ? run_fail_database(p->run, err) : OK;
}

static bool is_connected_to(const struct credential *c, enum platform platform)
{
    return platform_desc((enum platform_api)c->api)->platform == platform && c->state == CREDENTIAL_CONNECTED;
}

const struct credential *author_plan_account(const struct author_plan *p, enum platform platform)
{
    for (size_t i = 0; i < p->accounts.count; i++)
        if (is_connected_to(&p->accounts.items[i], platform))
            return &p->accounts.items[i];
    return NULL;
}

bool author_plan_reads_without_account(const struct author_plan *p, enum platform platform)
{
    return platform == PLATFORM_YOUTUBE && p->apis[API_YOUTUBE].key;
}

/* --- grouping the accounts, adding due posts --- */

static void add_account(struct author_plan *p, struct author_posts *group, const struct credential *c)
{
    struct fetch_account *a = &group->accounts[group->account_count++];
    fetch_account_init(a, &p->apis[c->api], group);
    a->row = c->row;
    a->version = c->version;
    a->account_id = arena_copy(&group->arena, c->account_id);
    a->is_personal = c->is_personal;
    if (c->tier_until <= p->now)
        return;
    a->tier = c->tier;
    (void)text_copy(a->dropped_metrics, sizeof a->dropped_metrics, c->dropped);
}

static struct author_posts *new_group(struct author_plan *p, struct post_window *window)
{
    struct author_posts *group = author_posts_new(window);
    group->accounts = arena_alloc(&group->arena, p->accounts.count * sizeof *group->accounts);
    for (size_t i = 0; i < p->accounts.count; i++)
        if (is_connected_to(&p->accounts.items[i], window->platform))
            add_account(p, group, &p->accounts.items[i]);
    return group;
}

/* Returns the account through which the post is read first, or NULL if none exists. Clears
 * record->credential_row if the author no longer has this account. */
static struct fetch_account *first_account(const struct author_plan *p, struct author_posts *group,
                                           struct platform_post *record)
{
    const int64_t row = record->credential_row;
    const bool has_key = author_plan_reads_without_account(p, group->window->platform);
    struct fetch_account *key = has_key ? p->apis[API_YOUTUBE].key : NULL;
    for (size_t i = 0; i < group->account_count && row; i++)
        if (group->accounts[i].row == row)
            return &group->accounts[i];
    for (size_t i = 0; i < p->accounts.count && row; i++)
        if (p->accounts.items[i].row == row) /* the account exists but must be reconnected */
            return key;
    record->credential_row = 0;
    if (key)
        return key;
    return group->account_count ? &group->accounts[0] : NULL;
}

static bool is_due(const struct plan_post *post, const struct platform_post *record, bool by_age, int64_t now)
{
    if (!missing_is_due((int)record->misses, record->missed_since, record->requested_at, now))
        return false;
    const uint64_t key = (uint64_t)post->video_row * UINT64_C(0x9E3779B97F4A7C15) >> 32;
    return !by_age || read_is_due(age_class_of(post->posted_at, now), key, post->read_at, now);
}

static enum err load_record(const struct author_plan *p, struct author_posts *group,
                            const struct plan_post *post, struct platform_post *record)
{
    const enum err err =
        store_get_platform_post(run_store(p->run), &group->arena, post->platform, post->post_id, record);
    if (err && err != ERR_NOT_FOUND)
        return run_fail_database(p->run, err);
    if (err)
        *record = (struct platform_post){
            .platform = post->platform, .missed_since = TIME_NONE, .requested_at = TIME_NONE};
    record->post_id = arena_copy(&group->arena, post->post_id);
    return OK;
}

static enum err add_post(const struct author_plan *p, struct author_posts *group,
                         const struct plan_post *post, bool by_age)
{
    struct post_window *window = group->window;
    struct platform_post record;
    if (!platform_id_is_plain(post->post_id)) { /* the id could alter the request, or address another post */
        run_count(window->run, window->platform, RUN_PERMANENT, 1);
        return OK;
    }
    const enum err err = load_record(p, group, post, &record);
    if (err)
        return err;
    if (record.is_permanent || !is_due(post, &record, by_age, p->now)) {
        run_count(window->run, window->platform, record.is_permanent ? RUN_PERMANENT : RUN_NOT_DUE, 1);
        return OK;
    }
    struct fetch_account *account = first_account(p, group, &record);
    if (!account)
        return OK;
    struct pending_post *pending = arena_alloc(&group->arena, sizeof *pending);
    *pending = (struct pending_post){
        .group = group,
        .video_row = post->video_row,
        .video_posted_at = post->video_posted_at,
        .posted_at = post->posted_at,
        .read_at = post->read_at,
        .record = record,
    };
    list_init(&pending->link);
    group->open++;
    group->by_key += !account->row;
    fetch_account_add(account, pending);
    return OK;
}

enum err author_plan_load(struct author_plan *p, const struct plan_selection *selection,
                          struct author_posts **out)
{
    enum err err = OK;
    *out = NULL;
    for (size_t i = 0; i < p->posts.count && !err; i++) {
        const struct plan_post *post = &p->posts.items[i];
        const int pass = age_class_of(post->posted_at, p->now) == AGE_DAY ? 0 : 1;
        if (post->platform != selection->window->platform ||
            (selection->pass != READ_ALL_AGES && pass != selection->pass))
            continue;
        if (!*out)
            *out = new_group(p, selection->window);
        err = add_post(p, *out, post, selection->by_age);
    }
    if (*out && (*out)->open == 0) {
        author_posts_free(*out);
        *out = NULL;
    }
    return err;
}
