/* Configuration: defaults, overridden by an INI file, overridden by environment variables. A table has one
 * row per key (config_table.c, and the connectors for the keys of their platform). */
#ifndef VT_CONFIG_CONFIG_H
#define VT_CONFIG_CONFIG_H

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/platforms.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The section of one platform. Each platform has only some of these keys (see its connector); the others are
 * NULL, 0 or false. */
struct platform_settings {
    char *client_id, *client_secret; /* the operator's app; client_id "": none */
    char *api_key;                   /* reads public counts without an author's token; "": none */
    char *api_origin, *token_origin, *consent_origin;
    char *graph_version, *more_scopes, *config_id; /* see struct platform_options */
    char *bulk;                                    /* auto, on, off */
    bool batch;
    int64_t calls_per_minute; /* per app or per account, as the platform limits it */
    int64_t units_per_day;    /* calls per day for the app; 0: unlimited */
    int64_t reserve_percent;  /* of units_per_day, for the end of the day */
    int64_t ids_per_call, in_flight;
};

/* Text values are NUL-terminated and owned by the config. */
struct config {
    struct {
        char *listen; /* comma separated */
        char *base_url;
        char *direct_url;      /* "": none */
        char *trusted_proxies; /* comma separated; "": none */
        bool reuse_port;
        char *cors_origins; /* comma separated; "": off */
        int64_t max_connections;
        int64_t drain_ms;
        int64_t header_timeout_ms, body_timeout_ms, idle_timeout_ms, write_timeout_ms;
    } server;
    struct {
        char *path;
        int64_t busy_timeout_ms;
    } store;
    struct {
        char *url;      /* "": none */
        char *password; /* "": that of the URL, or none */
        char *ca_file;  /* "": the system's authorities */
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
        char *auth_header;   /* "": none */
        char *image_sources; /* comma separated; "": none */
    } account;
    struct {
        int64_t history_start; /* ms: start of the UTC day */
    } events;
    struct {
        int64_t multiplier_milli;
        int64_t min_views, compare_last, compare_min_age_hours;
    } viral;
    struct {
        char *source; /* names, comma separated; "": none */
        int64_t minute, jitter_s;
        char *spool_dir;    /* "": none */
        int64_t interval_s; /* of the simulated source alone; 0: by the hour */
    } refresh;
    struct {
        char *key_file; /* "": none */
    } secrets;
    struct {
        int64_t deadline_s, pace_s, timeout_ms, connect_timeout_ms, retry_percent;
        char *ca_file; /* "": the system's authorities */
    } platforms;
    struct platform_settings platform[PLATFORM_COUNT]; /* one section per platform */
    struct {
        char *listen; /* comma separated; "": off */
    } admin;
    struct {
        int64_t max_bytes;
    } cache;
    struct {
        enum log_level level;
        enum log_format format;
        char *access; /* a path; "-": standard error; "": off */
    } log;
};

/* The syntax of a value. */
enum config_type {
    CONFIG_TEXT,    /* at most `max` bytes */
    CONFIG_LIST,    /* comma separated texts; stored with single commas and without spaces */
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
        bool reload;   /* SIGHUP applies a new value */
    } place;
    const char *initial; /* the default, as text */
    int64_t min, max;
    bool secret; /* printed as "(hidden)"; may also be given as `<name>_file` */
    /* Checks a further rule; NULL: none. Returns false and sets `*why` to a static text such as "must be …".
     */
    bool (*check)(struct str value, const char **why);
    const char *help; /* for config.example.ini and docs/; NULL: described with the previous key */
};

struct config_section {
    const struct config_key *keys;
    size_t count;
};

/* The keys that do not belong to one platform (config_table.c). */
extern const struct config_section config_service_keys;

/* The keys of each platform's section. Defined beside the connectors (platforms/platform.c), so that a
 * platform needs no change here. */
extern const struct config_section *const config_platform_keys[PLATFORM_COUNT];

/* The i-th of all keys, in the order of config.example.ini; NULL after the last. */
const struct config_key *config_key_at(size_t i);

/* Sets all defaults. */
void config_init(struct config *c);
void config_fini(struct config *c);

/* Copies all values, for another thread: a reload changes and frees values of the original. The caller calls
 * config_fini() on the copy. */
void config_copy(struct config *out, const struct config *from);

/* Loads the file and then the environment into a config with defaults. `path` NULL: no file. `environment` is
 * a NULL-terminated list of NAME=VALUE. ERR_INVALID: `message` is `FILE:LINE: text` or `VARIABLE: text`, and
 * `c` has the defaults. */
MUST_USE enum err config_load(struct config *c, const char *path, const char *const *environment,
                              struct buf *message);

/* Prints all keys and their current values as an INI file; secrets are hidden. */
void config_print(const struct config *c, struct buf *out);

/* Prints config.example.ini: every key with its default and its help. */
void config_print_example(struct buf *out);

/* Write docs/configuration.md and config.example.ini from the table of keys. Return false if the file cannot
 * be written. */
MUST_USE bool config_write_reference(FILE *to);
MUST_USE bool config_write_example(FILE *to);

/* The default of an existing key, as text. */
const char *config_initial(const char *section, const char *name);

/* Calls `fn` for each item of a CONFIG_LIST value. */
void config_each_item(const char *list, void (*fn)(void *ctx, struct str item), void *ctx);

#endif
