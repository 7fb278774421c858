/* Starts and stops the server.
 *
 *   STARTING --all subsystems are open-->      RUNNING
 *   RUNNING  --SIGTERM, SIGINT-->              DRAINING
 *   DRAINING --requests and jobs have ended--> STOPPED
 *
 * Subsystems are opened in the order of the table `subsystems` and closed in reverse. The HTTP server and the
 * jobs (refresh, backup, webhooks) drain first (on_stop_signal()). When all of them are closed,
 * stop_if_drained() closes the other subsystems, and the loop ends when no handle is left. A second signal
 * aborts the requests in flight. It does not end the jobs, because new platform tokens would be lost. */
#include "app/app.h"

#include "admin/database_states.h"
#include "api/longpoll.h"
#include "app/applications.h"
#include "app/server_database.h"
#include "app/monitor.h"
#include "app/passed_sockets.h"
#include "app/reload.h"
#include "auth/api_key.h"
#include "auth/expiry_observer.h"
#include "backup/backup_schedule.h"
#include "base/check.h"
#include "base/log.h"
#include "base/stop_signals.h"
#include "config/config_list.h"
#include "config/socket_access.h"
#include "fetch/sources.h"
#include "http/server.h"
#include "limit/scripts.h"
#include "net/http_client.h"
#include "net/ping.h"
#include "refresh/schedule.h"
#include "refresh/spool_watch.h"
#include "store/store_config.h"
#include "webhook/webhook_service.h"

#include <signal.h>

enum {
    HEAD_BYTES = 16 << 10,
    TARGET_BYTES = 8 << 10,
    REQUEST_BODY_BYTES = 16 << 10,
    REQUEST_TIMEOUT_MS = 120 * 1000,
};

struct app {
    const struct config *config;
    uv_loop_t loop;
    size_t opened; /* number of subsystems that were opened */
    struct server_database database;
    struct redis *redis; /* NULL if not configured */
    struct redis_probes redis_probes;
    struct applications applications;
    struct expiry_observer *expiry_observer;
    struct monitor *monitor;
    uv_signal_t sigterm, sigint;
    struct reload reload;
    struct http_server *server;       /* NULL if closed */
    struct schedule *schedule;        /* NULL if closed */
    struct backup_schedule *backups;  /* NULL if closed */
    struct webhook_service *webhooks; /* NULL if closed */
    struct ping *refresh_ping, *backup_ping;
    struct spool_watch *spool_watch; /* NULL if there is no spool */
    struct passed_sockets passed;
    struct notifier *notifier;
    bool draining;         /* a signal to stop has arrived */
    bool drains_gradually; /* the signal was SIGTERM: see begin_stop() and drain_server() */
    bool server_drains;    /* the HTTP server drains, or is closing */
};

/* ---- database, Redis, applications ---- */

static enum err open_database(struct app *app, struct error *error)
{
    return server_database_open(&app->database, &app->loop, app->config, error);
}

static void close_database(struct app *app)
{
    server_database_close(&app->database);
}

static enum err open_redis(struct app *app, struct error *error)
{
    const struct config *c = app->config;
    struct redis_options options;
    if (!*c->redis.url)
        return OK;
    enum err err = redis_options_from_config(&options, c, error);
    if (err)
        return err;
    redis_probes_init(&app->redis_probes, c->redis.key_prefix);
    app->redis = redis_new(&app->loop, &options, redis_scripts, app->redis_probes.probes, REDIS_PROBES);
    if (!app->redis)
        return error_set(error, ERR_NOMEM, "out of memory while setting up the connection to Redis");
    return OK;
}

static void close_redis(struct app *app)
{
    if (app->redis)
        redis_close(app->redis, NULL, NULL);
    app->redis = NULL;
}

static enum err open_applications(struct app *app, struct error *error)
{
    (void)error;
    applications_open(&app->applications, &app->loop, app->config, &app->database, app->redis);
    app->expiry_observer = expiry_observer_new(&app->loop, app->database.writer);
    return OK;
}

static void close_applications(struct app *app)
{
    expiry_observer_close(app->expiry_observer);
    applications_close(&app->applications);
}

static void free_applications(struct app *app)
{
    expiry_observer_free(app->expiry_observer);
    applications_free(&app->applications);
}

/* ---- opening and closing the monitor ---- */

