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

/* The values of one platform's section. A platform has only some of these keys (see its connector); the
 * members without a key are NULL, 0 or false. */
struct platform_settings {
    char *client_id, *client_secret; /* the operator's app; client_id is "" if none exists */
    char *api_key;                   /* reads public counts without an author's token; "" if none exists */
    char *api_origin, *token_origin, *consent_origin;
    char *graph_version, *more_scopes, *config_id; /* see struct platform_options */
    char *bulk;                                    /* read many posts in one call: auto, on, off */
    bool batch;
    int64_t calls_per_minute; /* per app or per account, depending on the platform */
    int64_t units_per_day;    /* calls per day of the app; 0 means unlimited */
    int64_t reserve_percent;  /* percentage of units_per_day that is reserved for the end of the day */
    int64_t ids_per_call, in_flight;
};

/* Text values are NUL-terminated and owned by the config. */
struct config {
    struct {
        char *listen; /* comma separated */
        char *base_url;
        char *direct_url;      /* "" if not set */
        char *trusted_proxies; /* comma separated; may be "" */
        bool reuse_port;
        char *cors_origins; /* comma separated; "" disables CORS */
        int64_t max_connections;
        int64_t drain_ms;
        int64_t header_timeout_ms, body_timeout_ms, idle_timeout_ms, write_timeout_ms;
    } server;
    struct {
        char *path;
        int64_t busy_timeout_ms;
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
        char *source; /* names, comma separated; "" disables the refresh */
        int64_t minute, jitter_s;
        char *spool_dir;    /* "" if not set */
        int64_t interval_s; /* for the simulated source only; 0 means hourly */
    } refresh;
    struct {
        char *key_file; /* "" if not set */
    } secrets;
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
    } log;
};

/* The syntax of a value. */
enum config_type {
    CONFIG_TEXT,    /* at most `max` bytes */
    CONFIG_LIST,    /* comma separated items; stored without empty items and without spaces around items */
    CONFIG_INTEGER, /* min … max */
    CONFIG_MILLI,   /* a decimal number with at most three decimals, min … max in thousandths */
    CONFIG_SWITCH,  /* on, off; also yes, no, true, false */
    CONFIG_DATE,    /* YYYY-MM-DD; stored as the time in ms at which it begins in UTC */
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
    /* Checks a further rule for the value. On failure, returns false and sets `*why` to a static text such as
     * "must be …". NULL if there is no further rule. */
    bool (*check)(struct str value, const char **why);
    const char
        *help; /* for config.example.ini and docs/; NULL if the previous key's help describes this key too */
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

/* Returns the i-th key, in the order of config.example.ini, or NULL if there are at most `i` keys. */
const struct config_key *config_key_at(size_t i);

/* Sets all values to their defaults. */
void config_init(struct config *c);

/* Frees all values. */
void config_fini(struct config *c);

/* Copies all values. Another thread needs a copy, because a reload changes and frees values of the original.
 * Call config_fini() on the copy. */
void config_copy(struct config *out, const struct config *from);

/* Reads the file `path`, which may be NULL, and then the environment into `c`, which contains the defaults.
 * `environment` is a NULL-terminated list of NAME=VALUE. Returns ERR_INVALID if a value or the file is
 * invalid; `message` is then `FILE:LINE: text` or `VARIABLE: text`, and `c` contains the defaults. */
MUST_USE enum err config_load(struct config *c, const char *path, const char *const *environment,
                              struct buf *message);

/* Appends all keys and their current values as an INI file. Secrets are replaced by "(hidden)". */
void config_print(const struct config *c, struct buf *out);

/* Appends the content of config.example.ini: every key with its default and its help. */
void config_print_example(struct buf *out);

/* Each of these generates a file from the tables of keys: docs/configuration.md and config.example.ini.
 * Returns false if writing to `to` fails. */
MUST_USE bool config_write_reference(FILE *to);
MUST_USE bool config_write_example(FILE *to);

/* Returns the default of a key as text. Precondition: the key exists. */
const char *config_initial(const char *section, const char *name);

/* Calls `fn` for each item of `list`, a CONFIG_LIST value. */
void config_each_item(const char *list, void (*fn)(void *ctx, struct str item), void *ctx);

#endif
