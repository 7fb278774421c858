/* The loop of a run:
 *
 *   open -> survey -> turn the loop -> close
 *                      |  pump: fill lanes, begin calls, apply results; after each answer and on a timer
 *                      `-> until nothing is left, the deadline is there, or the run is told to stop
 *
 * Everything happens on the run's thread, the database included: an answer that is late by a transaction is
 * only late. */
#include "fetch/fetch.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "fetch/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { TICK_MOST_MS = 200, APPLY_MS = 100, FLUSH_MS = 2000, FLUSH_READINGS = 2000 };

void engine_stop(struct engine *e, enum err err)
{
    if (!e->err)
        e->err = err;
    e->stopping = true;
}

/* splitmix64 */
uint64_t engine_random(struct engine *e)
{
    uint64_t z = e->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* --- the pump --- */

/* The first account that has something to send now; NULL: `*soonest` is when one may have. What could only be
 * asked after the run's end is given up. */
static struct account *next_account(struct engine *e, struct gate *g, int64_t now, int64_t *soonest)
{
    struct list *l = g->ready.next;
    *soonest = PACE_NEVER;
    while (l != &g->ready) {
        struct account *account = LIST_ENTRY(l, struct account, link);
        int64_t at;
        if (!account->dropped && account_is_ready(account, now, &at))
            return account;
        if (account->dropped || at >= e->deadline) {
            account_give_up(e, account);
            l = g->ready.next; /* whatever else went with it */
            continue;
        }
        *soonest = at < *soonest ? at : *soonest;
        l = l->next;
    }
    return NULL;
}

/* Begins what may begin of one API. Returns when something next may, monotonic; PACE_NEVER: after an answer.
 */
static int64_t pump_gate(struct engine *e, struct gate *g, int64_t now)
{
    if (g->closed)
        gate_close(e, g);
    while (!e->stopping && !g->closed && !list_is_empty(&g->ready)) {
        const int64_t gate_at = gate_ready_at(g, now);
        int64_t soonest;
        if (gate_at != PACE_NEVER && gate_at >= e->deadline) {
            log_warn("platforms: %s: nothing more can be asked in this run", g->desc->name);
            gate_close(e, g);
            break;
        }
        if (gate_at > now)
            return gate_at;
        struct account *account = next_account(e, g, now, &soonest);
        if (!account)
            return soonest;
        list_remove(&account->link);
        list_add_last(&g->ready, &account->link);
        flight_begin(e, account, account_next_batch(account, now));
    }
    return PACE_NEVER;
}

static bool is_done(const struct engine *e)
{
    for (int p = 0; p < PLATFORM_COUNT; p++)
        if (!lane_is_done(&e->lanes[p]))
            return false;
    return e->flight_count == 0 && keeper_is_done(e);
}

static void fill_lanes(struct engine *e)
{
    for (int p = 0; p < PLATFORM_COUNT && !e->stopping; p++) {
        const enum err err = lane_fill(e, &e->lanes[p]);
        if (err)
            engine_stop(e, err);
    }
    const enum err err = keeper_go_on(e);
    if (err)
        engine_stop(e, err);
}

static int64_t begin_calls(struct engine *e)
{
    const int64_t now = clock_mono_ms();
    int64_t soonest = now + TICK_MOST_MS;
    if (now >= e->deadline) /* whatever could begin now is not hopeless, but late */
        return 0;
    for (int api = 0; api < PLATFORM_APIS; api++) {
        struct gate *g = &e->gates[api];
        if (!g->active)
            continue;
        const int64_t at = pump_gate(e, g, now);
        soonest = at < soonest ? at : soonest;
    }
    for (int p = 0; p < PLATFORM_COUNT; p++)
        if (e->lanes[p].filling)
            soonest = now;
    return soonest > now ? soonest - now : 0;
}

static enum err flush(struct engine *e)
{
    e->flushed_at = clock_mono_ms();
    e->gathered = 0;
    const enum err err = run_flush(e->run);
    return err ? err : note_flush(e);
}

static void write_results(struct engine *e)
{
    const int64_t now = clock_mono_ms();
    enum err err = OK;
    if (now - e->applied_at >= APPLY_MS) {
        e->applied_at = now;
        err = visit_apply(e, false);
    }
    if (!err && (e->gathered >= FLUSH_READINGS || now - e->flushed_at >= FLUSH_MS))
        err = flush(e);
    if (err)
        engine_stop(e, err);
}

/* Not by the timer: answers that come quickly keep setting it back. */
static void take_turn(struct engine *e)
{
    const int64_t now = clock_mono_ms();
    if (now >= e->deadline)
        e->stopping = true;
    if (now - e->turned_at < TICK_MOST_MS)
        return;
    e->turned_at = now;
    const enum err err = run_heartbeat(e->run);
    if (err)
        engine_stop(e, err);
}

static void on_tick(uv_timer_t *timer)
{
    struct engine *e = timer->data;
    engine_pump(e);
}

void engine_pump(struct engine *e)
{
    int64_t wait_ms = TICK_MOST_MS;
    if (e->pumping)
        return;
    e->pumping = true;
    take_turn(e);
    if (!e->stopping)
        fill_lanes(e);
    if (!e->stopping)
        wait_ms = begin_calls(e);
    if (!e->stopping)
        write_results(e);
    e->pumping = false;
    if (e->stopping || is_done(e)) {
        uv_stop(&e->loop);
        return;
    }
    (void)uv_timer_start(&e->tick, on_tick, (uint64_t)(wait_ms < 1 ? 1 : wait_ms), 0);
}

/* --- begin --- */

static void init_lanes(struct engine *e)
{
    for (int p = 0; p < PLATFORM_COUNT; p++) {
        e->lanes[p] = (struct lane){.platform = (enum platform)p, .passes = 1, .ended = true};
        list_init(&e->lanes[p].parts);
    }
    for (int api = 0; api < PLATFORM_APIS; api++) {
        gate_init(e, &e->gates[api], (enum platform_api)api);
        struct lane *lane = &e->lanes[e->gates[api].desc->platform];
        lane->active = lane->active || e->gates[api].active;
        lane->ended = !lane->active;
    }
}

static enum err restore(struct engine *e)
{
    enum err err = walk_restore(e);
    for (int api = 0; api < PLATFORM_APIS && !err; api++)
        err = gate_restore(e, &e->gates[api]);
    for (int p = 0; p < PLATFORM_COUNT; p++)
        e->lanes[p].at = (struct position){.author_row = e->first_author - 1};
    return err;
}

static void init(struct engine *e, struct run *run)
{
    *e = (struct engine){.run = run, .config = run_config(run), .store = run_store(run)};
    list_init(&e->flights);
    list_init(&e->spare_flights);
    e->suspects = xcalloc(SUSPECTS_MAX, sizeof *e->suspects);
    e->deadline = clock_mono_ms() + e->config->platforms.deadline_s * SECOND_MS;
    e->flushed_at = clock_mono_ms();
    e->random = (uint64_t)clock_work_us() ^ (uint64_t)run_observed_at(run) << 20;

    init_lanes(e);
}

static enum err open_keys(struct engine *e)
{
    char why[256] = "";
    enum err err = seal_open(&e->keys, e->config->secrets.key_file, why, sizeof why);
    return err ? run_fail(e->run, err, "%s", why) : OK;
}

/* --- the loop and its end --- */

static void on_fetch_closed(void *ctx)
{
    struct engine *e = ctx;
    e->fetch_closed = true;
}

static enum err open_loop(struct engine *e)
{
    struct http_client_options options;
    const int status = FAULT_OR(UV_EMFILE, uv_loop_init(&e->loop));
    if (status)
        return run_fail(e->run, ERR_NOMEM, "no event loop for the platforms: %s", uv_strerror(status));
    http_client_options_of(&options, e->config);
    e->client = http_client_new(&e->loop, &options);
    if (!e->client) {
        CHECK(uv_loop_close(&e->loop) == 0); /* it has no handles */
        return run_fail(e->run, ERR_NOMEM, "no HTTP client for the platforms: out of memory");
    }
    CHECK(uv_timer_init(&e->loop, &e->tick) == 0);
    e->tick.data = e;
    e->sender = token_sender_of(e->client);
    const struct transaction_scope scope = run_unleased_transactions(e->run);
    e->refresher = token_refresher_new(e->config, &e->sender, e->keys, &scope);
    return OK;
}

static void on_wait(uv_timer_t *timer)
{
    const struct engine *e = timer->data;
    const enum err err = run_heartbeat(e->run); /* whatever it says, the run is at its end */
    (void)err;
}

/* Tokens that are being refreshed are waited for: a pair that was sent would be lost. */
static void close_loop(struct engine *e)
{
    (void)uv_timer_start(&e->tick, on_wait, TICK_MOST_MS, TICK_MOST_MS);
    while (token_refresher_in_flight(e->refresher) || e->flight_count)
        (void)uv_run(&e->loop, UV_RUN_ONCE);
    token_refresher_free(e->refresher);
    http_client_close(e->client, on_fetch_closed, e);
    uv_close((uv_handle_t *)&e->tick, NULL);
    while (uv_run(&e->loop, UV_RUN_DEFAULT) || !e->fetch_closed)
        ;
    CHECK(uv_loop_close(&e->loop) == 0);
}

static enum err turn_loop(struct engine *e)
{
    const enum err err = open_loop(e);
    if (err)
        return err;
    engine_pump(e);
    if (!e->stopping && !is_done(e))
        (void)uv_run(&e->loop, UV_RUN_DEFAULT);
    e->stopping = true;
    note_truncated(e);
    flight_cancel_all(e);
    close_loop(e);
    return OK;
}

static void give_up_rest(struct engine *e)
{
    for (int api = 0; api < PLATFORM_APIS; api++)
        gate_close(e, &e->gates[api]);
    for (int p = 0; p < PLATFORM_COUNT; p++)
        CHECK(e->lanes[p].part_count == 0);
    flight_free_all(e);
}

static enum err write_rest(struct engine *e)
{
    if (e->err)
        return e->err;
    verdict_mark(e);
    enum err err = visit_apply(e, true);
    if (!err)
        err = flush(e);
    return err ? err : walk_save(e);
}

static enum err run_platforms(struct run *run)
{
    struct engine *e = xcalloc(1, sizeof *e);
    init(e, run);
    enum err err = open_keys(e);
    if (!err)
        err = restore(e);
    if (!err)
        err = plan_survey(e);
    if (!err) {
        const enum err loop_err = turn_loop(e);
        give_up_rest(e);
        err = loop_err ? loop_err : write_rest(e);
    }
    seal_close(e->keys);
    visit_free_all(e);
    free(e->suspects);
    free(e);
    return err;
}

const struct source platform_source = {.kind = SOURCE_PLATFORMS, .run = run_platforms};
