/* viewtally status: the state of the refresh and of backups, read from the database. */
#include "backup/backup_run.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/output.h"
#include "cli/redis_state.h"
#include "fetch/sources.h"
#include "jobs/lease.h"
#include "refresh/schedule.h"
#include "store/backups.h"
#include "store/database_files.h"
#include "store/store_config.h"
#include "vault/platform_health.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUNS_SHOWN = 10, COUNTS_MAX = 256, TEXT_MAX = 1 << 20, STALE_MS = 2 * 3600 * 1000 };

struct shown_run {
    struct run_row row;
    struct run_count counts[COUNTS_MAX];
    int count;
};

struct service_status {
    const struct config *config;
    struct source_list sources;
    struct slot_rule rule;
    int64_t now;
    struct lease_row lease;
    bool lease_is_held;
    int64_t last_started_at, last_finished_at; /* times of the newest complete run */
    int64_t live, stale;                       /* live videos; live videos not updated for STALE_MS */
    int64_t database_bytes, wal_bytes;         /* if the database is a file */
    struct store_server_load server_load;      /* if the database is on a server */
    struct backup_state backup;
    struct platform_health platforms[PLATFORM_APIS];
    struct redis_state redis;
    struct shown_run runs[RUNS_SHOWN];
    int run_count;
    struct arena arena; /* memory of the texts of the members above */
};

/* ---- reading the state ---- */

static struct str copy(struct arena *arena, struct str s)
{
    return s.p ? arena_copy(arena, s) : s;
}

static bool on_run(void *ctx, const struct run_row *run)
{
    struct service_status *s = ctx;
    struct shown_run *shown = &s->runs[s->run_count++];
    shown->row = *run;
    shown->row.holder = copy(&s->arena, run->holder);
    shown->row.error = copy(&s->arena, run->error);
    return s->run_count < RUNS_SHOWN;
}

struct count_list {
    struct arena *arena;
    struct shown_run *run;
};

static bool on_count(void *ctx, const struct run_count *count)
{
    struct count_list *r = ctx;
    struct run_count *to = &r->run->counts[r->run->count++];
    *to = *count;
    to->name = copy(r->arena, count->name);
    return r->run->count < COUNTS_MAX;
}

static enum err read_runs(struct service_status *s, struct store *store)
{
    enum err err = store_list_runs(store, RUNS_SHOWN, on_run, s);
    for (int i = 0; i < s->run_count && !err; i++) {
        struct count_list reading = {&s->arena, &s->runs[i]};
        err = store_list_run_counts(store, s->runs[i].row.row, on_count, &reading);
    }
    return err;
}