static enum err open_monitor(struct app *app, struct error *error)
{
    app->monitor = monitor_new(&app->loop, app->config);
    struct admin_view *view = monitor_get_view(app->monitor);
    view->store = app->database.store;
    view->writer = app->database.writer;
    view->checkpointer = app->database.checkpointer;
    view->redis = app->redis;
    view->limiter = app->applications.api.limiter;
    view->positions = app->applications.api.positions;
    monitor_set_applications(app->monitor, &app->applications);
    /* If a database file contains many accounts, this takes long; later reads are then jobs. */
    if (store_config_is_file(app->config))
        database_states_update(view->states, view->store, view->writer);
    enum err err = monitor_set_access_log(app->monitor, app->config->log.access, error);
    return err ? err : monitor_open(app->monitor, &app->passed, error);
}

static void close_monitor(struct app *app)
{
    monitor_close(app->monitor);
}

static void free_monitor(struct app *app)
{
    monitor_free(app->monitor);
}

/* ---- HTTP server ---- */

static bool holds_key(void *ctx, struct str text)
{
    const struct app *app = ctx;
    return key_locate_secret(app->applications.api.envelope.key_prefix, text) < text.len;
}

static void find_reachable(void *ctx, struct str address)
{
    bool *found = ctx;
    if (!str_starts_with(address, STR("127.")) && !str_starts_with(address, STR("[::1]")) &&
        !str_starts_with(address, STR("localhost:")))
        *found = true;
}

/* Warns if clients on other hosts can reach the server although [server] base_url is not set, because these
 * clients cannot use the URLs that the responses contain in this case. */
static void check_base_url(const struct config *c)
{
    bool found = false;
    if (config_is_set(c, "server", "base_url"))
        return;
    config_each_item(c->server.listen, find_reachable, &found);
    if (found)
        log_warn(
            "[server] base_url is not set, so invitation links lead to 127.0.0.1, and the API description "
            "contains no host name. Set base_url to the URL that clients use, such as "
            "https://stats.example.com/v1");
}

static enum err open_server(struct app *app, struct error *error)
{
    const struct config *c = app->config;
    struct config_list listen, proxies;
    struct socket_access access;
    enum err err = socket_access_from_config(c, &access, error);
    if (err)
        return err;
    config_list_init(&listen, app->passed.server_count ? "" : c->server.listen);
    config_list_init(&proxies, c->server.trusted_proxies);
    const struct http_options options = {
        .limits = {.head_bytes = HEAD_BYTES,
                   .target_bytes = TARGET_BYTES,
                   .field_lines = HTTP_FIELD_LINES_MAX,
                   .body_bytes = REQUEST_BODY_BYTES,
                   .max_connections = (int)c->server.max_connections,
                   .header_timeout_ms = (int)c->server.header_timeout_ms,
                   .body_timeout_ms = (int)c->server.body_timeout_ms,
                   .idle_timeout_ms = (int)c->server.idle_timeout_ms,
                   .write_timeout_ms = (int)c->server.write_timeout_ms,
                   .request_timeout_ms = REQUEST_TIMEOUT_MS,
                   .drain_ms = (int)c->server.drain_ms},
        .listen = (const char *const *)listen.texts.items,
        .listen_count = listen.texts.count,
        .passed = app->passed.server,
        .passed_count = app->passed.server_count,
        .socket_mode = access.mode,
        .has_socket_group = access.has_group,
        .socket_group = access.group,
        .reuse_port = c->server.reuse_port,
        .trusted_proxies = (const char *const *)proxies.texts.items,
        .trusted_proxy_count = proxies.texts.count,
        .extra_field = c->account.auth_header,
        .timing = c->server.timing,
        .router = &app->applications.router,
        .holds_secret = holds_key,
        .holds_secret_ctx = app,
        .ended = monitor_record_request,
        .ended_ctx = app->monitor,
    };
    err = http_server_open(&app->server, &app->loop, &options, error);
    config_list_fini(&listen);
    config_list_fini(&proxies);
    if (!err)
        check_base_url(c);
    return err;
}

/* ---- opening the scheduled refresh ---- */

static void on_spool_changed(void *ctx)
{
    struct app *app = ctx;
    schedule_spool_changed(app->schedule);
}

static enum err open_refresh(struct app *app, struct error *error)
{
    const struct config *c = app->config;
    const struct source_list sources = sources_from_config(c);
    (void)error;
    app->schedule =
        schedule_open(&app->loop, c, app->database.store, writer_lock(app->database.writer), &sources);
    if (source_list_only(&sources, SOURCE_SPOOL).sources[0])
        app->spool_watch = spool_watch_open(&app->loop, c->refresh.spool_dir, on_spool_changed, app);
    return OK;
}

