/* The event loop of a run:
 *
 *   load state -> survey -> open, run and close the loop -> write the remaining results
 *                                 |
 *                                 |  pump(), after each call and by timer: loads posts into the windows,
 *                                 |  starts calls, applies results
 *                                 `- ends if all posts have a result and the upkeep of tokens is done, at the
 *                                    deadline, or if the run stops
 *
 * Database transactions run on the loop's thread, too. They delay the handling of responses, which does no
 * harm. */
#include "fetch/fetch.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "fetch/outcome.h"
#include "fetch/survey.h"
#include "fetch/token_upkeep.h"

#include <stdlib.h>

enum { TICK_MS = 200, APPLY_MS = 100, FLUSH_MS = 2000, FLUSH_READINGS = 2000 };

struct engine {
    struct run *run;
    const struct config *config;
    uv_loop_t loop;
    uv_timer_t tick;
    struct http_client *http;
    bool http_closed;
    struct seal_keys *keys;
    struct token_sender sender;
    struct token_refresher *refresher;

    enum err err;  /* the error that stops the run early */
    bool stopping; /* no new calls begin */
    bool pumping;  /* pump() is running; calls of pump() within it do nothing */
    int64_t deadline, heartbeat_at, applied_at, flushed_at; /* monotonic */
    int64_t first_author, next_first_author; /* rows of the authors with whom this run and the next run begin
                                                (platform_walk.h) */

    struct throttle throttles[PLATFORM_APIS];
    struct api_queue apis[PLATFORM_APIS];
    struct fetch_account api_key; /* YouTube's API key */
    struct platform_walk walks[PLATFORM_COUNT];
    struct author_plan plan;
    struct api_calls calls;
    struct outcome_handler outcomes;
    struct rejections rejections;
    struct token_upkeep upkeep;
    struct result_set results;
    struct pending_writes writes;
};

static void stop_on_error(struct engine *e, enum err err)
{
    if (!err)
        return;
    if (!e->err)
        e->err = err;
    e->stopping = true;
}

/* --- starting and completing calls --- */

static void handle_result(struct engine *e, struct api_call *call, struct call_result *result)
{
    for (;;) {
        if (result->kind == CALL_STORE_FAILED)
            stop_on_error(e, result->err);
        if (outcome_apply(&e->outcomes, call, result) == CALL_FINISH)
            break;
        if (api_call_refresh_token(call, result) == NEXT_WAIT)
            return;
    }
    api_call_finish(call);
}

static void pump(struct engine *e);

static void on_call_done(void *ctx, struct api_call *call, struct call_result *result)
{
    struct engine *e = ctx;
    handle_result(e, call, result);
    pump(e);
}

static void on_upkeep_progressed(void *ctx)
{
    pump(ctx);
}

static void start_call(struct engine *e, struct fetch_account *account, struct call_batch *batch)
{
    struct call_result result;
    if (api_call_start(&e->calls, account, batch, &result) == NEXT_MORE)
        handle_result(e, result.call, &result);
}

/* Returns the first account that can send now. If none can, returns NULL and sets `*soonest` to the earliest
 * time at which an account can send. Abandons accounts that cannot send before the deadline. */
static struct fetch_account *next_account(struct engine *e, struct api_queue *api, int64_t now,
                                          int64_t *soonest)
{
    struct list *l = api->ready.next;
    *soonest = PACE_NEVER;
    while (l != &api->ready) {
        struct fetch_account *account = LIST_ENTRY(l, struct fetch_account, link);
        int64_t at;
        if (!account->abandoned && fetch_account_is_ready(account, now, &at))
            return account;
        if (account->abandoned || at >= e->deadline) {
            fetch_account_abandon(account);
            /* Start again, because the group's other accounts may have left the list, too. */
            l = api->ready.next;
            continue;
        }
        *soonest = at < *soonest ? at : *soonest;
        l = l->next;
    }
    return NULL;
}

/* Starts the calls of one API that may begin now. Returns the monotonic time at which the next call may
 * begin. Returns PACE_NEVER if another call must end first, if no posts are queued, or if no more calls begin
 * in this run. */
