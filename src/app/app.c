/* Wires the server: start order, drain, stop in reverse.
 *
 *   STARTING --all parts are open--> RUNNING --SIGTERM, SIGINT--> DRAINING --last request done--> STOPPED
 *   on_signal() makes the second and, by http_server_close(), the third transition; a second signal forces
 * it.
 *
 * Knows every part, and nothing of what the parts do. */
#include "app/app.h"

#include "api/api.h"
#include "api/longpoll.h"
#include "auth/key_usage.h"
#include "oauth/oauth.h"
#include "auth/expiry_observer.h"
#include "auth/api_key.h"
#include "auth/key_cache.h"
#include "base/check.h"
#include "base/log.h"
#include "http/server.h"
#include "net/http_client.h"
#include "vault/token_vault.h"
#include "limit/scripts.h"
#include "import/finalizing.h"
#include "fetch/sources.h"
#include "refresh/schedule.h"
#include "refresh/spool_watch.h"
#include "web/page.h"
#include "store/checkpoint.h"
#include "store/writer.h"
#include "app/reload.h"
#include "app/monitor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    HEAD_BYTES = 16 << 10,
    TARGET_BYTES = 8 << 10,
    REQUEST_BODY_BYTES = 16 << 10,
    REQUEST_TIMEOUT_MS = 120 * 1000,
    LIST_ITEMS_MAX = 64,
};

struct app {
    const struct config *config;
    uv_loop_t loop;
    uv_signal_t sigterm, sigint;
    struct store *store;
    struct writer *writer;
    struct checkpointer *checkpointer;
    struct redis *redis; /* NULL: none is configured */
    struct redis_probes redis_probes;
    struct http_server *server;
    struct schedule *schedule;
    struct monitor *watch;
    struct spool_watch *spool_watch; /* NULL: no spool */
    struct reload reload;
    struct api api;
    struct oauth oauth;
    struct router router;
    char *metadata_path; /* of the router */
    struct web web;
    struct expiry_observer *expiry_observer;
    bool draining;
};

/* ---- configuration lists ---- */

struct items {
    size_t count;
    char *text[LIST_ITEMS_MAX];
};

static void add_item(void *ctx, struct str item)
{
    struct items *items = ctx;
    if (items->count == LIST_ITEMS_MAX)
        return;
    char *text = xmalloc(item.len + 1);
    memcpy(text, item.p, item.len);
    text[item.len] = '\0';
    items->text[items->count++] = text;
}

static void free_items(struct items *items)
{
    for (size_t i = 0; i < items->count; i++)
        free(items->text[i]);
}

/* ---- the applications and where they are mounted ---- */

/* The path of http://host/path; "" for an empty URL. */
static struct str path_of_url(const char *url)
{
    struct str s = str_from_cstr(url), head;
    for (int slashes = 0; slashes < 3 && s.p; slashes++)
        s = str_cut(s, '/', &head);
    return s.p ? str_make(s.p - 1, s.len + 1) : STR("");
}

static void init_api(struct app *app)
{
    const struct config *c = app->config;
    const struct envelope_settings envelope = {.cors_origins = c->server.cors_origins,
                                               .key_prefix = str_from_cstr(c->keys.prefix)};
    app->api = (struct api){
        .envelope = envelope,
        .store = app->store,
        .limiter = limiter_new((int)c->limits.requests_per_minute, app->redis, c->redis.key_prefix),
        .positions = poll_positions_new(&app->loop, app->redis, c->redis.key_prefix),
        .key_cache = key_cache_new(),
        .cache = response_cache_new((size_t)c->cache.max_bytes),
        .longpoll = longpoll_new(&app->loop, app->store),
        .usage = key_usage_new(&app->loop, app->writer),
        .limit_headers = c->limits.headers,
    };
    app->oauth = (struct oauth){.envelope = envelope,
                                .store = app->store,
                                .writer = app->writer,
                                .base_url = str_from_cstr(c->server.base_url)};
    api_init(&app->api);
    oauth_init(&app->oauth);
}

