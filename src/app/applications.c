/* Creates the applications and mounts them. */
#include "app/applications.h"

#include "api/compressor.h"
#include "api/description.h"
#include "api/longpoll.h"
#include "auth/failure_log.h"
#include "auth/key_usage.h"
#include "base/check.h"

#include <stdlib.h>

/* Returns the path of a URL, such as "/v1" of "https://host/v1". Returns "" if the URL has no path. */
static struct str path_of_url(const char *url)
{
    struct str s = str_from_cstr(url), head;
    for (int slashes = 0; slashes < 3 && s.p; slashes++)
        s = str_cut(s, '/', &head);
    return s.p ? str_make(s.p - 1, s.len + 1) : STR("");
}

static void init_api(struct applications *apps, uv_loop_t *loop, const struct config *c,
                     const struct server_database *db, struct redis *redis)
{
    apps->failures = failure_log_new();
    apps->description = description_new(c);
    apps->reference = reference_new(apps->description);
    const struct envelope_settings envelope = {.cors_origins = c->server.cors_origins,
                                               .key_prefix = str_from_cstr(c->keys.prefix)};
    apps->api = (struct api){
        .envelope = envelope,
        .store = db->store,
        .limiter = limiter_new((int)c->limits.requests_per_minute, redis, c->redis.key_prefix),
        .positions = poll_positions_new(loop, redis, c->redis.key_prefix),
        .key_cache = key_cache_new(),
        .cache = response_cache_new((size_t)c->cache.max_bytes),
        .compressor = c->server.gzip ? compressor_new(loop) : NULL,
        .longpoll = longpoll_new(loop, db->store),
        .usage = key_usage_new(loop, db->writer),
        .failures = apps->failures,
        .description = apps->description,
        .limit_headers = c->limits.headers,
    };
    apps->oauth = (struct oauth){.envelope = envelope,
                                 .store = db->store,
                                 .writer = db->writer,
                                 .failures = apps->failures,
                                 .docs_url = apps->description->docs,
                                 .base_url = str_from_cstr(c->server.base_url)};
    api_init(&apps->api);
    oauth_init(&apps->oauth);
}

static void mount(struct applications *apps, struct str prefix, const struct route *const *routes,
                  const struct http_app *http, enum mount_unknown unknown)
{
    router_mount(&apps->router,
                 &(struct mount){.prefix = prefix, .routes = routes, .app = http, .unknown = unknown});
}

static void mount_api(struct applications *apps, struct str prefix)
{
    mount(apps, prefix, api_routes, &apps->api.http, UNKNOWN_ALL);
    mount(apps, prefix, oauth_routes, &apps->oauth.http, UNKNOWN_NONE);
    mount(apps, prefix, reference_routes, reference_app(apps->reference), UNKNOWN_NONE);
}

/* Mounts all routes. For an unknown path below the path of the API, all clients receive JSON. For any other
 * unknown path, browsers receive an HTML page, and other clients receive JSON. */
static void mount_all(struct applications *apps, const struct config *c)
{
    const struct str base = path_of_url(c->server.base_url), direct = path_of_url(c->server.direct_url),
                     metadata = OAUTH_METADATA_PATH;
    apps->metadata_path = xmalloc(metadata.len + base.len);
    memcpy(apps->metadata_path, metadata.p, metadata.len);
    memcpy(apps->metadata_path + metadata.len, base.p, base.len);
    apps->router.fallback = &apps->api.http;
    mount_api(apps, base);
    if (direct.len && !str_eq(direct, base))
        mount_api(apps, direct);
    mount(apps, base, web_api_routes, &apps->web.http, UNKNOWN_NONE);
    mount(apps, metadata, oauth_metadata_routes, &apps->oauth.http, UNKNOWN_NONE);
    mount(apps, str_make(apps->metadata_path, metadata.len + base.len), oauth_metadata_routes,
          &apps->oauth.http, UNKNOWN_NONE);
    mount(apps, apps->web.base, reference_routes, reference_app(apps->reference), UNKNOWN_NONE);
    mount(apps, apps->web.base, web_routes, &apps->web.http, UNKNOWN_HTML);
}

void applications_open(struct applications *apps, uv_loop_t *loop, const struct config *config,
                       const struct server_database *db, struct redis *redis)
{
    init_api(apps, loop, config, db, redis);
    web_init(&apps->web, config, loop, db->store, db->writer, apps->api.positions);
    apps->web.failures = apps->failures;
    mount_all(apps, config);
    apps->open = true;
}

void applications_reconfigure(struct applications *apps, const struct config *config)
{
    apps->api.envelope.cors_origins = apps->oauth.envelope.cors_origins = config->server.cors_origins;
    apps->api.limit_headers = config->limits.headers;
    limiter_set_limit(apps->api.limiter, (int)config->limits.requests_per_minute);
}

void applications_close(struct applications *apps)
{
    if (!apps->open)
        return;
    apps->open = false;
    longpoll_close(apps->api.longpoll);
    key_usage_close(apps->api.usage);
    web_close(&apps->web);
    poll_positions_close(apps->api.positions);
    limiter_detach_redis(apps->api.limiter);
}

void applications_free(struct applications *apps)
{
    key_usage_free(apps->api.usage);
    web_fini(&apps->web);
    oauth_fini(&apps->oauth);
    free(apps->metadata_path);
    reference_free(apps->reference);
    description_free(apps->description);
    limiter_free(apps->api.limiter);
    compressor_free(apps->api.compressor);
    response_cache_free(apps->api.cache);
    key_cache_free(apps->api.key_cache);
    failure_log_free(apps->failures);
}
