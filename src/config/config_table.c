/* The table of configuration keys: one row per key, in the order of config.example.ini. The keys of the
 * platforms are in src/platforms. */
#include "base/clock.h"
#include "config/address.h"
#include "config/key_rows.h"

enum err config_rule(bool is_met, const char *rule, struct error *error)
{
    return is_met ? OK : error_set(error, ERR_INVALID, "%s", rule);
}

/* Returns true if every item is a listen address. */
static bool are_valid_addresses(struct str value)
{
    struct str rest = value, item;
    struct sockaddr_storage tcp;
    char address[300];
    while (rest.p) {
        rest = str_cut(rest, ',', &item);
        item = str_trim(item);
        if (!item.len)
            continue;
        if (item.len >= sizeof address)
            return false;
        memcpy(address, item.p, item.len);
        address[item.len] = '\0';
        const char *path = address_unix_path(address);
        if (path ? !*path : !address_parse_tcp(address, &tcp))
            return false;
    }
    return true;
}

static enum err check_addresses(struct str value, struct error *error)
{
    return config_rule(are_valid_addresses(value),
                       "must be addresses such as 127.0.0.1:8080, [::1]:8080 or unix:/run/viewtally.sock",
                       error);
}

static enum err check_listen(struct str value, struct error *error)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.p[i] != ',' && value.p[i] != ' ')
            return check_addresses(value, error);
    return config_rule(
        false, "must be at least one address such as 127.0.0.1:8080, [::1]:8080 or unix:/run/viewtally.sock",
        error);
}

/* Accepts an octal number of three or four digits, at most 0777. */
static bool is_valid_mode(struct str value)
{
    const bool has_zero = value.len == 4 && value.p[0] == '0';
    if (value.len != 3 && !has_zero)
        return false;
    for (size_t i = 0; i < value.len; i++)
        if (value.p[i] < '0' || value.p[i] > '7')
            return false;
    return true;
}

static enum err check_mode(struct str value, struct error *error)
{
    return config_rule(is_valid_mode(value), "must be the permissions of a file in octal, such as 0660",
                       error);
}

/* Accepts http:// or https:// and a host, with or without a path, but without a query, a fragment, or a slash
 * at the end. */
static bool is_url(struct str value)
{
    size_t skip = str_starts_with(value, STR("https://"))  ? 8
                  : str_starts_with(value, STR("http://")) ? 7
                                                           : 0;
    if (!skip || value.len == skip || value.p[skip] == '/' || value.p[value.len - 1] == '/')
        return false;
    for (size_t i = 0; i < value.len; i++)
        if (value.p[i] <= ' ' || value.p[i] >= 0x7F || strchr("?#\"<>\\^`{|}", value.p[i]))
            return false;
    return true;
}

static bool is_valid_base_url(struct str value)
{
    return is_url(value) && value.len > 3 && memcmp(value.p + value.len - 3, "/v1", 3) == 0;
}

static enum err check_base_url(struct str value, struct error *error)
{
    return config_rule(is_valid_base_url(value),
                       "must be a URL that ends in /v1, such as https://stats.example.com/v1", error);
}

static enum err check_direct_url(struct str value, struct error *error)
{
    return value.len == 0 ? OK : check_base_url(value, error);
}

static bool is_valid_path(struct str value)
{
    return value.len > 0;
}

static enum err check_path(struct str value, struct error *error)
{
    return config_rule(is_valid_path(value), "must be the path of a file", error);
}

/* Accepts only characters of a bearer token (RFC 6750, b64token), so that a key never needs escaping. */
static bool is_valid_prefix(struct str value)
{
    if (value.len == 0 || value.len > 32)
        return false;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
            return false;
    }
    return true;
}

static enum err check_prefix(struct str value, struct error *error)
{
    return config_rule(is_valid_prefix(value), "must be 1 to 32 letters, digits or underscores", error);
}

/* Rejects header fields that already have another meaning, because they cannot identify an author. */
static bool is_valid_auth_header(struct str value)
{
    static const char *const reserved[] = {"host",   "authorization", "if-none-match",  "accept",
                                           "cookie", "origin",        "content-type",   "content-length",
                                           "expect", "connection",    "sec-fetch-site", "transfer-encoding"};
    for (size_t i = 0; i < value.len; i++) {
        char c = value.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'))
            return false;
    }
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (str_eq_nocase(value, str_from_cstr(reserved[i])))
            return false;
    return value.len < 12 || !str_eq_nocase(str_make(value.p, 12), STR("x-forwarded-"));
}