static void mount(struct app *app, struct str prefix, const struct route *const *routes,
                  const struct http_app *http, enum mount_unknown unknown)
{
    router_mount(&app->router,
                 &(struct mount){.prefix = prefix, .routes = routes, .app = http, .unknown = unknown});
}

static void mount_api(struct app *app, struct str prefix)
{
    mount(app, prefix, api_routes, &app->api.http, UNKNOWN_ALL);
    mount(app, prefix, oauth_routes, &app->oauth.http, UNKNOWN_NONE);
}

/* The mount table. Browsers get a page for an unknown address, other clients get JSON. */
static void mount_all(struct app *app)
{
    const struct config *c = app->config;
    const struct str base = path_of_url(c->server.base_url), direct = path_of_url(c->server.direct_url),
                     metadata = OAUTH_METADATA_PATH;
    app->metadata_path = xmalloc(metadata.len + base.len);
    memcpy(app->metadata_path, metadata.p, metadata.len);
    memcpy(app->metadata_path + metadata.len, base.p, base.len);
    app->router.fallback = &app->api.http;
    mount_api(app, base);
    if (direct.len && !str_eq(direct, base))
        mount_api(app, direct);
    mount(app, base, web_api_routes, &app->web.http, UNKNOWN_NONE);
    mount(app, metadata, oauth_metadata_routes, &app->oauth.http, UNKNOWN_NONE);
    mount(app, str_make(app->metadata_path, metadata.len + base.len), oauth_metadata_routes, &app->oauth.http,
          UNKNOWN_NONE);
    mount(app, app->web.base, web_routes, &app->web.http, UNKNOWN_HTML);
}

/* ---- start ---- */

/* What an import that was killed has left undecided. Not a reason to serve nothing: the next one does it. */
static void complete_import(const struct config *c, const struct store_options *writes)
{
    const struct step_rules rules = step_rules_configured(c);
    struct finalizing_result done;
    struct error error;
    if (finalizing_complete(writes, &rules, &done, &error))
        log_warn("%s: videos of an unfinished import were not decided: %s", c->store.path, error.text);
    else if (done.videos)
        log_info("%s: decided %lld videos that an unfinished import had left", c->store.path,
                 (long long)done.videos);
}

/* Tokens that cannot be decrypted stop the start, so that the operator notices before authors do. */
static enum err check_secrets(const struct app *app, struct error *error)
{
    return vault_check(app->config, app->store, error) ? ERR_INVALID : OK;
}

static enum err open_store(struct app *app, struct error *error)
{
    const struct config *c = app->config;
    int applied;
    enum err e = store_migrate(c->store.path, &applied, error);
    if (e)
        return e;
    if (applied)
        log_info("%s: %d migration%s applied", c->store.path, applied, applied == 1 ? "" : "s");
    const struct store_options reads = {.path = c->store.path, .mode = STORE_READ};
    const struct store_options writes = {
        .path = c->store.path,
        .mode = STORE_WRITE,
        .busy_timeout_ms = (int)c->store.busy_timeout_ms,
        .checkpointed = true,
    };
    complete_import(c, &writes);
    e = store_open(&app->store, &reads, error);
    if (e)
        return e;
    e = check_secrets(app, error);
    if (e)
        return e;
    e = writer_open(&app->writer, &app->loop, &writes, error);
    if (e)
        return e;
    return checkpointer_open(&app->checkpointer, &app->loop, c->store.path, writer_lock(app->writer), error);
}

static enum err open_redis(struct app *app, struct error *error)
{
    const struct config *c = app->config;
    struct redis_options options;
    if (!*c->redis.url)
        return OK;
    enum err err = redis_options_configured(&options, c, error);
    if (err)
        return err;
    redis_probes_init(&app->redis_probes, c->redis.key_prefix);
    app->redis = redis_new(&app->loop, &options, redis_scripts, app->redis_probes.probes, REDIS_PROBES);
    if (!app->redis)
        return error_set(error, ERR_NOMEM, "out of memory while setting up the connection to Redis");
    return OK;
}

