/* The state of one config_load(), for the files that read the configuration file, read the environment and
 * check the result. */
#ifndef VT_CONFIG_LOADING_H
#define VT_CONFIG_LOADING_H

#include "config/config.h"

enum { CONFIG_WHY_MAX = 8192, CONFIG_NAME_MAX = 128 };

struct loading {
    struct config *config;
    const char *path; /* path of the configuration file; NULL if no file is used */
    struct buf *message;
    int mistakes;
    bool failed[CONFIG_KEYS_MAX];           /* a mistake was reported in the section of the key */
    const char *variables[CONFIG_KEYS_MAX]; /* the variable that sets the key; NULL if none */
};

/* Adds a line to the message. Instead of the 101st line, adds a line that says that there are more mistakes.
 * Drops all further lines. */
void loading_report(struct loading *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Records that the section has a mistake. config_load() does not check the rules that read such a section. */
void loading_mark_section(struct loading *l, const char *section);

/* Returns the secret key `<key>` if `name` is `<key>_file`, which names a file that contains the secret. Sets
 * `*at` to the number of the key. Returns NULL if there is no such secret key. */
const struct config_key *loading_find_secret_file(const char *section, const char *name, size_t *at);

/* Sets the key with the number `at` to `value`, or to the first line of the file `value` if `from_file`. On
 * failure, returns false and appends a text such as `must be on or off; it is "maybe"` to `why`. */
MUST_USE bool loading_set(struct loading *l, size_t at, struct str value, bool from_file, struct buf *why);

/* Each of these reads one source of values, the file or the environment, and reports all mistakes in it. */
void loading_read_file(struct loading *l);
void loading_read_environment(struct loading *l, const char *const *environment);

#endif