static int64_t start_api_calls(struct engine *e, struct api_queue *api, int64_t now)
{
    const struct throttle *t = api->throttle;
    if (t->closed)
        api_queue_close(api);
    while (!e->stopping && !t->closed && !list_is_empty(&api->ready)) {
        const int64_t at = throttle_ready_at(t, now);
        int64_t soonest;
        if (at != PACE_NEVER && at >= e->deadline) {
            log_warn(
                "platforms: %s: because of a rate limit, a quota, a pause or an open circuit, no more calls "
                "can begin in this run (see viewtally platform status); a later run reads the remaining "
                "posts",
                t->desc->name);
            api_queue_close(api);
            break;
        }
        if (at > now)
            return at;
        struct fetch_account *account = next_account(e, api, now, &soonest);
        if (!account)
            return soonest;
        list_remove(&account->link); /* round robin */
        list_add_last(&api->ready, &account->link);
        start_call(e, account, fetch_account_next_batch(account, now));
    }
    return PACE_NEVER;
}

/* Starts the calls that may begin now. Returns the milliseconds until pump() must run again, at most TICK_MS.
 */
static int64_t start_calls(struct engine *e)
{
    const int64_t now = clock_mono_ms();
    int64_t soonest = now + TICK_MS;
    if (now >= e->deadline)
        return 0;
    for (int api = 0; api < PLATFORM_APIS; api++) {
        if (!e->throttles[api].configured)
            continue;
        const int64_t at = start_api_calls(e, &e->apis[api], now);
        soonest = at < soonest ? at : soonest;
    }
    for (int p = 0; p < PLATFORM_COUNT; p++)
        if (e->walks[p].has_more)
            soonest = now;
    return soonest > now ? soonest - now : 0;
}

/* --- pump(): all work that can be done now --- */

static bool is_done(const struct engine *e)
{
    for (int p = 0; p < PLATFORM_COUNT; p++)
        if (!platform_walk_is_done(&e->walks[p]))
            return false;
    return e->calls.count == 0 && token_upkeep_is_done(&e->upkeep);
}

static void fill_windows(struct engine *e)
{
    for (int p = 0; p < PLATFORM_COUNT && !e->stopping; p++)
        stop_on_error(e, platform_walk_fill(&e->walks[p], &e->plan));
    if (!e->stopping)
        stop_on_error(e, token_upkeep_continue(&e->upkeep));
}

static enum err flush(struct engine *e)
{
    e->flushed_at = clock_mono_ms();
    e->results.unflushed = 0;
    const enum err err = run_flush(e->run);
    return err ? err : pending_writes_flush(&e->writes, e->run, e->throttles);
}

static enum err apply_results(struct engine *e, bool all)
{
    const struct walk_progress progress = platform_walks_progress(e->walks);
    e->applied_at = clock_mono_ms();
    return result_set_apply(&e->results, &progress, all);
}

static void write_results(struct engine *e)
{
    const int64_t now = clock_mono_ms();
    enum err err = now - e->applied_at >= APPLY_MS ? apply_results(e, false) : OK;
    if (!err && (e->results.unflushed >= FLUSH_READINGS || now - e->flushed_at >= FLUSH_MS))
        err = flush(e);
    stop_on_error(e, err);
}

/* Stops the run at its deadline and renews the lease. Called by pump() and not only by the timer: each
 * response restarts the timer, so a long time can pass before the timer expires. */
static void check_deadline_and_lease(struct engine *e)
{
    const int64_t now = clock_mono_ms();
    if (now >= e->deadline)
        e->stopping = true;
    if (now - e->heartbeat_at < TICK_MS)
        return;
    e->heartbeat_at = now;
    stop_on_error(e, run_heartbeat(e->run));
}

static void on_tick(uv_timer_t *timer)
{
    pump(timer->data);
}

/* Does all work that can be done now, then arms the timer or ends the loop. */
static void pump(struct engine *e)
{
    int64_t wait_ms = TICK_MS;
    if (e->pumping)
        return;
    e->pumping = true;
    check_deadline_and_lease(e);
    if (!e->stopping)
        fill_windows(e);
    if (!e->stopping)
        wait_ms = start_calls(e);
    if (!e->stopping)
        write_results(e);
    e->pumping = false;
    if (e->stopping || is_done(e)) {
        uv_stop(&e->loop);
        return;
    }
    (void)uv_timer_start(&e->tick, on_tick, (uint64_t)(wait_ms < 1 ? 1 : wait_ms), 0);
}

