/* One timer, and one thread while a run is active.
 *
 *   IDLE --check_due(): due, or the spool changed--> RUNNING --on_ended()--> IDLE
 *   any --schedule_close()--> CLOSING --run ended, handles closed--> freed
 *
 * A run that could not start, because another process holds the lease or the database failed, is retried
 * after a pause. */
#include "refresh/schedule.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "rules/rule_settings.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* How often the wall clock is checked. */
#ifdef VT_TEST_SEAMS
enum { CHECK_MS = 50 };
#else
enum { CHECK_MS = 1000 };
#endif

enum {
    RUN_NICE = 5,
    BUSY_PAUSE_MS = 5 * 1000,    /* while another process holds the lease */
    FAILED_PAUSE_MS = 15 * 1000, /* after a failure; doubled after each further one */
    FAILED_PAUSE_MAX_MS = 15 * 60 * 1000,
};

#define NO_SLOT INT64_MIN

struct schedule {
    const struct config *config;
    struct store *store;
    struct ticket_lock *write_lock;
    struct source_list sources;
    uv_timer_t timer;
    uv_async_t ended;
    uv_thread_t thread;
    struct slot_rule rule;
    struct config run_config;       /* copy for the run: a reload may change `config` */
    struct refresh_options options; /* of the current run */
    struct refresh_report report;
    enum err result;
    atomic_bool stop;
    bool spool_changed;
    bool reconfigured;       /* `rule` is outdated */
    uint64_t seed;           /* of the rule */
    int64_t not_before_mono; /* start no run before this monotonic time, ms */
    int64_t failed_pause_ms; /* 0 if the last run did not fail */
    int64_t failed_slot;     /* slot of the last scheduled run if one of its sources failed, else NO_SLOT */
    bool source_failed[SOURCE_KINDS]; /* in that run */
    struct schedule_state state;
    int open_handles;
    void (*closed)(void *ctx); /* not NULL: closing */
    void *closed_ctx;
};

/* ---- running ---- */

static void on_thread(void *arg)
{
    struct schedule *s = arg;
    /* Requests have priority over the refresh. On Linux this changes only the calling thread. */
    (void)setpriority(PRIO_PROCESS, 0, RUN_NICE);
    s->result = refresh_run(&s->options, &s->report);
    CHECK(uv_async_send(&s->ended) == 0);
}

/* If a source failed in this slot, read only that source again, because the others have succeeded. */
static struct source_list select_sources(const struct schedule *s, enum run_cause cause)
{
    if (cause == CAUSE_SPOOL)
        return source_list_only(&s->sources, SOURCE_SPOOL);
    if (slot_of(&s->rule, clock_wall_ms()) != s->failed_slot)
        return s->sources;
    struct source_list list = {{NULL}};
    for (int i = 0, n = 0; s->sources.sources[i]; i++)
        if (s->source_failed[s->sources.sources[i]->kind])
            list.sources[n++] = s->sources.sources[i];
    return list;
}

static void pause_for(struct schedule *s, int64_t ms)
{
    s->not_before_mono = clock_mono_ms() + ms;
}

static void add_report(struct schedule_state *state, const struct refresh_report *report)
{
    int64_t *sums = &state->counts.n[0][0][0];
    const int64_t *more = &report->counts.n[0][0][0];
    for (size_t i = 0; i < sizeof report->counts / sizeof *more; i++)
        sums[i] += more[i];
    state->runs[report->state]++;
    state->duration_ms = report->duration_ms;
}

static void pause_after_failure(struct schedule *s)
{
    s->failed_pause_ms = s->failed_pause_ms ? 2 * s->failed_pause_ms : FAILED_PAUSE_MS;
    if (s->failed_pause_ms > FAILED_PAUSE_MAX_MS)
        s->failed_pause_ms = FAILED_PAUSE_MAX_MS;
    pause_for(s, s->failed_pause_ms);
    log_warn("refresh: retrying in %lld s", (long long)(s->failed_pause_ms / SECOND_MS));
}

static void start(struct schedule *s, enum run_cause cause)
{
    config_copy(&s->run_config, s->config);
    s->options = (struct refresh_options){
        .config = &s->run_config,
        .sources = select_sources(s, cause),
        .cause = cause,
        .rules = step_rules_configured(&s->run_config),
        .rule = &s->rule,
        .write_lock = s->write_lock,
        .stop = &s->stop,
    };
    /* Cleared before the run: the run reads the spool, but may miss files that arrive later. */
    s->spool_changed = false;
    s->state.running = true;
    const int status = FAULT_OR(UV_EAGAIN, uv_thread_create(&s->thread, on_thread, s));
    if (!status)
        return;
    log_error("refresh: cannot start a thread: %s", uv_strerror(status));
    config_fini(&s->run_config);
    s->state.running = false;
    s->spool_changed = s->spool_changed || cause == CAUSE_SPOOL;
    pause_after_failure(s);
}

