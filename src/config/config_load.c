/* Loads the configuration and reports all mistakes at once. The sources are read by config_file.c and
 * config_environment.c. */
#include "base/check.h"
#include "base/json.h"
#include "config/loading.h"
#include "config/value.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MISTAKES_MAX = 100,
    SECRET_FILE_MAX = 4096,
    SHOWN_MAX = 80,
    QUOTED_MAX = 8 * SHOWN_MAX,
    SECRET_ENDING_LEN = 5
};

/* ---- mistakes ---- */

void loading_report(struct loading *l, const char *format, ...)
{
    char line[CONFIG_WHY_MAX];
    va_list ap;
    if (++l->mistakes > MISTAKES_MAX + 1)
        return;
    va_start(ap, format);
    const int n = vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    if (n < 0)
        return;
    if (l->message->len)
        buf_append_char(l->message, '\n');
    if (l->mistakes > MISTAKES_MAX)
        buf_append(l->message, STR("… and more mistakes, which are not listed"));
    else
        buf_append(l->message, str_make(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1));
}

void loading_mark_section(struct loading *l, const char *section)
{
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++)
        if (strcmp(key->section, section) == 0)
            l->failed[i] = true;
}

/* Returns the part of a wrong value that may be shown. Everything before an @ is hidden, because it may be a
 * user and password. Of a PostgreSQL URL, and of a Redis URL without an @, only the scheme is shown, because
 * a password may be in the wrong place. */
static struct str shown_part(struct str value)
{
    const char *at = value.len ? memrchr(value.p, '@', value.len) : NULL;
    struct str scheme, rest = str_cut(value, ':', &scheme);
    if (rest.p && str_starts_with(scheme, STR("postgres")))
        return str_make(value.p, scheme.len + 1);
    if (at)
        return str_make(at, value.len - (size_t)(at - value.p));
    const bool is_redis = rest.p && (str_eq(scheme, STR("redis")) || str_eq(scheme, STR("rediss")));
    return is_redis ? str_make(value.p, scheme.len + 1) : value;
}

/* Appends the value as a JSON string, which escapes control characters. A long value is cut. */
static void append_value(struct buf *why, const struct config_key *key, struct str value)
{
    if (key->secret)
        return;
    if (!value.len) {
        buf_append(why, STR("; it is empty"));
        return;
    }
    const struct str shown = shown_part(value);
    const bool is_cut = shown.len > SHOWN_MAX;
    char room[QUOTED_MAX];
    struct buf quoted = buf_on(room, sizeof room); /* a separate buffer, because json_str() would append a
                                                      comma to the text in `why` */
    json_str(&quoted, str_make(shown.p, is_cut ? SHOWN_MAX : shown.len));
    buf_printf(why, "; it is %.*s", (int)quoted.len, room);
    if (shown.len < value.len)
        buf_append(why, STR(" and a hidden part, which may contain a password"));
    else if (is_cut)
        buf_append(why, STR("…"));
}

/* ---- setting values ---- */

const struct config_key *loading_find_secret_file(const char *section, const char *name, size_t *at)
{
    char base[CONFIG_NAME_MAX];
    size_t n = strlen(name);
    if (n <= SECRET_ENDING_LEN || n >= sizeof base || strcmp(name + n - SECRET_ENDING_LEN, "_file") != 0)
        return NULL;
    memcpy(base, name, n - SECRET_ENDING_LEN);
    base[n - SECRET_ENDING_LEN] = '\0';
    const struct config_key *key = config_find_key(section, base, at);
    return key && key->secret ? key : NULL;
}

/* Returns the first line, which may end with CR LF, without white space at its ends. */
static struct str first_line(struct str text)
{
    struct str line;
    (void)str_cut(text, '\n', &line);
    if (line.len && line.p[line.len - 1] == '\r')
        line.len--;
    return str_trim(line);
}

/* Sets a secret to the first line of a file. */
static bool set_from_file(struct config *c, const struct config_key *key, const char *path, struct buf *why)
{
    char text[SECRET_FILE_MAX + 1];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    int failed = !f || ferror(f) ? errno : 0;
    if (f)
        (void)fclose(f);
    if (failed) {
        buf_printf(why, "cannot read %s: %s", path, strerror(failed));
        return false;
    }
    const bool is_cut = n == sizeof text && !memchr(text, '\n', n);
    if (is_cut)
        buf_printf(why, "%s has a first line of more than %d bytes", path, SECRET_FILE_MAX);
    const bool is_set = !is_cut && value_set(c, key, first_line(str_make(text, n)), why);
    explicit_bzero(text, sizeof text);
    return is_set;
}