/* --- opening the engine and its loop --- */

static void init_apis(struct engine *e)
{
    for (int api = 0; api < PLATFORM_APIS; api++) {
        throttle_init(&e->throttles[api], e->config, (enum platform_api)api);
        api_queue_init(&e->apis[api], &e->throttles[api]);
    }
    if (!e->throttles[API_YOUTUBE].options.by_key)
        return;
    e->apis[API_YOUTUBE].key = &e->api_key;
    fetch_account_init(&e->api_key, &e->apis[API_YOUTUBE], NULL);
}

static struct engine *engine_new(struct run *run)
{
    struct engine *e = xcalloc(1, sizeof *e);
    const int64_t now = clock_mono_ms();
    e->run = run;
    e->config = run_config(run);
    e->deadline = now + e->config->platforms.deadline_s * SECOND_MS;
    e->flushed_at = now;
    e->results.run = run;
    rejections_init(&e->rejections, &e->writes);
    pending_writes_init(&e->writes);
    init_apis(e);
    for (int p = 0; p < PLATFORM_COUNT; p++)
        post_window_init(&e->walks[p].window, (enum platform)p, run, &e->results, &e->writes);
    author_plan_init(&e->plan, run, e->apis);
    e->outcomes = (struct outcome_handler){
        .run = run,
        .writes = &e->writes,
        .rejections = &e->rejections,
        .deadline = e->deadline,
        .random = (uint64_t)clock_work_us() ^ (uint64_t)run_observed_at(run) << 20,
    };
    return e;
}

static void engine_free(struct engine *e)
{
    seal_keys_close(e->keys);
    author_plan_fini(&e->plan);
    result_set_free(&e->results);
    pending_writes_fini(&e->writes);
    rejections_fini(&e->rejections);
    token_upkeep_fini(&e->upkeep);
    free(e);
}

/* Loads the state that earlier runs have stored. */
static enum err load_state(struct engine *e)
{
    struct error error;
    enum err err = seal_keys_open(&e->keys, e->config->secrets.key_file, &error);
    if (err)
        return run_fail(e->run, err, "%s", error.text);
    err = first_author_load(e->run, &e->first_author);
    if (err)
        return err;
    for (int api = 0; api < PLATFORM_APIS; api++) {
        err = throttle_load(&e->throttles[api], run_store(e->run), e->config);
        if (err)
            return run_fail_database(e->run, err);
    }
    e->api_key.tier = e->throttles[API_YOUTUBE].lowest_tier;
    for (int p = 0; p < PLATFORM_COUNT; p++)
        platform_walk_init(&e->walks[p], e->first_author, e->plan.has_source[p]);
    return OK;
}

static enum err open_loop(struct engine *e)
{
    const struct http_client_options options = platform_client_options(e->config);
    const int status = FAULT_OR(UV_EMFILE, uv_loop_init(&e->loop));
    if (status)
        return run_fail(e->run, ERR_NOMEM, "cannot create the event loop for the platforms: %s",
                        uv_strerror(status));
    e->http = http_client_new(&e->loop, &options);
    if (!e->http) {
        CHECK(uv_loop_close(&e->loop) == 0);
        return run_fail(e->run, ERR_NOMEM, "cannot create the HTTP client for the platforms: out of memory");
    }
    CHECK(uv_timer_init(&e->loop, &e->tick) == 0);
    e->tick.data = e;
    e->sender = token_sender_of(e->http);
    const struct transaction_scope scope = run_unleased_transactions(e->run);
    e->refresher = token_refresher_new(e->config, &e->sender, e->keys, &scope);
    e->calls = (struct api_calls){.run = e->run,
                                  .keys = e->keys,
                                  .http = e->http,
                                  .refresher = e->refresher,
                                  .done = on_call_done,
                                  .ctx = e};
    api_calls_init(&e->calls);
    e->upkeep = (struct token_upkeep){.run = e->run,
                                      .apis = e->apis,
                                      .rejections = &e->rejections,
                                      .refresher = e->refresher,
                                      .progressed = on_upkeep_progressed,
                                      .ctx = e};
    return OK;
}

