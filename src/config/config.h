/* The configuration. An environment variable overrides the INI file, and the INI file overrides the
 * default. Tables describe the keys, one row per key. config_table.c has the keys of the service; each
 * platform's connector has the keys of its platform. */
#ifndef VT_CONFIG_CONFIG_H
#define VT_CONFIG_CONFIG_H

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/platforms.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The values of one platform's section. A platform has only some of these keys (see its connector); the other
 * members are NULL, 0 or false. The help texts of the keys explain the members. */
struct platform_settings {
    char *client_id, *client_secret; /* the operator's app; client_id is "" if no app is configured */
    char *api_key;                   /* reads public counts without an author's token; "" if no key is
                                        configured */
    char *api_origin, *token_origin, *consent_origin;
    char *graph_version, *more_scopes, *config_id; /* see struct platform_options */
    char *bulk;                                    /* read many posts in one call: auto, on, off */
    bool batch;               /* whether to read several posts in one call of Instagram */
    int64_t calls_per_minute; /* of the app or of an account, depending on the platform */
    int64_t units_per_day;    /* calls per day of the app; 0 means unlimited */
    int64_t reserve_percent;  /* percentage of units_per_day that is reserved for the end of the day */
    int64_t ids_per_call, in_flight;
};

enum { CONFIG_KEYS_MAX = 128 };

/* The default of [server] base_url. The OpenAPI document in the source tree contains it. */
#define CONFIG_BASE_URL_DEFAULT "http://127.0.0.1:8080/v1"

/* Where the value of a key comes from. */
struct config_origin {
    int line;                 /* the line in the configuration file; 0 if the key is not set there */
    bool is_from_environment; /* an environment variable sets the key and overrides the file */
    char *secret_file; /* the file that contains the value of a secret key; NULL if the value is not in such a
                          file */
};

/* The values of all keys. config_table.c explains each key. Text values are NUL-terminated and owned by the
 * config. */
struct config {
    struct {
        char *listen; /* comma separated */
        char *base_url;
        char *direct_url;      /* "" if not set */
        char *trusted_proxies; /* comma separated; may be "" */
        bool reuse_port;
        char *socket_mode;  /* octal */
        char *socket_group; /* "" if not set */
        char *cors_origins; /* comma separated; "" disables CORS */
        int64_t max_connections;
        int64_t drain_ms;
        int64_t header_timeout_ms, body_timeout_ms, idle_timeout_ms, write_timeout_ms;
        bool gzip;
        bool timing;
    } server;
    struct {
        char *path;
        char *url;           /* of a PostgreSQL database; "" means SQLite at `path` */
        char *password_file; /* for `url`; "" if not set */
        int64_t connections; /* to PostgreSQL, for reads */
        int64_t hold_ms;
        int64_t busy_timeout_ms;
        int64_t min_free_bytes; /* 0: not checked */
    } store;
    struct {
        char *url;      /* "" disables Redis */
        char *password; /* if "", the password of the URL is used, if any */
        char *ca_file;  /* if "", the system's certificate authorities are used */
        char *client_cert_file, *client_key_file;
        char *key_prefix;
    } redis;
    struct {
        int64_t requests_per_minute;
        bool headers;
    } limits;
    struct {
        char *prefix;
    } keys;
    struct {
        char *auth_header;   /* "" if not set */
        char *image_sources; /* comma separated; may be "" */
    } account;
    struct {
        int64_t history_start; /* start of a UTC day, in ms */
    } events;
    struct {
        int64_t multiplier_milli;
        int64_t min_views, compare_last, compare_min_age_hours;
    } viral;
    struct {
        char *source; /* names, comma separated; "none" disables the refresh */
        int64_t minute, jitter_s;
        char *spool_dir;        /* "" if not set */
        int64_t interval_s;     /* used by the simulated source only; 0 means hourly */
        int64_t keep_done_days; /* days until a file in the spool's done/ is deleted; 0 means never */
        char *ping_url;         /* called after each complete run; "" if not set */
    } refresh;
    struct {
        char *directory; /* "" disables scheduled backups */
        int64_t every_ms;
        int64_t keep_hourly, keep_daily, keep_weekly;
        char *ping_url; /* called after each successful scheduled backup; "" if not set */
    } backup;
    struct {
        char *key_file; /* "" if not set */
    } secrets;
    struct {
        bool enabled;
        int64_t timeout_ms;
        char *allowed_networks; /* comma separated; may be "" */
        char *ca_file;          /* if "", the system's certificate authorities are used */
    } webhooks;
    struct {
        int64_t deadline_s, pace_s, timeout_ms, connect_timeout_ms, retry_percent;
        char *ca_file; /* if "", the system's certificate authorities are used */
    } platforms;
    struct platform_settings platform[PLATFORM_COUNT]; /* one section per platform */
    struct {
        char *listen; /* comma separated; "" disables the admin listener */
    } admin;
    struct {
        int64_t max_bytes;
    } cache;
    struct {
        enum log_level level;
        enum log_format format;
        char *access; /* a path; "-" is standard error; "" disables the access log */
        int64_t slow_request_ms, slow_query_ms; /* 0: off */
    } log;
    /* Indexed by the number of the key, see config_key_at(). */
    struct config_origin origins[CONFIG_KEYS_MAX];
};