static void record_failed_sources(struct schedule *s)
{
    const struct refresh_report *report = &s->report;
    bool any = false;
    for (int i = 0; i < SOURCE_KINDS; i++)
        any = any || report->source_failed[i];
    s->failed_slot = any && report->state == RUN_FAILED ? slot_of(&s->rule, report->started_at) : NO_SLOT;
    memcpy(s->source_failed, report->source_failed, sizeof s->source_failed);
}

static void handle_result(struct schedule *s)
{
    const bool ran = !s->result && s->report.ran;
    const bool failed = ran ? s->report.state == RUN_FAILED : s->result && s->result != ERR_BUSY;
    if (ran)
        add_report(&s->state, &s->report);
    if (ran && s->options.cause == CAUSE_SCHEDULE)
        record_failed_sources(s);
    else if (failed)
        log_error("refresh: cannot start: %s", *s->report.why ? s->report.why : err_name(s->result));
    /* The files are still in the spool, so the next attempt will apply them. */
    if (s->options.cause == CAUSE_SPOOL && (s->result || failed))
        s->spool_changed = true;
    if (s->result == ERR_BUSY)
        pause_for(s, BUSY_PAUSE_MS);
    if (failed)
        pause_after_failure(s);
    else if (s->result != ERR_BUSY)
        s->failed_pause_ms = 0;
}

/* ---- checking the clock ---- */

static void check_due(struct schedule *s)
{
    struct schedule_state *state = &s->state;
    if (state->running || s->closed || !state->enabled)
        return;
    /* Not earlier, because a run in progress reads the rule. */
    if (s->reconfigured)
        s->rule = slot_rule_of(s->config, s->seed);
    s->reconfigured = false;
    /* After an error, which the database driver has logged, try again in a second. */
    if (store_last_complete_run(s->store, &state->last_started_at, &state->last_finished_at))
        return;
    const int64_t now = clock_wall_ms();
    const int64_t next = slot_next(&s->rule, now, state->last_started_at);
    /* If there has been no run so far, the run has been due since the first check. */
    if (next != now || state->next_at == TIME_NONE || state->next_at > now)
        state->next_at = next;
    if (clock_mono_ms() < s->not_before_mono)
        return;
    if (state->next_at <= now)
        start(s, CAUSE_SCHEDULE);
    else if (s->spool_changed)
        start(s, CAUSE_SPOOL);
}

static void on_timer(uv_timer_t *timer)
{
    check_due(timer->data);
}

static void close_handles(struct schedule *s);

static void on_ended(uv_async_t *ended)
{
    struct schedule *s = ended->data;
    CHECK(uv_thread_join(&s->thread) == 0);
    config_fini(&s->run_config);
    s->state.running = false;
    handle_result(s);
    if (s->closed)
        close_handles(s);
    else
        check_due(s);
}

/* ---- opening and closing ---- */

struct schedule *schedule_open(uv_loop_t *loop, const struct config *config, struct store *store,
                               struct ticket_lock *write_lock, const struct source_list *sources)
{
    struct schedule *s = xcalloc(1, sizeof *s);
    randombytes_buf(&s->seed, sizeof s->seed);
    s->config = config;
    s->store = store;
    s->write_lock = write_lock;
    s->sources = *sources;
    s->rule = slot_rule_of(config, s->seed);
    s->state = (struct schedule_state){
        .enabled = sources->sources[0] != NULL,
        .last_started_at = TIME_NONE,
        .last_finished_at = TIME_NONE,
        .next_at = TIME_NONE,
        .duration_ms = -1,
    };
    s->failed_slot = NO_SLOT;
    atomic_init(&s->stop, false);
    s->timer.data = s->ended.data = s;
    CHECK(uv_timer_init(loop, &s->timer) == 0 && uv_async_init(loop, &s->ended, on_ended) == 0);
    s->open_handles = 2;
    CHECK(uv_timer_start(&s->timer, on_timer, 0, CHECK_MS) == 0);
    return s;
}

void schedule_reconfigure(struct schedule *s)
{
    s->reconfigured = true;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct schedule *s = handle->data;
    if (--s->open_handles)
        return;
    void (*closed)(void *ctx) = s->closed;
    void *ctx = s->closed_ctx;
    free(s);
    closed(ctx);
}

static void close_handles(struct schedule *s)
{
    uv_close((uv_handle_t *)&s->timer, on_handle_closed);
    uv_close((uv_handle_t *)&s->ended, on_handle_closed);
}

void schedule_close(struct schedule *s, void (*closed)(void *ctx), void *ctx)
{
    CHECK(!s->closed);
    s->closed = closed;
    s->closed_ctx = ctx;
    atomic_store(&s->stop, true);
    if (!s->state.running)
        close_handles(s);
}

void schedule_spool_changed(struct schedule *s)
{
    s->spool_changed = true;
    check_due(s);
}

const struct schedule_state *schedule_state(const struct schedule *s)
{
    return &s->state;
}