/* ---- backups and dead man's switches ---- */

static void on_refresh_complete(void *ctx)
{
    struct app *app = ctx;
    ping_send(app->refresh_ping, app->config->refresh.ping_url);
}

static void on_backup_complete(void *ctx)
{
    struct app *app = ctx;
    ping_send(app->backup_ping, app->config->backup.ping_url);
}

static enum err open_backups(struct app *app, struct error *error)
{
    (void)error;
    app->refresh_ping = ping_new(&app->loop, "refresh");
    app->backup_ping = ping_new(&app->loop, "backup");
    schedule_on_complete(app->schedule, on_refresh_complete, app);
    app->backups = backup_schedule_open(&app->loop, app->config, app->database.store,
                                        writer_lock(app->database.writer), on_backup_complete, app);
    return OK;
}

static enum err open_webhooks(struct app *app, struct error *error)
{
    (void)error;
    app->webhooks = webhook_service_open(&app->loop, app->config, writer_lock(app->database.writer));
    return OK;
}

static void close_pings(struct app *app)
{
    if (app->refresh_ping) {
        ping_close(app->refresh_ping);
        ping_close(app->backup_ping);
    }
    app->refresh_ping = app->backup_ping = NULL;
}

/* ---- signals ---- */

static void close_all(struct app *app);

static void stop_if_drained(struct app *app)
{
    if (!app->server && !app->schedule && !app->backups && !app->webhooks)
        close_all(app);
}

static void on_server_closed(void *ctx)
{
    struct app *app = ctx;
    app->server = NULL;
    monitor_get_view(app->monitor)->server = NULL;
    stop_if_drained(app);
}

/* After SIGTERM, drains the server gradually. After SIGINT, which a person sends, closes idle connections
 * immediately. */
static void drain_server(struct app *app)
{
    app->server_drains = true;
    longpoll_drain(app->applications.api.longpoll);
    if (app->drains_gradually)
        http_server_drain(app->server, on_server_closed, app);
    else
        http_server_close(app->server, on_server_closed, app);
}

static void on_schedule_closed(void *ctx)
{
    struct app *app = ctx;
    app->schedule = NULL;
    monitor_get_view(app->monitor)->schedule = NULL;
    if (app->server && !app->server_drains)
        drain_server(app);
    stop_if_drained(app);
}

static void on_backups_closed(void *ctx)
{
    struct app *app = ctx;
    app->backups = NULL;
    monitor_get_view(app->monitor)->backups = NULL;
    stop_if_drained(app);
}

static void on_webhooks_closed(void *ctx)
{
    struct app *app = ctx;
    app->webhooks = NULL;
    monitor_get_view(app->monitor)->webhooks = NULL;
    stop_if_drained(app);
}

static void drain_refresh(struct app *app)
{
    if (app->spool_watch)
        spool_watch_close(app->spool_watch);
    app->spool_watch = NULL;
    schedule_close(app->schedule, on_schedule_closed, app);
    backup_schedule_close(app->backups, on_backups_closed, app);
    webhook_service_close(app->webhooks, on_webhooks_closed, app);
}

/* Begins to stop the server. After SIGTERM, the server continues to serve until the refresh has stopped
 * (on_schedule_closed()), because a refresh that is renewing tokens may need a minute to stop. */
static void begin_stop(struct app *app, int number)
{
    log_info("signal %d: finishing the requests in flight", number);
    notifier_send(app->notifier, "STOPPING=1\nSTATUS=Finishing the requests in flight");
    app->draining = monitor_get_view(app->monitor)->draining = app->reload.is_stopping = true;
    app->drains_gradually = number == SIGTERM;
    store_limit_waits((int)app->config->server.drain_ms);
    drain_refresh(app);
    if (!app->drains_gradually && !app->server_drains)
        drain_server(app);
}

static void on_stop_signal(uv_signal_t *signal, int number)
{
    struct app *app = signal->data;
    if (!app->server) {
        log_info("signal %d: waiting until the refresh, the backup and the webhooks have stopped", number);
        return;
    }
    if (!app->draining) {
        begin_stop(app, number);
        return;
    }
    log_info("signal %d: aborting the requests in flight", number);
    if (!app->server_drains)
        drain_server(app);
    http_server_close(app->server, on_server_closed, app);
}