static bool holds_key(void *ctx, struct str text)
{
    const struct app *app = ctx;
    return key_locate_secret(app->api.envelope.key_prefix, text) < text.len;
}

static enum err open_server(struct app *app, struct error *error)
{
    const struct config *c = app->config;
    struct items listen = {0}, proxies = {0};
    config_each_item(c->server.listen, add_item, &listen);
    config_each_item(c->server.trusted_proxies, add_item, &proxies);
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
        .listen = (const char *const *)listen.text,
        .listen_count = listen.count,
        .reuse_port = c->server.reuse_port,
        .trusted_proxies = (const char *const *)proxies.text,
        .trusted_proxy_count = proxies.count,
        .extra_field = c->account.auth_header,
        .router = &app->router,
        .holds_secret = holds_key,
        .holds_secret_ctx = app,
        .ended = monitor_record_request,
        .ended_ctx = app->watch,
    };
    enum err err = http_server_open(&app->server, &app->loop, &options, error);
    free_items(&listen);
    free_items(&proxies);
    return err;
}

static enum err open_watch(struct app *app, struct error *error)
{
    const char *why = "";
    struct admin_view *view = monitor_view(app->watch);
    view->store = app->store;
    view->writer = app->writer;
    view->checkpointer = app->checkpointer;
    view->redis = app->redis;
    view->limiter = app->api.limiter;
    monitor_set_response_cache(app->watch, app->api.cache);
    view->cursors = app->api.positions;
    enum err err = monitor_set_access_log(app->watch, app->config->log.access, &why);
    if (err)
        return error_set(error, err, "%s", why);
    return monitor_open(app->watch, error);
}

/* ---- stop, in reverse ---- */

static void close_redis(struct app *app)
{
    poll_positions_close(app->api.positions);
    app->api.positions = NULL;
    if (app->api.limiter)
        limiter_detach_redis(app->api.limiter);
    if (app->redis)
        redis_close(app->redis, NULL, NULL);
    app->redis = NULL;
}

static void on_writer_closed(void *ctx)
{
    struct app *app = ctx;
    app->writer = NULL;
}

static void close_writer(void *ctx)
{
    struct app *app = ctx;
    app->checkpointer = NULL;
    if (app->writer)
        writer_close(app->writer, on_writer_closed, app);
}

/* The reader first, the writer last: the last one to close writes the log back into the database, which a
 * reader may not, and should not do on the loop. */
static void close_store(struct app *app)
{
    if (app->store)
        store_close(app->store);
    app->store = NULL;
    if (app->checkpointer)
        checkpointer_close(app->checkpointer, close_writer, app);
    else
        close_writer(app);
}

static void stop_handles(struct app *app)
{
    uv_close((uv_handle_t *)&app->sigterm, NULL);
    uv_close((uv_handle_t *)&app->sigint, NULL);
    reload_close(&app->reload);
}

/* Nobody asks and nobody refreshes any more. */
static void stop_rest(struct app *app)
{
    if (app->server || app->schedule)
        return;
    monitor_close(app->watch);
    longpoll_close(app->api.longpoll);
    app->api.longpoll = NULL;
    key_usage_close(app->api.usage);
    web_close(&app->web);
    expiry_observer_close(app->expiry_observer);
    close_redis(app);
    close_store(app);
    stop_handles(app);
}

static void on_server_closed(void *ctx)
{
    struct app *app = ctx;
    app->server = NULL;
    monitor_view(app->watch)->server = NULL;
    stop_rest(app);
}

static void on_spool_changed(void *ctx)
{
    struct app *app = ctx;
    schedule_spool_changed(app->schedule);
}

static void open_refresh(struct app *app)
{
    const struct config *c = app->config;
    const struct source_list sources = sources_configured(c);
    app->schedule = schedule_open(&app->loop, c, app->store, writer_lock(app->writer), &sources);
    if (source_list_only(&sources, SOURCE_SPOOL).sources[0])
        app->spool_watch = spool_watch_open(&app->loop, c->refresh.spool_dir, on_spool_changed, app);
}