static enum err check_auth_header(struct str value, struct error *error)
{
    return config_rule(is_valid_auth_header(value),
                       "must be the name of a header field that has no other use, such as X-Remote-User",
                       error);
}

/* Rejects the separators of a Content-Security-Policy, because the items become part of one. */
static bool is_valid_image_sources(struct str value)
{
    struct str rest = value, item;
    while (value.len && rest.p) {
        rest = str_cut(rest, ',', &item);
        item = str_trim(item);
        if (!str_eq(item, STR("https:")) && !(is_url(item) && !memchr(item.p, ';', item.len)))
            return false;
    }
    return true;
}

static enum err check_image_sources(struct str value, struct error *error)
{
    return config_rule(is_valid_image_sources(value),
                       "must be origins such as https://i.ytimg.com, comma separated, or https:", error);
}

/* Accepts "none", or a list of different sources. */
static bool is_valid_source(struct str value)
{
    static const char *const names[] = {"spool", "simulated", "platforms"};
    enum { NAMES = 3 };
    struct str item, rest = value;
    bool seen[NAMES] = {false};
    if (str_eq(value, STR("none")))
        return true;
    while (rest.p) {
        int i = 0;
        rest = str_cut(rest, ',', &item);
        item = str_trim(item);
        while (i < NAMES && !str_eq(item, str_from_cstr(names[i])))
            i++;
        if (i == NAMES || seen[i])
            return false;
        seen[i] = true;
    }
    return true;
}

static enum err check_source(struct str value, struct error *error)
{
    return config_rule(
        is_valid_source(value),
        "must be \"none\", or a comma-separated list of \"spool\", \"simulated\" and \"platforms\"", error);
}

static bool is_valid_origin(struct str value)
{
    if (!is_url(value))
        return false;
    const struct str rest = str_make(value.p + 8, value.len > 8 ? value.len - 8 : 0);
    if (str_starts_with(value, STR("https://")))
        return !memchr(rest.p, '/', rest.len);
#ifdef VT_TEST_SEAMS
    return str_starts_with(value, STR("http://127.0.0.1:")) || str_starts_with(value, STR("http://[::1]:"));
#else
    return false;
#endif
}

enum err config_check_origin(struct str value, struct error *error)
{
    return config_rule(is_valid_origin(value),
                       "must be a URL such as https://api.example.com, without a path", error);
}

/* Unlike is_url(), accepts a query, because it may contain the secret of the dead man's switch. */
static bool is_valid_ping_url(struct str value)
{
    const struct str rest = str_starts_with(value, STR("https://"))  ? str_make(value.p + 8, value.len - 8)
                            : str_starts_with(value, STR("http://")) ? str_make(value.p + 7, value.len - 7)
                                                                     : STR("");
    struct str host;
    (void)str_cut(rest, '/', &host);
    (void)str_cut(host, '?', &host);
    for (size_t i = 0; i < value.len; i++)
        if (value.p[i] <= ' ' || value.p[i] >= 0x7F || strchr("#\"<>\\^`{|}", value.p[i]))
            return false;
    return value.len == 0 || (host.len && !memchr(host.p, '@', host.len));
}

static enum err check_ping_url(struct str value, struct error *error)
{
    return config_rule(
        is_valid_ping_url(value),
        "must be a URL such as https://hc-ping.com/UUID, without user name, password or fragment", error);
}

