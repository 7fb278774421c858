/* The table of configuration keys: one row each, in the order of config.example.ini. */
#include "config/address.h"
#include "config/key_rows.h"

/* Each item is one that can be listened on. */
static bool are_addresses(struct str value, const char **why)
{
    struct str rest = value, item;
    struct sockaddr_storage tcp;
    char address[300];
    while (rest.p) {
        rest = str_cut(rest, ',', &item);
        item = str_trim(item);
        if (!item.len)
            continue;
        *why = "wants addresses such as 127.0.0.1:8080, [::1]:8080 or unix:/run/viewtally.sock";
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

static bool check_listen(struct str value, const char **why)
{
    *why = "wants at least one address such as 127.0.0.1:8080, [::1]:8080 or unix:/run/viewtally.sock";
    for (size_t i = 0; i < value.len; i++)
        if (value.p[i] != ',' && value.p[i] != ' ')
            return are_addresses(value, why);
    return false;
}

/* http or https, a host, no query or fragment, no slash at the end. */
static bool is_url(struct str value)
{
    size_t skip = str_starts_with(value, STR("https://"))  ? 8
                  : str_starts_with(value, STR("http://")) ? 7
                                                           : 0;
    if (!skip || value.len == skip || value.p[skip] == '/' || value.p[value.len - 1] == '/')
        return false;
    for (size_t i = 0; i < value.len; i++)
        if (value.p[i] <= ' ' || value.p[i] == 0x7F || strchr("?#\"<>\\^`{|}", value.p[i]))
            return false;
    return true;
}

static bool check_base_url(struct str value, const char **why)
{
    *why = "wants an address that ends in /v1, such as https://stats.example.com/v1";
    return is_url(value) && value.len > 3 && memcmp(value.p + value.len - 3, "/v1", 3) == 0;
}

static bool check_direct_url(struct str value, const char **why)
{
    return value.len == 0 || check_base_url(value, why);
}

static bool check_path(struct str value, const char **why)
{
    *why = "wants the path of a file";
    return value.len > 0;
}

/* A bearer token's characters (RFC 6750, b64token), so that a key needs no escaping anywhere. */
static bool check_prefix(struct str value, const char **why)
{
    *why = "wants 1 to 32 letters, digits or underscores";
    if (value.len == 0 || value.len > 32)
        return false;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
            return false;
    }
    return true;
}

/* Fields that mean something already cannot also name an author. */
static bool check_auth_header(struct str value, const char **why)
{
    static const char *const taken[] = {"host",   "authorization", "if-none-match",  "accept",
                                        "cookie", "origin",        "content-type",   "content-length",
                                        "expect", "connection",    "sec-fetch-site", "transfer-encoding"};
    *why = "wants the name of a header field of its own, such as X-Remote-User";
    for (size_t i = 0; i < value.len; i++) {
        char c = value.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'))
            return false;
    }
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (str_eq_nocase(value, str_from_cstr(taken[i])))
            return false;
    return value.len < 12 || !str_eq_nocase(str_make(value.p, 12), STR("x-forwarded-"));
}

/* They become part of a policy: an item may hold nothing that ends one. */
static bool check_image_sources(struct str value, const char **why)
{
    struct str rest = value, item;
    *why = "wants origins such as https://i.ytimg.com, comma separated, or https:";
    while (value.len && rest.p) {
        rest = str_cut(rest, ',', &item);
        item = str_trim(item);
        if (!str_eq(item, STR("https:")) && !(is_url(item) && !memchr(item.p, ';', item.len)))
            return false;
    }
    return true;
}

/* "none", or sources, each once. */
static bool check_source(struct str value, const char **why)
{
    static const char *const names[] = {"spool", "simulated", "platforms"};
    enum { NAMES = 3 };
    struct str item, rest = value;
    bool seen[NAMES] = {false};
    *why = "wants none, or spool, simulated, platforms, or several, comma separated";
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

bool config_check_origin(struct str value, const char **why)
{
    *why = "wants an address such as https://api.example.com, without a path";
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

static const struct config_key keys[] = {
    {"server", "listen", CONFIG_LIST, KEY(server.listen), "127.0.0.1:8080", TEXT_LIMIT(2000), false,
     check_listen,
     "Where to listen, comma separated: 127.0.0.1:8080, [::1]:8080, unix:/run/viewtally.sock. Port 0 takes a "
     "free port and\n"
     "prints it."},
    {"server", "reuse_port", CONFIG_SWITCH, KEY(server.reuse_port), "off", NO_LIMIT, false, NULL,
     "on: several processes may listen on the same TCP addresses, and the system deals the connections out."},
    {"server", "base_url", CONFIG_TEXT, KEY(server.base_url), "http://127.0.0.1:8080/v1", TEXT_LIMIT(500),
     false, check_base_url, "The address that clients use. Ends in /v1; its path is where the API answers."},
    {"server", "direct_url", CONFIG_TEXT, KEY(server.direct_url), "", TEXT_LIMIT(500), false,
     check_direct_url, "A second address of the same API, without the proxy. Ends in /v1. Empty: none."},
    {"server", "trusted_proxies", CONFIG_LIST, KEY(server.trusted_proxies), "", TEXT_LIMIT(4000), false, NULL,
     "Proxies whose X-Forwarded-For is believed: addresses or networks (10.0.0.0/8, ::1), \"unix\" for every "
     "client of a Unix\n"
     "socket; comma separated."},
    {"server", "cors_origins", CONFIG_LIST, RELOADED(server.cors_origins), "", TEXT_LIMIT(4000), false, NULL,
     "Web pages that may read the API from a browser: origins such as https://app.example.com, comma "
     "separated, or * for all.\n"
     "Empty: none."},
    {"server", "max_connections", CONFIG_INTEGER, KEY(server.max_connections), "10000", 1, 1000000, false,
     NULL,
     "Connections open at once. Above it a new client waits until an idle connection is closed for it. "
     "Lowered to what the limit of open files allows."},
    {"server", "drain_ms", CONFIG_INTEGER, KEY(server.drain_ms), "10000", 0, 600000, false, NULL,
     "Milliseconds that requests in flight get to finish when the server is told to stop."},
    {"server", "header_timeout_ms", CONFIG_INTEGER, KEY(server.header_timeout_ms), "30000", 100, 3600000,
     false, NULL, "Milliseconds in which a request's head has to arrive."},
    {"server", "body_timeout_ms", CONFIG_INTEGER, KEY(server.body_timeout_ms), "30000", 100, 3600000, false,
     NULL, "Milliseconds in which a request's body has to arrive."},
    {"server", "idle_timeout_ms", CONFIG_INTEGER, KEY(server.idle_timeout_ms), "75000", 100, 3600000, false,
     NULL,
     "Milliseconds that a kept connection may be silent. Must be longer than the proxy's own (60 s in "
     "scripts/nginx.conf)."},
    {"server", "write_timeout_ms", CONFIG_INTEGER, KEY(server.write_timeout_ms), "60000", 100, 3600000, false,
     NULL, "Milliseconds that a client may take no byte of its answer."},

    {"store", "path", CONFIG_TEXT, KEY(store.path), "viewtally.db", TEXT_LIMIT(1000), false, check_path,
     "The SQLite database; a relative path begins where a command is started. Beside it stand -wal and -shm "
     "files while it is in use: copy it with a backup, not with cp."},
    {"store", "busy_timeout_ms", CONFIG_INTEGER, KEY(store.busy_timeout_ms), "10000", 0, 600000, false, NULL,
     "Milliseconds that a write waits for another process's write. Reads never wait."},

    {"redis", "url", CONFIG_TEXT, KEY(redis.url), "", TEXT_LIMIT(500), false, NULL,
     "Redis, which lets several processes share one rate limit: redis://user@host:6379/0, rediss://… (TLS) "
     "or "
     "unix:/path.\n"
     "Empty: each process counts for itself."},
    {"redis", "password", CONFIG_TEXT, KEY(redis.password), "", TEXT_LIMIT(500), true, NULL,
     "The password of Redis; password_file names a file that holds it instead."},
    {"redis", "ca_file", CONFIG_TEXT, KEY(redis.ca_file), "", TEXT_LIMIT(1000), false, NULL,
     "For rediss://: a file with the certificates (PEM) of who is trusted to vouch for Redis. Empty: the "
     "system's authorities."},
    {"redis", "client_cert_file", CONFIG_TEXT, KEY(redis.client_cert_file), "", TEXT_LIMIT(1000), false, NULL,
     "For rediss://: our own certificate (PEM, with its chain), when Redis wants one; client_key_file holds "
     "its key."},
    {"redis", "client_key_file", CONFIG_TEXT, KEY(redis.client_key_file), "", TEXT_LIMIT(1000), false, NULL,
     "The key (PEM) of client_cert_file."},
    {"redis", "key_prefix", CONFIG_TEXT, KEY(redis.key_prefix), "viewtally:", TEXT_LIMIT(64), false, NULL,
     "What all keys in Redis begin with."},

    {"limits", "requests_per_minute", CONFIG_INTEGER, RELOADED(limits.requests_per_minute), "60", 0, 10000,
     false, NULL, "Requests that each API key may make in any 60 seconds. 0: no limit."},
    {"limits", "headers", CONFIG_SWITCH, RELOADED(limits.headers), "on", NO_LIMIT, false, NULL,
     "Whether answers say how much of the limit is left (RateLimit, X-RateLimit-Remaining …)."},

    {"keys", "prefix", CONFIG_TEXT, KEY(keys.prefix), "service_live_", TEXT_LIMIT(32), false, check_prefix,
     "What API keys begin with. Keys with another prefix stop working when this is changed."},

    {"account", "auth_header", CONFIG_TEXT, KEY(account.auth_header), "", TEXT_LIMIT(64), false,
     check_auth_header,
     "A header field in which a trusted proxy says who is signed in to the author's pages, such as "
     "X-Remote-User: a login\n"
     "name or an author's id. It counts from trusted_proxies only; they must not let a client's own through. "
     "Empty: none."},
    {"account", "image_sources", CONFIG_LIST, RELOADED(account.image_sources), "", TEXT_LIMIT(2000), false,
     check_image_sources,
     "Where the author's pages may load thumbnails from: origins such as https://i.ytimg.com, comma "
     "separated, or https: for\n"
     "all. Empty: none is loaded, a placeholder is drawn."},

    {"events", "history_start", CONFIG_DATE, KEY(events.history_start), "2026-06-15", NO_LIMIT, false, NULL,
     "Events of before this UTC date are not written."},

    {"viral", "multiplier", CONFIG_MILLI, RELOADED(viral.multiplier_milli), "5.0", 1000, 1000000, false, NULL,
     "A video goes viral at this many times the author's typical video. 1 to 1000, at most three decimals."},
    {"viral", "min_views", CONFIG_INTEGER, RELOADED(viral.min_views), "10000", 1, INT64_C(9007199254740991),
     false, NULL, "A video never goes viral below this many views."},
    {"viral", "compare_last", CONFIG_INTEGER, RELOADED(viral.compare_last), "50", 5, 500, false, NULL,
     "The typical video is the median of this many of the author's newest other videos."},
    {"viral", "compare_min_age_hours", CONFIG_INTEGER, RELOADED(viral.compare_min_age_hours), "168", 1, 720,
     false, NULL, "Only videos at least this old are compared with."},

    {"refresh", "source", CONFIG_LIST, KEY(refresh.source), "none", TEXT_LIMIT(200), false, check_source,
     "Where readings come from every hour: spool (files that other programs put into spool_dir), simulated "
     "(made up, for trying\n"
     "things out), platforms (asked for the counts of each post, with the tokens of its author), or none. "
     "Several are comma\n"
     "separated."},
    {"refresh", "minute", CONFIG_INTEGER, RELOADED(refresh.minute), "55", 0, 59, false, NULL,
     "The minute of each UTC hour at which it begins. Late in the hour: little of a day is then counted to "
     "the next."},
    {"refresh", "jitter_s", CONFIG_INTEGER, RELOADED(refresh.jitter_s), "0", 0, 600, false, NULL,
     "It begins up to so many seconds later, differently every hour, so that not everybody asks at once."},
    {"refresh", "spool_dir", CONFIG_TEXT, KEY(refresh.spool_dir), "", TEXT_LIMIT(1000), false, NULL,
     "The directory of the spool. Files are put there by renaming them into it; they end in its done or bad "
     "directory."},
    {"refresh", "interval_s", CONFIG_INTEGER, KEY(refresh.interval_s), "0", 0, 3600, false, NULL,
     "Seconds between two refreshes; only for source = simulated. 0: every hour."},

    {"secrets", "key_file", CONFIG_TEXT, KEY(secrets.key_file), "", TEXT_LIMIT(1000), false, NULL,
     "The file with the key that seals the platforms' tokens in the database: made by viewtally secrets "
     "init, readable by the\n"
     "server alone, and to be kept apart from the backups of the database. Empty: no tokens can be kept."},

    {"platforms", "deadline_s", CONFIG_INTEGER, RELOADED(platforms.deadline_s), "3000", 10, 3540, false, NULL,
     "Seconds after which a refresh that asks the platforms ends. What was not answered by then keeps its "
     "numbers."},
    {"platforms", "pace_s", CONFIG_INTEGER, RELOADED(platforms.pace_s), "2400", 0, 3540, false, NULL,
     "Seconds over which the calls of one refresh are spread. 0: as fast as the limits below let them."},
    {"platforms", "connect_timeout_ms", CONFIG_INTEGER, RELOADED(platforms.connect_timeout_ms), "5000", 10,
     60000, false, NULL, "Milliseconds in which a connection to a platform has to stand."},
    {"platforms", "timeout_ms", CONFIG_INTEGER, RELOADED(platforms.timeout_ms), "30000", 10, 300000, false,
     NULL, "Milliseconds in which a platform has to have answered."},
    {"platforms", "retry_percent", CONFIG_INTEGER, RELOADED(platforms.retry_percent), "10", 0, 100, false,
     NULL, "How many of the calls to a platform may be repeats of calls that failed, in a hundred."},
    {"platforms", "ca_file", CONFIG_TEXT, KEY(platforms.ca_file), "", TEXT_LIMIT(1000), false, NULL,
     "A file with the certificates (PEM) of who is trusted to vouch for the platforms. Empty: the system's "
     "authorities."},

    {"admin", "listen", CONFIG_LIST, KEY(admin.listen), "127.0.0.1:9187", TEXT_LIMIT(2000), false,
     are_addresses,
     "Where the operator looks: /metrics, /livez, /readyz, on addresses written as those of [server]. "
     "Everybody who can\n"
     "reach it can read it, so keep it off the network. Each process needs one of its own. Empty: off."},

    {"cache", "max_bytes", CONFIG_INTEGER, KEY(cache.max_bytes), "134217728", 0, INT64_C(1) << 40, false,
     NULL,
     "Memory for answers that are asked for again and again. What was not asked for longest goes first. 0: "
     "none are kept."},

    {"log", "level", CONFIG_LOG_LEVEL, RELOADED(log.level), "info", NO_LIMIT, false, NULL,
     "The least that is logged: debug, info, warn or error."},
    {"log", "format", CONFIG_LOG_FORMAT, RELOADED(log.format), "text", NO_LIMIT, false, NULL,
     "How a line is written: text or json."},
    {"log", "access", CONFIG_TEXT, RELOADED(log.access), "", TEXT_LIMIT(1000), false, NULL,
     "Where one JSON line for each request goes: the path of a file, or - for standard error. Empty: "
     "nowhere, "
     "as the proxy in\n"
     "front has a log too."},
};

const struct config_section config_service_keys = {keys, sizeof keys / sizeof keys[0]};