/* The syntax of a key's value. */
enum config_type {
    CONFIG_TEXT,     /* at most `max` bytes */
    CONFIG_LIST,     /* comma separated items; stored without empty items and without spaces around items */
    CONFIG_INTEGER,  /* min … max */
    CONFIG_MILLI,    /* a decimal number with at most three decimals, min … max in thousandths */
    CONFIG_DURATION, /* a whole number and s, m, h or d; stored in ms; min … max in ms */
    CONFIG_SWITCH,   /* on, off; also yes, no, true, false */
    CONFIG_DATE,     /* YYYY-MM-DD; stored as the time in ms at which it begins in UTC */
    CONFIG_LOG_LEVEL,
    CONFIG_LOG_FORMAT,
};

struct config_key {
    const char *section, *name;
    enum config_type type;
    struct {
        size_t offset; /* in struct config */
        bool reload;   /* SIGHUP applies a changed value */
    } place;
    const char *initial; /* the default, as text */
    int64_t min, max;
    bool secret; /* printed as "(hidden)"; may also be given as `<name>_file` */
    /* Checks a further rule for the value. On failure, returns ERR_INVALID and a text such as "must be …".
     * NULL if there is no further rule. */
    enum err (*check)(struct str value, struct error *error);
    const char *help; /* the text for config.example.ini and docs/; NULL if the help of the key before it
                         describes this key, too */
};

struct config_section {
    const struct config_key *keys;
    size_t count;
};

/* The keys that do not belong to one platform (config_table.c). */
extern const struct config_section config_service_keys;

/* The keys of each platform's section. They are defined in platforms/platform.c, so that adding a platform
 * does not change src/config. */
extern const struct config_section *const config_platform_keys[PLATFORM_COUNT];

/* Returns the key with the number `i`, counted from 0 in the order of config.example.ini. Returns NULL if
 * there are at most `i` keys. */
const struct config_key *config_key_at(size_t i);

/* Finds a key and sets `*at` to its number (config_key_at()). Returns NULL if there is no such key. */
const struct config_key *config_find_key(const char *section, const char *name, size_t *at);

/* Returns where the value of a key comes from. Precondition: the key exists. */
const struct config_origin *config_origin_of(const struct config *c, const char *section, const char *name);

/* Returns true if the file or the environment sets the key. Precondition: the key exists. */
bool config_is_set(const struct config *c, const char *section, const char *name);

/* Sets all values to their defaults. */
void config_init(struct config *c);

/* Frees all values. */
void config_fini(struct config *c);

/* Copies all values. Another thread needs a copy, because a reload changes and frees values of the original.
 * Call config_fini() on the copy. */
void config_copy(struct config *out, const struct config *from);

/* Reads the values in the file `path`, and then the values in the environment, into `c`. Call config_init()
 * before. `environment` is a NULL-terminated list of NAME=VALUE. `path` and `environment` may be NULL.
 * Returns ERR_INVALID if the file or a value is invalid; in this case, `message` contains one line per
 * mistake, without a line feed at the end, and `c` contains the defaults. A line is `FILE:LINE: text`, `FILE:
 * text` or `VARIABLE: text`. It shows the wrong value unless the value is secret. */
MUST_USE enum err config_load(struct config *c, const char *path, const char *const *environment,
                              struct buf *message);

/* Appends the current value of a key, without secrets: "(hidden)" replaces a secret or the password in a URL.
 */
void config_print_value(const struct config *c, const struct config_key *key, struct buf *out);

/* Appends all keys and their current values as an INI file. Secrets are replaced by "(hidden)". */
void config_print(const struct config *c, struct buf *out);

/* Appends the content of config.example.ini: every key with its default and its help. */
void config_print_example(struct buf *out);

/* Each of these generates a file from the tables of keys: docs/configuration.md and config.example.ini.
 * Returns false if writing to `to` fails. */
MUST_USE bool config_write_reference(FILE *to);
MUST_USE bool config_write_example(FILE *to);

/* Returns the default of a key as text. Precondition: the key exists. */
const char *config_get_default(const char *section, const char *name);

/* Calls `fn` for each item of `list`, a CONFIG_LIST value. */
void config_each_item(const char *list, void (*fn)(void *ctx, struct str item), void *ctx);

#endif