static const struct config_key keys[] = {
    {"server", "listen", CONFIG_LIST, KEY(server.listen), "127.0.0.1:8080", TEXT_LIMIT(2000), false,
     check_listen,
     "Listen addresses, comma separated: 127.0.0.1:8080, [::1]:8080, unix:/run/viewtally.sock. Port 0 "
     "selects a free port,\n"
     "which is printed at start."},
    {"server", "socket_mode", CONFIG_TEXT, KEY(server.socket_mode), "0660", TEXT_LIMIT(4), false, check_mode,
     "The permissions of Unix sockets in listen. A client needs write permission to connect."},
    {"server", "socket_group", CONFIG_TEXT, KEY(server.socket_group), "", TEXT_LIMIT(64), false, NULL,
     "The group of Unix sockets in listen, such as www-data, the group of nginx. Empty: the group of the "
     "server."},
    {"server", "reuse_port", CONFIG_SWITCH, KEY(server.reuse_port), "off", NO_LIMIT, false, NULL,
     "on: several processes may listen on the same TCP addresses; the kernel distributes the connections."},
    {"server", "base_url", CONFIG_TEXT, KEY(server.base_url), CONFIG_BASE_URL_DEFAULT, TEXT_LIMIT(500), false,
     check_base_url, "The URL that clients use, ending in /v1. Its path is the path of the API."},
    {"server", "direct_url", CONFIG_TEXT, KEY(server.direct_url), "", TEXT_LIMIT(500), false,
     check_direct_url, "A second URL of the API that bypasses the proxy, ending in /v1. Empty: none."},
    {"server", "trusted_proxies", CONFIG_LIST, KEY(server.trusted_proxies), "", TEXT_LIMIT(4000), false,
     config_check_proxies,
     "Proxies whose X-Forwarded-For is trusted, comma separated: addresses, networks (10.0.0.0/8, ::1), and "
     "unix for all\n"
     "clients of Unix sockets."},
    {"server", "cors_origins", CONFIG_LIST, RELOADED(server.cors_origins), "", TEXT_LIMIT(4000), false, NULL,
     "Origins of web pages that may call the API from a browser, such as https://app.example.com, comma "
     "separated, or * for all.\n"
     "Empty: none."},
    {"server", "max_connections", CONFIG_INTEGER, KEY(server.max_connections), "10000", 1, 1000000, false,
     NULL,
     "Maximum number of open connections. Above it, a new client waits until an idle connection is closed. "
     "Lowered if the limit on open files is smaller."},
    {"server", "drain_ms", CONFIG_INTEGER, KEY(server.drain_ms), "10000", 0, 600000, false, NULL,
     "Milliseconds after SIGTERM in which requests in flight may complete. Until 3/4 of this time have "
     "passed, idle\n"
     "connections stay open for one more request, and new connections are accepted."},
    {"server", "header_timeout_ms", CONFIG_INTEGER, KEY(server.header_timeout_ms), "30000", 100, 3600000,
     false, NULL, "Milliseconds in which the head of a request must arrive."},
    {"server", "body_timeout_ms", CONFIG_INTEGER, KEY(server.body_timeout_ms), "30000", 100, 3600000, false,
     NULL, "Milliseconds in which the body of a request must arrive."},
    {"server", "idle_timeout_ms", CONFIG_INTEGER, KEY(server.idle_timeout_ms), "75000", 100, 3600000, false,
     NULL,
     "Milliseconds that a connection may be idle between requests. Must exceed the idle timeout of the proxy "
     "(60 s in packaging/nginx/viewtally.conf)."},
    {"server", "write_timeout_ms", CONFIG_INTEGER, KEY(server.write_timeout_ms), "60000", 100, 3600000, false,
     NULL, "Milliseconds after which a client that reads nothing of its response is disconnected."},
    {"server", "gzip", CONFIG_SWITCH, KEY(server.gzip), "off", NO_LIMIT, false, NULL,
     "Compress cached API responses of 1 KiB or more for clients that accept gzip. Not needed behind a proxy "
     "that compresses, as in packaging/nginx/viewtally.conf."},
    {"server", "timing", CONFIG_SWITCH, RELOADED(server.timing), "off", NO_LIMIT, false, NULL,
     "Add a Server-Timing field to the response if a request has X-Viewtally-Timing: 1 and comes directly "
     "from "
     "this machine, not through a proxy. For the operator."},

    {"store", "path", CONFIG_TEXT, KEY(store.path), "viewtally.db", TEXT_LIMIT(1000), false, check_path,
     "The SQLite database. A relative path is relative to the working directory. While the database is in "
     "use, it also has -wal and -shm files: copy it with viewtally backup, not with cp."},
    {"store", "url", CONFIG_TEXT, KEY(store.url), "", TEXT_LIMIT(2000), false, config_check_store_url,
     "A PostgreSQL database instead of the file: postgresql://user@host[:port][,host…]/database, see "
     "docs/postgresql.md. With it, path only determines where temporary files and the lock file of key "
     "rotations are. "
     "Empty: the database is the file."},
    {"store", "password_file", CONFIG_TEXT, KEY(store.password_file), "", TEXT_LIMIT(1000), false, NULL,
     "A file whose first line is the password for url. Empty: PGPASSFILE or ~/.pgpass is used, if it "
     "exists."},
    {"store", "connections", CONFIG_INTEGER, KEY(store.connections), "1", 1, 16, false, NULL,
     "Connections to PostgreSQL for reads of data that is not in the response cache. Increase it if "
     "PostgreSQL has idle processors while responses are slow."},
    {"store", "hold_ms", CONFIG_INTEGER, KEY(store.hold_ms), "25000", 0, 60000, false, NULL,
     "Milliseconds that a read waits while PostgreSQL cannot be reached, for example during a failover. Then "
     "the "
     "request ends with 503."},
    {"store", "busy_timeout_ms", CONFIG_INTEGER, KEY(store.busy_timeout_ms), "10000", 0, 600000, false, NULL,
     "Milliseconds that a write waits for a write of another process. Reads do not wait."},
    {"store", "min_free_bytes", CONFIG_INTEGER, RELOADED(store.min_free_bytes), "104857600", 0,
     INT64_C(1) << 50, false, NULL,
     "Free bytes of the disk of the database file below which /readyz reports the server as degraded. 0: not "
     "checked."},

    {"redis", "url", CONFIG_TEXT, KEY(redis.url), "", TEXT_LIMIT(500), false, config_check_redis_url,
     "Redis, through which several processes share one rate limit: redis://user@host:6379/0, rediss://… "
     "(TLS) or unix:/path.\n"
     "Empty: each process has its own rate limit."},
    {"redis", "password", CONFIG_TEXT, KEY(redis.password), "", TEXT_LIMIT(500), true, NULL,
     "The password of Redis."},
    {"redis", "ca_file", CONFIG_TEXT, KEY(redis.ca_file), "", TEXT_LIMIT(1000), false, NULL,
     "For rediss://: a file with the trusted certificate authorities (PEM). Empty: those of the system."},
    {"redis", "client_cert_file", CONFIG_TEXT, KEY(redis.client_cert_file), "", TEXT_LIMIT(1000), false, NULL,
     "For rediss://: the client certificate (PEM, with its chain), if Redis requires one."},
    {"redis", "client_key_file", CONFIG_TEXT, KEY(redis.client_key_file), "", TEXT_LIMIT(1000), false, NULL,
     "The private key (PEM) of client_cert_file."},
    {"redis", "key_prefix", CONFIG_TEXT, KEY(redis.key_prefix), "viewtally:", TEXT_LIMIT(64), false, NULL,
     "The prefix of all keys in Redis."},

    {"limits", "requests_per_minute", CONFIG_INTEGER, RELOADED(limits.requests_per_minute), "60", 0, 10000,
     false, NULL, "Requests that an API key may make in any 60 seconds. 0: unlimited."},
    {"limits", "headers", CONFIG_SWITCH, RELOADED(limits.headers), "on", NO_LIMIT, false, NULL,
     "Add rate limit headers to responses (RateLimit, X-RateLimit-Remaining …)."},

    {"keys", "prefix", CONFIG_TEXT, KEY(keys.prefix), "service_live_", TEXT_LIMIT(32), false, check_prefix,
     "The prefix of API keys. Changing it invalidates all existing keys."},

    {"account", "auth_header", CONFIG_TEXT, KEY(account.auth_header), "", TEXT_LIMIT(64), false,
     check_auth_header,
     "A header field in which a trusted proxy sends the signed-in author, such as X-Remote-User: a sign-in "
     "name or an author's id.\n"
     "Only trusted_proxies may set it; they must remove the field from client requests. Empty: none."},
    {"account", "image_sources", CONFIG_LIST, RELOADED(account.image_sources), "", TEXT_LIMIT(2000), false,
     check_image_sources,
     "Origins from which the author's pages may load thumbnails, comma separated, such as "
     "https://i.ytimg.com, or https: for all.\n"
     "Empty: placeholders only."},

    {"events", "history_start", CONFIG_DATE, KEY(events.history_start), "2026-06-15", NO_LIMIT, false, NULL,
     "Events before this UTC date are not recorded."},

    {"viral", "multiplier", CONFIG_MILLI, RELOADED(viral.multiplier_milli), "5.0", 1000, 1000000, false, NULL,
     "A video goes viral when its views reach this multiple of the views of the author's typical video "
     "(see compare_last). 1 to 1000, at most three decimals."},
    {"viral", "min_views", CONFIG_INTEGER, RELOADED(viral.min_views), "10000", 1, INT64_C(9007199254740991),
     false, NULL, "A video never goes viral below this many views."},
    {"viral", "compare_last", CONFIG_INTEGER, RELOADED(viral.compare_last), "50", 5, 500, false, NULL,
     "The typical video is the median of this many of the author's newest other videos."},
    {"viral", "compare_min_age_hours", CONFIG_INTEGER, RELOADED(viral.compare_min_age_hours), "168", 1, 720,
     false, NULL, "Only videos of at least this age count for the typical video."},

    {"refresh", "source", CONFIG_LIST, KEY(refresh.source), "none", TEXT_LIMIT(200), false, check_source,
     "Where the hourly readings come from, comma separated: spool (files that other programs put into "
     "spool_dir), simulated (for\n"
     "trials), platforms (fetched with the authors' tokens), or none."},
    {"refresh", "minute", CONFIG_INTEGER, RELOADED(refresh.minute), "55", 0, 59, false, NULL,
     "The minute of each hour at which the refresh starts. Late in the hour, so that few views are counted "
     "for the next day."},
    {"refresh", "jitter_s", CONFIG_INTEGER, RELOADED(refresh.jitter_s), "0", 0, 600, false, NULL,
     "The refresh starts at a random time up to this many seconds later, so that not all installations "
     "call the platforms at the same time."},
    {"refresh", "spool_dir", CONFIG_TEXT, KEY(refresh.spool_dir), "", TEXT_LIMIT(1000), false, NULL,
     "The spool directory. Rename files into it; processed files move to its subdirectories done and bad."},
    {"refresh", "interval_s", CONFIG_INTEGER, KEY(refresh.interval_s), "0", 0, 3600, false, NULL,
     "Seconds between two refreshes, only for source = simulated. 0: hourly."},
    {"refresh", "keep_done_days", CONFIG_INTEGER, RELOADED(refresh.keep_done_days), "30", 0, 36500, false,
     NULL, "Days after which an applied file is deleted from the spool's subdirectory done. 0: never."},
    {"refresh", "ping_url", CONFIG_TEXT, RELOADED(refresh.ping_url), "", TEXT_LIMIT(1000), true,
     check_ping_url,
     "The URL of a dead man's switch: requested with GET after each refresh that read all sources (state "
     "succeeded or partial). The "
     "service behind it alerts you when the requests stop. Empty: none."},

    {"backup", "directory", CONFIG_TEXT, KEY(backup.directory), "", TEXT_LIMIT(1000), false, NULL,
     "The directory of scheduled backups. It must exist and should be on another disk. Empty: no scheduled "
     "backups."},
    {"backup", "every", CONFIG_DURATION, RELOADED(backup.every_ms), "1h", MINUTE_MS, 31 * DAY_MS, false, NULL,
     "Time between two scheduled backups. Hourly ones start at minute 30 of the hour, daily ones at 00:30 "
     "UTC."},
    {"backup", "keep_hourly", CONFIG_INTEGER, RELOADED(backup.keep_hourly), "24", 0, 10000, false, NULL,
     "The number of hours of which the newest backup is kept. Hours without a backup do not count. A backup "
     "that no keep_* key keeps is deleted; the newest is always kept."},
    {"backup", "keep_daily", CONFIG_INTEGER, RELOADED(backup.keep_daily), "7", 0, 10000, false, NULL,
     "The number of days (UTC) of which the newest backup is kept."},
    {"backup", "keep_weekly", CONFIG_INTEGER, RELOADED(backup.keep_weekly), "4", 0, 10000, false, NULL,
     "The number of weeks (Monday to Sunday, UTC) of which the newest backup is kept."},
    {"backup", "ping_url", CONFIG_TEXT, RELOADED(backup.ping_url), "", TEXT_LIMIT(1000), true, check_ping_url,
     "The URL of a dead man's switch: requested with GET after each successful scheduled backup. Empty: "
     "none."},

    {"secrets", "key_file", CONFIG_TEXT, KEY(secrets.key_file), "", TEXT_LIMIT(1000), false, NULL,
     "The file with the key that encrypts the platform tokens and the secrets of webhooks in the database, "
     "made by\n"
     "viewtally secrets init. Only the server may be able to read it; do not store it with the backups. "
     "Empty: "
     "none can be stored."},

    {"webhooks", "enabled", CONFIG_SWITCH, KEY(webhooks.enabled), "on", NO_LIMIT, false, NULL,
     "Deliver events to the webhooks of authors and apps. off: events wait, and a notice on the authors' "
     "pages explains it."},
    {"webhooks", "timeout_ms", CONFIG_INTEGER, KEY(webhooks.timeout_ms), "15000", 100, 60000, false, NULL,
     "Milliseconds in which a receiver must respond."},
    {"webhooks", "allowed_networks", CONFIG_LIST, KEY(webhooks.allowed_networks), "", TEXT_LIMIT(4000), false,
     config_check_webhook_networks,
     "Networks that webhooks may reach although they are not public, comma separated, such as 10.1.0.0/16. "
     "Authors "
     "choose the URLs, so list only networks where every service may be reached by every author."},
    {"webhooks", "ca_file", CONFIG_TEXT, KEY(webhooks.ca_file), "", TEXT_LIMIT(1000), false, NULL,
     "A file with the certificate authorities (PEM) trusted for webhooks. Empty: those of the system."},

    {"platforms", "deadline_s", CONFIG_INTEGER, RELOADED(platforms.deadline_s), "3000", 10, 3540, false, NULL,
     "Seconds after which the refresh of the platforms ends. Posts without a response keep their counts."},
    {"platforms", "pace_s", CONFIG_INTEGER, RELOADED(platforms.pace_s), "2400", 0, 3540, false, NULL,
     "Seconds over which the calls of one refresh are spread. 0: as fast as calls_per_minute and in_flight "
     "of each platform allow."},
    {"platforms", "connect_timeout_ms", CONFIG_INTEGER, RELOADED(platforms.connect_timeout_ms), "5000", 10,
     60000, false, NULL, "Milliseconds in which a connection to a platform must be established."},
    {"platforms", "timeout_ms", CONFIG_INTEGER, RELOADED(platforms.timeout_ms), "30000", 10, 300000, false,
     NULL, "Milliseconds in which a platform must respond."},
    {"platforms", "retry_percent", CONFIG_INTEGER, RELOADED(platforms.retry_percent), "10", 0, 100, false,
     NULL,
     "The maximum number of retries in a run, in percent of its planned calls to a platform, but at "
     "least 10. 0: no retries."},
    {"platforms", "ca_file", CONFIG_TEXT, KEY(platforms.ca_file), "", TEXT_LIMIT(1000), false, NULL,
     "A file with the certificate authorities (PEM) trusted for the platforms. Empty: those of the system."},

    {"admin", "listen", CONFIG_LIST, KEY(admin.listen), "127.0.0.1:9187", TEXT_LIMIT(2000), false,
     check_addresses,
     "Listen addresses for the operator: /metrics, /livez, /readyz. They need no authentication, so do not "
     "expose them. Each\n"
     "process needs its own address. Empty: off."},

    {"cache", "max_bytes", CONFIG_INTEGER, KEY(cache.max_bytes), "134217728", 0, INT64_C(1) << 40, false,
     NULL, "Memory of the response cache in bytes. Evicts the least recently used response. 0: off."},

    {"log", "level", CONFIG_LOG_LEVEL, RELOADED(log.level), "info", NO_LIMIT, false, NULL,
     "The lowest level that is logged: debug, info, warn or error."},
    {"log", "format", CONFIG_LOG_FORMAT, RELOADED(log.format), "text", NO_LIMIT, false, NULL,
     "The format of log lines: text or json."},
    {"log", "access", CONFIG_TEXT, RELOADED(log.access), "", TEXT_LIMIT(1000), false, NULL,
     "The access log, one JSON line for each request: the path of a file, or - for standard error. Empty: "
     "off."},
    {"log", "slow_request_ms", CONFIG_INTEGER, RELOADED(log.slow_request_ms), "1000", 0, 3600000, false, NULL,
     "Log a request that takes at least this many milliseconds. The wait of a long poll and the time that "
     "the client needs to read the response do not count. 0: off."},
    {"log", "slow_query_ms", CONFIG_INTEGER, RELOADED(log.slow_query_ms), "1000", 0, 3600000, false, NULL,
     "Log a database statement that takes at least this many milliseconds, with its text but without "
     "values. 0: off."},
};

const struct config_section config_service_keys = {keys, sizeof keys / sizeof keys[0]};