static void on_schedule_closed(void *ctx)
{
    struct app *app = ctx;
    app->schedule = NULL;
    monitor_view(app->watch)->schedule = NULL;
    stop_rest(app);
}

static void close_refresh(struct app *app)
{
    if (app->spool_watch)
        spool_watch_close(app->spool_watch);
    app->spool_watch = NULL;
    schedule_close(app->schedule, on_schedule_closed, app);
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct app *app = signal->data;
    if (!app->server)
        return;
    log_info("signal %d: %s", number,
             app->draining ? "stopping at once" : "finishing the requests in flight");
    if (!app->draining)
        close_refresh(app);
    app->draining = monitor_view(app->watch)->draining = true;
    longpoll_drain(app->api.longpoll);
    http_server_close(app->server, on_server_closed, app);
}

/* What was copied from the configuration, or depends on it. */
static void take_config(void *ctx)
{
    struct app *app = ctx;
    const struct config *c = app->config;
    log_set(c->log.level, c->log.format);
    app->api.envelope.cors_origins = app->oauth.envelope.cors_origins = c->server.cors_origins;
    app->api.limit_headers = c->limits.headers;
    if (app->schedule)
        schedule_reconfigure(app->schedule);
    limiter_set_limit(app->api.limiter, (int)c->limits.requests_per_minute);
}

static void start_signals(struct app *app)
{
    CHECK(uv_signal_init(&app->loop, &app->sigterm) == 0 && uv_signal_init(&app->loop, &app->sigint) == 0);
    app->sigterm.data = app->sigint.data = app;
    CHECK(uv_signal_start(&app->sigterm, on_signal, SIGTERM) == 0);
    CHECK(uv_signal_start(&app->sigint, on_signal, SIGINT) == 0);
    reload_open(&app->reload, &app->loop);
}

/* Everything that was opened before a failure, or the loop has ended. */
static void close_rest(struct app *app)
{
    monitor_close(app->watch);
    if (app->api.longpoll) {
        longpoll_close(app->api.longpoll);
        key_usage_close(app->api.usage);
    }
    web_close(&app->web);
    expiry_observer_close(app->expiry_observer);
    close_redis(app);
    close_store(app);
    CHECK(uv_run(&app->loop, UV_RUN_DEFAULT) == 0);
    monitor_free(app->watch);
    key_usage_free(app->api.usage);
    web_fini(&app->web);
    expiry_observer_free(app->expiry_observer);
    oauth_fini(&app->oauth);
    free(app->metadata_path);
    limiter_free(app->api.limiter);
    response_cache_free(app->api.cache);
    key_cache_free(app->api.key_cache);
    CHECK(uv_loop_close(&app->loop) == 0);
}

enum err app_run(struct config *config, const char *config_path, struct error *error)
{
    struct app app = {.config = config};
    log_start();
    CHECK(uv_loop_init(&app.loop) == 0);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN); /* until it can be heeded, and no reason to end */
    app.watch = monitor_new(&app.loop, config);
    app.reload = (struct reload){
        .config = config, .path = config_path, .watch = app.watch, .changed = take_config, .ctx = &app};
    enum err e = http_client_check(error) ? ERR_INVALID : open_store(&app, error);
    if (e == OK)
        e = open_redis(&app, error);
    if (e == OK) {
        init_api(&app);
        web_init(&app.web, config, &app.loop, app.store, app.writer, app.api.positions);
        mount_all(&app);
        app.expiry_observer = expiry_observer_new(&app.loop, app.writer);
        start_signals(&app); /* first: who reads `listening on …` may send one at once */
        e = open_watch(&app, error);
        if (e == OK)
            e = open_server(&app, error);
        if (e)
            stop_handles(&app);
    }
    if (e == OK) {
        open_refresh(&app);
        monitor_view(app.watch)->schedule = app.schedule;
        http_server_print_addresses(app.server, "listening on");
        monitor_announce(app.watch);
        monitor_view(app.watch)->server = app.server;
        (void)uv_run(&app.loop, UV_RUN_DEFAULT);
        log_info("stopped");
    }
    close_rest(&app);
    log_stop();
    return e;
}