/* --- closing the loop, storing the rest --- */

/* Counts the posts that the run did not load. Sets `next_first_author`, which is 0 if the run has finished
 * all walks, and `backlog` of each throttle. */
static void record_backlog(struct engine *e)
{
    struct walk_position first = {0};
    bool any = false;
    for (int p = 0; p < PLATFORM_COUNT; p++) {
        const struct platform_walk *w = &e->walks[p];
        if (platform_walk_is_done(w))
            continue;
        /* With age-based intervals it is unknown how many of the remaining posts were due. */
        if (!w->ended && !w->by_age && w->planned > w->loaded)
            run_count(e->run, p, RUN_UNREAD, w->planned - w->loaded);
        const struct walk_position at = platform_walk_open_position(w);
        if (!any || walk_position_cmp(&at, &first) < 0)
            first = at;
        any = true;
    }
    e->next_first_author = first.author_row;
    for (int api = 0; api < PLATFORM_APIS; api++) {
        struct throttle *t = &e->throttles[api];
        /* An open circuit does not count as a backlog, because reading fewer posts would not close it. */
        const bool backlog = t->configured && !platform_walk_is_done(&e->walks[t->desc->platform]) &&
                             !t->closed && !t->breaker.until && !e->err &&
                             !list_is_empty(&e->apis[api].ready);
        t->unsaved = t->unsaved || backlog != t->backlog;
        t->backlog = backlog;
    }
}

static void on_http_closed(void *ctx)
{
    struct engine *e = ctx;
    e->http_closed = true;
}

static void on_close_tick(uv_timer_t *timer)
{
    const struct engine *e = timer->data;
    const enum err err = run_heartbeat(e->run); /* the error is ignored, because the run is ending */
    (void)err;
}

/* Closes the loop after all token refreshes in flight have ended, because otherwise their new tokens would be
 * lost. */
static void close_loop(struct engine *e)
{
    (void)uv_timer_start(&e->tick, on_close_tick, TICK_MS, TICK_MS);
    while (token_refresher_in_flight(e->refresher) || e->calls.count)
        (void)uv_run(&e->loop, UV_RUN_ONCE);
    token_refresher_free(e->refresher);
    http_client_close(e->http, on_http_closed, e);
    uv_close((uv_handle_t *)&e->tick, NULL);
    while (uv_run(&e->loop, UV_RUN_DEFAULT) || !e->http_closed)
        ;
    CHECK(uv_loop_close(&e->loop) == 0);
}

static void abandon_rest(struct engine *e)
{
    for (int api = 0; api < PLATFORM_APIS; api++)
        api_queue_close(&e->apis[api]);
    for (int p = 0; p < PLATFORM_COUNT; p++)
        CHECK(e->walks[p].window.group_count == 0);
    api_calls_fini(&e->calls);
}

static enum err run_loop(struct engine *e)
{
    const enum err err = open_loop(e);
    if (err)
        return err;
    pump(e);
    if (!e->stopping && !is_done(e))
        (void)uv_run(&e->loop, UV_RUN_DEFAULT);
    e->stopping = true;
    record_backlog(e);
    api_calls_cancel(&e->calls);
    close_loop(e);
    stop_on_error(e, e->upkeep.err);
    abandon_rest(e);
    return OK;
}

static enum err write_rest(struct engine *e)
{
    if (e->err)
        return e->err;
    rejections_decide(&e->rejections);
    enum err err = apply_results(e, true);
    if (err)
        return err;
    err = flush(e);
    if (err)
        return err;
    return first_author_save(e->run, e->first_author, e->next_first_author);
}

static enum err run_engine(struct engine *e)
{
    enum err err = load_state(e);
    if (err)
        return err;
    err = survey_make(e->run, e->apis, e->walks);
    if (err)
        return err;
    err = run_loop(e);
    if (err)
        return err;
    return write_rest(e);
}

static enum err run_platforms(struct run *run)
{
    struct engine *e = engine_new(run);
    const enum err err = run_engine(e);
    engine_free(e);
    return err;
}

const struct source platform_source = {.kind = SOURCE_PLATFORMS, .run = run_platforms};