bool loading_set(struct loading *l, size_t at, struct str value, bool from_file, struct buf *why)
{
    const struct config_key *key = config_key_at(at);
    struct config_origin *origin = &l->config->origins[at];
    char path[CONFIG_WHY_MAX];
    free(origin->secret_file);
    origin->secret_file = NULL;
    if (!from_file) {
        if (value_set(l->config, key, value, why))
            return true;
        append_value(why, key, value);
        return false;
    }
    if (value.len >= sizeof path) {
        buf_append(why, STR("is too long for the path of a file"));
        return false;
    }
    (void)snprintf(path, sizeof path, "%.*s", (int)value.len, value.p);
    CHECK(origin->secret_file = strdup(path));
    return set_from_file(l->config, key, path, why);
}

/* ---- rules that concern several keys ---- */

static bool has_app(const struct config *c)
{
    for (int p = 0; p < PLATFORM_COUNT; p++)
        if (*c->platform[p].client_id)
            return true;
    return false;
}

static bool has_api_key(const struct config *c)
{
    for (int p = 0; p < PLATFORM_COUNT; p++)
        if (c->platform[p].api_key && *c->platform[p].api_key)
            return true;
    return false;
}

static bool spool_has_directory(const struct config *c)
{
    return !strstr(c->refresh.source, "spool") || *c->refresh.spool_dir;
}

static bool interval_has_simulated_source(const struct config *c)
{
    return !c->refresh.interval_s || strcmp(c->refresh.source, "simulated") == 0;
}

static bool platforms_have_app(const struct config *c)
{
    return !strstr(c->refresh.source, "platforms") || has_app(c) || has_api_key(c);
}

static bool platforms_have_key_file(const struct config *c)
{
    return !strstr(c->refresh.source, "platforms") || !has_app(c) || *c->secrets.key_file;
}

static const struct config_rule {
    bool (*holds)(const struct config *c);
    const char *section, *name; /* the key that the message names */
    bool reads_platforms;       /* the rule also reads [secrets] and the sections of the platforms */
    const char *message;
} rules[] = {
    {spool_has_directory, "refresh", "source", false, "[refresh] source = spool requires spool_dir"},
    {interval_has_simulated_source, "refresh", "interval_s", false,
     "[refresh] interval_s requires source = simulated"},
    {platforms_have_app, "refresh", "source", true,
     "[refresh] source = platforms requires a configured platform: set client_id (or api_key) in the section "
     "of at least one platform"},
    {platforms_have_key_file, "refresh", "source", true,
     "[refresh] source = platforms requires [secrets] key_file, because tokens are stored encrypted"},
};

/* Returns false if a section that the rule reads has a mistake, because this mistake may be the reason why
 * the rule is not met. */
static bool may_check(const struct loading *l, const struct config_rule *rule)
{
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++)
        if (l->failed[i] &&
            (strcmp(key->section, rule->section) == 0 ||
             (rule->reads_platforms && (i >= config_service_keys.count || !strcmp(key->section, "secrets")))))
            return false;
    return true;
}

static void check_rules(struct loading *l)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        size_t at;
        if (!may_check(l, &rules[i]) || rules[i].holds(l->config))
            continue;
        CHECK(config_find_key(rules[i].section, rules[i].name, &at));
        if (l->variables[at])
            loading_report(l, "%.*s: %s", (int)strcspn(l->variables[at], "="), l->variables[at],
                           rules[i].message);
        else
            loading_report(l, "%s:%d: %s", l->path, l->config->origins[at].line, rules[i].message);
    }
}

enum err config_load(struct config *c, const char *path, const char *const *environment, struct buf *message)
{
    struct loading l = {.config = c, .path = path, .message = message};
    CHECK(!config_key_at(CONFIG_KEYS_MAX));
    if (path)
        loading_read_file(&l);
    if (environment)
        loading_read_environment(&l, environment);
    check_rules(&l);
    if (!l.mistakes)
        return OK;
    config_fini(c);
    config_init(c);
    return ERR_INVALID;
}