/* Counts one author at a time, so that no read transaction stays open for long. */
static enum err count_videos(struct service_status *s, struct store *store)
{
    int64_t author = 0, live, stale;
    enum err err;
    while ((err = store_find_next_author(store, author, &author)) == OK) {
        err = store_count_live_videos(store, author, s->now - VIDEO_LIFE_DAYS * DAY_MS, s->now,
                                      s->now - STALE_MS, &live, &stale);
        if (err)
            break;
        s->live += live;
        s->stale += stale;
    }
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err read_all(struct service_status *s, struct store *store)
{
    enum err err = lease_read(store, LEASE_REFRESH, &s->lease, &s->lease_is_held);
    if (err)
        return err;
    err = store_get_last_complete_run(store, &s->last_started_at, &s->last_finished_at);
    if (err)
        return err;
    err = read_runs(s, store);
    if (!err)
        err = store_get_backup_state(store, &s->backup);
    for (int api = 0; api < PLATFORM_APIS && !err; api++)
        err = platform_health_read(store, s->config, (enum platform_api)api, s->now, &s->platforms[api]);
    if (!err && !store_config_is_file(s->config))
        err = store_read_server_load(store, &s->server_load);
    return err ? err : count_videos(s, store);
}

/* Returns the outcome of a run. If a run is recorded as in progress but does not hold the lease, its process
 * was killed, and the result is RUN_ABANDONED; the next run will record this. */
static int outcome_of(const struct service_status *s, const struct run_row *run)
{
    const bool its_own = s->lease_is_held && str_eq(run->holder, str_from_cstr(s->lease.holder));
    return run->outcome == RUN_IN_PROGRESS && !its_own ? RUN_ABANDONED : run->outcome;
}

static bool is_enabled(const struct service_status *s)
{
    return s->sources.sources[0] != NULL;
}

static bool is_overdue(const struct service_status *s)
{
    return is_enabled(s) && !s->lease_is_held && refresh_is_late(s->config, s->now, s->last_started_at);
}

/* ---- JSON output ---- */

static void json_counts(struct buf *b, const struct shown_run *run)
{
    JSON_KEY(b, "counts");
    json_open(b, '[');
    for (int i = 0; i < run->count; i++) {
        const struct run_count *c = &run->counts[i];
        const bool has_platform = c->platform >= 0 && c->platform < PLATFORM_COUNT;
        json_open(b, '{');
        JSON_STR(b, "source",
                 str_from_cstr(c->source >= 0 && c->source < SOURCE_KINDS
                                   ? source_name((enum source_kind)c->source)
                                   : NULL));
        JSON_STR(b, "platform", has_platform ? platform_name((enum platform)c->platform) : (struct str){0});
        JSON_STR(b, "name", c->name);
        JSON_I64(b, "value", c->value);
        json_close(b, '}');
    }
    json_close(b, ']');
}

static void json_run(struct buf *b, const struct service_status *s, const struct shown_run *run)
{
    const struct run_row *row = &run->row;
    const bool finished = row->finished_at != TIME_NONE;
    json_open(b, '{');
    JSON_I64(b, "id", row->row);
    JSON_STR(b, "cause", str_from_cstr(run_cause_name(row->cause)));
    JSON_STR(b, "result", str_from_cstr(run_state_name((enum run_state)outcome_of(s, row))));
    JSON_STR(b, "error", row->error);
    JSON_STR(b, "holder", row->holder);
    JSON_TIME(b, "started_at", row->started_at);
    JSON_TIME_OR_NULL(b, "finished_at", finished, row->finished_at);
    JSON_I64_OR_NULL(b, "duration_ms", finished, row->finished_at - row->started_at);
    json_counts(b, run);
    json_close(b, '}');
}

static void json_refresh(struct buf *b, const struct service_status *s)
{
    const bool has_last = s->last_started_at != TIME_NONE;
    JSON_KEY(b, "refresh");
    json_open(b, '{');
    JSON_KEY(b, "sources");
    json_open(b, '[');
    for (int i = 0; s->sources.sources[i]; i++)
        json_str(b, str_from_cstr(source_name(s->sources.sources[i]->kind)));
    json_close(b, ']');
    JSON_BOOL(b, "overdue", is_overdue(s));
    JSON_TIME_OR_NULL(b, "last_started_at", has_last, s->last_started_at);
    JSON_TIME_OR_NULL(b, "last_finished_at", has_last && s->last_finished_at != TIME_NONE,
                      s->last_finished_at);
    JSON_TIME_OR_NULL(b, "next_at", is_enabled(s), slot_next(&s->rule, s->now, s->last_started_at));
    JSON_STR(b, "running", s->lease_is_held ? str_from_cstr(s->lease.holder) : (struct str){0});
    JSON_TIME_OR_NULL(b, "running_since", s->lease_is_held, s->lease.acquired_at);
    json_close(b, '}');
}

static void json_backlog(struct buf *b, const struct service_status *s)
{
    JSON_KEY(b, "backlog");
    json_open(b, '[');
    for (int i = 0; s->sources.sources[i]; i++) {
        const struct source *source = s->sources.sources[i];
        struct source_backlog backlog;
        if (!source->backlog || !source->backlog(s->config, &backlog))
            continue;
        json_open(b, '{');
        JSON_STR(b, "source", str_from_cstr(source_name(source->kind)));
        JSON_I64(b, "files", backlog.files);
        JSON_I64(b, "bytes", backlog.bytes);
        json_close(b, '}');
    }
    json_close(b, ']');
}

static void json_platforms(struct buf *b, const struct service_status *s)
{
    JSON_KEY(b, "platforms");
    json_open(b, '[');
    for (int api = 0; api < PLATFORM_APIS; api++) {
        const struct platform_health *p = &s->platforms[api];
        json_open(b, '{');
        JSON_STR(b, "api", str_from_cstr(platform_desc(p->api)->name));
        JSON_I64(b, "accounts_connected", p->accounts[CREDENTIAL_CONNECTED]);
        JSON_I64(b, "accounts_reconnect_required", p->accounts[CREDENTIAL_RECONNECT_REQUIRED]);
        JSON_BOOL(b, "paused", p->circuit_open_until != TIME_NONE || p->paused_until != TIME_NONE);
        JSON_BOOL(b, "backlog", p->has_backlog);
        json_close(b, '}');
    }
    json_close(b, ']');
}

static bool backup_is_enabled(const struct service_status *s)
{
    return *s->config->backup.directory != '\0';
}

/* If a scheduled backup is due, returns true and sets `*at` to the time at which it became due. Otherwise
 * sets `*at` to the time of the next one. A due backup may be delayed by the server's pause after a failure,
 * which the database does not contain. */
static bool backup_is_due(const struct service_status *s, int64_t *at)
{
    const struct slot_rule rule = backup_rule(s->config);
    *at = slot_next(&rule, s->now, s->backup.started_at);
    return slot_is_due(&rule, s->now, s->backup.started_at);
}

static void json_backup(struct buf *b, const struct service_status *s)
{
    const struct backup_state *state = &s->backup;
    const bool has_last = state->finished_at != TIME_NONE;
    int64_t next_at;
    const bool is_due = backup_is_due(s, &next_at);
    JSON_KEY(b, "backup");
    json_open(b, '{');
    JSON_STR(b, "directory",
             backup_is_enabled(s) ? str_from_cstr(s->config->backup.directory) : (struct str){0});
    JSON_TIME_OR_NULL(b, "last_started_at", has_last, state->started_at);
    JSON_TIME_OR_NULL(b, "last_finished_at", has_last, state->finished_at);
    JSON_STR(b, "last_file", has_last ? str_from_cstr(state->file) : (struct str){0});
    JSON_I64_OR_NULL(b, "last_bytes", has_last, state->bytes);
    JSON_TIME_OR_NULL(b, "next_at", backup_is_enabled(s), next_at);
    JSON_BOOL(b, "due", backup_is_enabled(s) && is_due);
    JSON_TIME_OR_NULL(b, "failed_at", state->failed_at != TIME_NONE, state->failed_at);
    JSON_STR(b, "error", *state->error ? str_from_cstr(state->error) : (struct str){0});
    json_close(b, '}');
}

static void json_server_load(struct buf *b, const struct store_server_load *l)
{
    JSON_KEY(b, "server");
    json_open(b, '{');
    JSON_I64(b, "connections", l->connections);
    JSON_I64(b, "connections_max", l->connections_max);
    JSON_I64(b, "live_rows", l->live_rows);
    JSON_I64(b, "dead_rows", l->dead_rows);
    JSON_I64(b, "standbys", l->standbys);
    JSON_I64_OR_NULL(b, "lag_bytes", l->lag_bytes >= 0, l->lag_bytes);
    json_close(b, '}');
}

static void print_json(struct buf *b, const struct service_status *s)
{
    json_open(b, '{');
    JSON_TIME(b, "now", s->now);
    json_refresh(b, s);
    JSON_KEY(b, "videos");
    json_open(b, '{');
    JSON_I64(b, "live", s->live);
    JSON_I64(b, "stale", s->stale);
    json_close(b, '}');
    json_backlog(b, s);
    json_platforms(b, s);
    redis_state_json(&s->redis, b);
    json_backup(b, s);
    JSON_KEY(b, "database");
    json_open(b, '{');
    JSON_STR(b, "path", str_from_cstr(store_config_name(s->config)));
    JSON_I64_OR_NULL(b, "bytes", store_config_is_file(s->config), s->database_bytes);
    JSON_I64_OR_NULL(b, "wal_bytes", store_config_is_file(s->config), s->wal_bytes);
    if (!store_config_is_file(s->config))
        json_server_load(b, &s->server_load);
    json_close(b, '}');
    JSON_KEY(b, "runs");
    json_open(b, '[');
    for (int i = 0; i < s->run_count; i++)
        json_run(b, s, &s->runs[i]);
    json_close(b, ']');
    json_close(b, '}');
    buf_append_char(b, '\n');
}

/* ---- text output ---- */

static int64_t sum_of(const struct shown_run *run, struct str prefix)
{
    int64_t sum = 0;
    for (int i = 0; i < run->count; i++)
        if (str_starts_with(run->counts[i].name, prefix))
            sum += run->counts[i].value;
    return sum;
}

static void text_refresh(struct buf *b, const struct service_status *s)
{
    buf_printf(b, "refresh    ");
    if (!is_enabled(s))
        buf_printf(b, "off: [refresh] source = none");
    else if (s->lease_is_held)
        buf_printf(b, "in progress since ");
    else if (is_overdue(s))
        buf_printf(b, "OVERDUE: no run has completed since the last scheduled time; check that a server "
                      "is running, and the results of its runs");
    else
        buf_printf(b, "up to date");
    if (is_enabled(s) && s->lease_is_held) {
        cli_append_time(b, s->lease.acquired_at);
        buf_printf(b, " by %s", s->lease.holder);
    }
    buf_printf(b, "\nlast       ");
    if (s->last_started_at == TIME_NONE)
        buf_printf(b, "never");
    else
        cli_append_time(b, s->last_started_at);
    if (is_enabled(s) && !is_overdue(s)) {
        buf_printf(b, "\nnext       ");
        cli_append_time(b, slot_next(&s->rule, s->now, s->last_started_at));
    }
    buf_append_char(b, '\n');
}

static void text_backlog(struct buf *b, const struct service_status *s)
{
    for (int i = 0; s->sources.sources[i]; i++) {
        const struct source *source = s->sources.sources[i];
        struct source_backlog backlog;
        if (source->backlog && source->backlog(s->config, &backlog))
            buf_printf(b, "%-10s %lld pending file%s, %lld bytes\n", source_name(source->kind),
                       (long long)backlog.files, plural(backlog.files, "", "s"), (long long)backlog.bytes);
    }
}

/* Prints nothing if there are no accounts. */
static void text_platforms(struct buf *b, const struct service_status *s)
{
    int64_t connected = 0, reconnect = 0;
    for (int api = 0; api < PLATFORM_APIS; api++) {
        connected += s->platforms[api].accounts[CREDENTIAL_CONNECTED];
        reconnect += s->platforms[api].accounts[CREDENTIAL_RECONNECT_REQUIRED];
    }
    if (!connected && !reconnect)
        return;
    buf_printf(b, "platforms  accounts: %lld connected, %lld reconnect required", (long long)connected,
               (long long)reconnect);
    for (int api = 0; api < PLATFORM_APIS; api++) {
        const struct platform_health *p = &s->platforms[api];
        const char *name = platform_desc(p->api)->name;
        if (p->circuit_open_until != TIME_NONE || p->paused_until != TIME_NONE)
            buf_printf(b, "; %s is paused", name);
        if (p->has_backlog)
            buf_printf(b, "; %s has a BACKLOG", name);
    }
    buf_printf(b, " (viewtally platform status)\n");
}

static void text_runs_heading(struct buf *b)
{
    buf_printf(b, "\n%-19s  %-8s  %-12s  %10s  %s\n", "STARTED", "CAUSE", "RESULT", "DURATION", "COUNTS");
}

static void text_run(struct buf *b, const struct service_status *s, const struct shown_run *run)
{
    const struct run_row *row = &run->row;
    const bool finished = row->finished_at != TIME_NONE;
    cli_append_time(b, row->started_at);
    buf_printf(b, "  %-8s  %-12s  ", run_cause_name(row->cause),
               run_state_name((enum run_state)outcome_of(s, row)));
    if (finished)
        buf_printf(b, "%7lld ms  ", (long long)(row->finished_at - row->started_at));
    else
        buf_printf(b, "%10s  ", "");
    const int64_t bad_lines = sum_of(run, STR("bad_lines"));
    const int64_t events = sum_of(run, STR("viral_events")) + sum_of(run, STR("milestone_events"));
    buf_printf(b, "%lld accepted, %lld rejected, %lld bad line%s, %lld event%s",
               (long long)sum_of(run, STR("accepted")), (long long)sum_of(run, STR("rejected:")),
               (long long)bad_lines, plural(bad_lines, "", "s"), (long long)events, plural(events, "", "s"));
    if (row->error.p) {
        buf_printf(b, ": ");
        cli_append_text(b, row->error);
    }
    buf_append_char(b, '\n');
}

static void text_backup(struct buf *b, const struct service_status *s)
{
    const struct backup_state *state = &s->backup;
    buf_printf(b, "backup     ");
    if (!backup_is_enabled(s)) {
        buf_printf(b, "off: [backup] directory is not set\n");
        return;
    }
    if (state->finished_at == TIME_NONE) {
        buf_printf(b, "never made");
    } else {
        buf_printf(b, "last ");
        cli_append_time(b, state->started_at);
        buf_printf(b, " (%s, %lld bytes)", state->file, (long long)state->bytes);
    }
    int64_t next_at;
    const bool is_due = backup_is_due(s, &next_at);
    buf_printf(b, is_due ? ", due since " : ", next ");
    cli_append_time(b, next_at);
    buf_append_char(b, '\n');
    if (state->failed_at == TIME_NONE)
        return;
    buf_printf(b, "           FAILED at ");
    cli_append_time(b, state->failed_at);
    buf_printf(b, ": ");
    cli_append_text(b, str_from_cstr(state->error));
    if (is_due)
        buf_printf(b, "; the server retries after a pause of 1 to 60 minutes");
    buf_append_char(b, '\n');
}

static void text_server_load(struct buf *b, const struct store_server_load *l)
{
    buf_printf(b,
               "server     connections: %lld of at most %lld; rows: %lld live, %lld dead; standbys: %lld\n",
               (long long)l->connections, (long long)l->connections_max, (long long)l->live_rows,
               (long long)l->dead_rows, (long long)l->standbys);
}

static void print_text(struct buf *b, const struct service_status *s)
{
    text_refresh(b, s);
    text_backlog(b, s);
    text_platforms(b, s);
    redis_state_text(&s->redis, b);
    buf_printf(b, "videos     %lld younger than 30 days, %lld of them not updated for two hours\n",
               (long long)s->live, (long long)s->stale);
    text_backup(b, s);
    buf_printf(b, "database   %s", store_config_name(s->config));
    if (store_config_is_file(s->config))
        buf_printf(b, ": %lld bytes, %lld in the write-ahead log", (long long)s->database_bytes,
                   (long long)s->wal_bytes);
    buf_append_char(b, '\n');
    if (!store_config_is_file(s->config))
        text_server_load(b, &s->server_load);
    if (s->run_count)
        text_runs_heading(b);
    for (int i = 0; i < s->run_count; i++)
        text_run(b, s, &s->runs[i]);
}

/* ---- the command ---- */

static enum cli_exit gather(struct service_status *s)
{
    struct store *store = NULL;
    struct error error;
    const struct store_options options = store_options_from_config(s->config, STORE_READ);
    if (store_open(&store, &options, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    s->now = clock_wall_ms();
    s->sources = sources_from_config(s->config);
    s->rule = refresh_slot_rule(s->config, 0);
    s->rule.jitter_ms = 0; /* each server has its own random delay, which is unknown here */
    enum err err = read_all(s, store);
    store_close(store);
    redis_state_read(&s->redis, s->config);
    s->database_bytes = database_file_size(s->config->store.path, "");
    s->wal_bytes = database_file_size(s->config->store.path, "-wal");
    return err ? cli_fail(CLI_COULD_NOT, "database error: %s", err_name(err)) : CLI_DONE;
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    struct buf out;
    if (!cli_lock_database(cli, false))
        return CLI_COULD_NOT;
    struct service_status *s = xcalloc(1, sizeof *s);
    s->config = &cli->config;
    arena_init(&s->arena, 4096);
    enum cli_exit code = gather(s);
    if (code == CLI_DONE) {
        buf_init(&out, TEXT_MAX);
        (cli_flag(arguments, "json") ? print_json : print_text)(&out, s);
        code = cli_print(&out);
    }
    arena_fini(&s->arena);
    free(s);
    return code;
}

static const struct cli_option status_options[] = {
    {.name = "json", .help = "Print JSON, with all counters by source and platform."},
    {0},
};

static const struct cli_action actions[] = {
    {.options = status_options,
     .description =
         "Shows whether the refresh is running, overdue or up to date; the time of the next run; pending "
         "files; the number of videos younger than 30 days, and how many of them have not been updated "
         "for two hours; the accounts of the platforms; the state of Redis; the last and next scheduled "
         "backup; the size of the database file, or the load of the database server; and the results of the "
         "last ten runs. Times are in UTC.",
     .examples = "viewtally status\n"
                 "viewtally status --json | jq .refresh.overdue",
     .run = run},
    {0},
};

const struct cli_command cli_status = {
    .name = "status",
    .summary = "show the state of the refresh and of backups",
    .actions = actions,
};