/* Called by reload.c when it has applied a new configuration after SIGHUP. */
static void on_config_changed(void *ctx)
{
    struct app *app = ctx;
    log_set(app->config->log.level, app->config->log.format);
    applications_reconfigure(&app->applications, app->config);
    monitor_reconfigure(app->monitor);
    if (app->server)
        http_server_set_timing(app->server, app->config->server.timing);
    if (app->schedule)
        schedule_reconfigure(app->schedule);
}

static enum err open_signals(struct app *app, struct error *error)
{
    (void)error;
    CHECK(uv_signal_init(&app->loop, &app->sigterm) == 0 && uv_signal_init(&app->loop, &app->sigint) == 0);
    app->sigterm.data = app->sigint.data = app;
    CHECK(uv_signal_start(&app->sigterm, on_stop_signal, SIGTERM) == 0);
    CHECK(uv_signal_start(&app->sigint, on_stop_signal, SIGINT) == 0);
    app->reload.monitor = app->monitor;
    app->reload.notifier = app->notifier;
    reload_sighup_start(&app->reload, &app->loop);
    notifier_start_watchdog(app->notifier, &app->loop);
    return OK;
}

static void close_signals(struct app *app)
{
    uv_close((uv_handle_t *)&app->sigterm, NULL);
    uv_close((uv_handle_t *)&app->sigint, NULL);
    /* libuv has restored the default actions, but closing the database may still take a while. */
    stop_signals_end_process_1();
    reload_sighup_stop(&app->reload);
    notifier_stop_watchdog(app->notifier);
}

/* ---- start and stop ---- */

/* The subsystems of the server, in start order. `close` starts to close a subsystem, even if its `open` has
 * failed; the loop completes the close. `close` is NULL for subsystems that on_stop_signal() drains and
 * closes. `free` is called after the loop has ended. */
static const struct subsystem {
    enum err (*open)(struct app *app, struct error *error);
    void (*close)(struct app *app);
    void (*free)(struct app *app);
} subsystems[] = {
    {open_database, close_database, NULL},
    {open_redis, close_redis, NULL},
    {open_applications, close_applications, free_applications},
    {open_monitor, close_monitor, free_monitor},
    {open_signals, close_signals, NULL},
    {open_server, NULL, NULL},
    {open_refresh, NULL, NULL},
    {open_backups, close_pings, NULL},
    {open_webhooks, NULL, NULL},
};
enum { SUBSYSTEMS = sizeof subsystems / sizeof subsystems[0] };

static enum err open_all(struct app *app, struct error *error)
{
    if (http_client_check(error) || passed_sockets_take(&app->passed, error))
        return ERR_INVALID;
    while (app->opened < SUBSYSTEMS) {
        const enum err err = subsystems[app->opened++].open(app, error);
        if (err)
            return err;
    }
    return OK;
}

static void close_all(struct app *app)
{
    for (size_t i = app->opened; i-- > 0;)
        if (subsystems[i].close)
            subsystems[i].close(app);
}

static void free_all(struct app *app)
{
    for (size_t i = app->opened; i-- > 0;)
        if (subsystems[i].free)
            subsystems[i].free(app);
}

/* Prints the addresses of the listeners. Call only when all subsystems are open, because scripts wait for
 * these lines before they send requests. */
static void announce(struct app *app)
{
    struct admin_view *view = monitor_get_view(app->monitor);
    view->schedule = app->schedule;
    view->backups = app->backups;
    view->webhooks = app->webhooks;
    view->refresh_ping = app->refresh_ping;
    view->backup_ping = app->backup_ping;
    http_server_print_addresses(app->server, "listening on");
    monitor_print_addresses(app->monitor);
    view->server = app->server;
    notifier_send(app->notifier, "READY=1\nSTATUS=Serving requests");
}

enum err app_run(struct config *config, const char *config_path, struct notifier *notifier,
                 struct error *error)
{
    struct app app = {.config = config, .notifier = notifier};
    app.reload = (struct reload){
        .config = config, .path = config_path, .changed = on_config_changed, .changed_ctx = &app};
    log_start();
    CHECK(uv_loop_init(&app.loop) == 0);
    (void)signal(SIGPIPE, SIG_IGN);
    enum err err = open_all(&app, error);
    notifier_end_start(notifier);
    if (err)
        close_all(&app);
    else
        announce(&app);
    CHECK(uv_run(&app.loop, UV_RUN_DEFAULT) == 0);
    if (!err)
        log_info("stopped");
    free_all(&app);
    CHECK(uv_loop_close(&app.loop) == 0);
    log_stop();
    return err;
}
