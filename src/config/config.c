/* Loads and prints the configuration. The only file that includes inih. */
#include "config/config.h"

#include "base/nearest_word.h"
#include "base/check.h"
#include "config/value.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS_MAX = 128, SECRET_FILE_MAX = 4096, FILE_NAME_MAX = 128 };

static const char ENV_PREFIX[] = "VIEWTALLY_";

struct loading {
    struct config *config;
    const char *path;
    struct buf *message; /* text of the first error; empty if none */
    FILE *file;
    int line;              /* number of the current line */
    int read_errno;        /* errno of a failed read; 0 if none */
    int line_of[KEYS_MAX]; /* line of each key in the file; 0 if the file does not set the key */
};

const struct config_key *config_key_at(size_t i)
{
    if (i < config_service_keys.count)
        return &config_service_keys.keys[i];
    i -= config_service_keys.count;
    for (int p = 0; p < PLATFORM_COUNT; i -= config_platform_keys[p++]->count)
        if (i < config_platform_keys[p]->count)
            return &config_platform_keys[p]->keys[i];
    return NULL;
}

/* Returns NULL if there is no such key, else sets `*at` to its number. */
static const struct config_key *find_key(const char *section, const char *name, size_t *at)
{
    const struct config_key *key;
    for (*at = 0; (key = config_key_at(*at)); ++*at)
        if (strcmp(key->section, section) == 0 && strcmp(key->name, name) == 0)
            return key;
    return NULL;
}

/* Returns the secret key `<key>` if `name` is `<key>_file`, which names a file that contains the secret.
 * Sets `*at` to the number of the key. Returns NULL if there is no such secret key. */
static const struct config_key *find_secret_file(const char *section, const char *name, size_t *at)
{
    char base[FILE_NAME_MAX];
    size_t n = strlen(name);
    if (n <= 5 || n >= sizeof base || strcmp(name + n - 5, "_file") != 0)
        return NULL;
    memcpy(base, name, n - 5);
    base[n - 5] = '\0';
    const struct config_key *key = find_key(section, base, at);
    return key && key->secret ? key : NULL;
}

static bool has_section(const char *section)
{
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++)
        if (strcmp(key->section, section) == 0)
            return true;
    return false;
}

/* Sets a secret to the first line of a file. */
static bool set_from_file(struct config *c, const struct config_key *key, const char *path, struct buf *why)
{
    char text[SECRET_FILE_MAX];
    FILE *f = fopen(path, "re");
    if (!f) {
        buf_printf(why, "cannot read %s: %s", path, strerror(errno));
        return false;
    }
    size_t n = fread(text, 1, sizeof text, f);
    int failed = ferror(f) ? errno : 0;
    (void)fclose(f);
    if (failed) {
        buf_printf(why, "cannot read %s: %s", path, strerror(failed));
        return false;
    }
    struct str line;
    (void)str_cut(str_make(text, n), '\n', &line);
    bool ok = value_set(c, key, str_trim(line), why);
    explicit_bzero(text, sizeof text);
    return ok;
}

/* Appends "did you mean …?" with the most similar key of the section, or with the most similar section if
 * `section` is unknown. */
static void reject_unknown(const char *section, const char *name, struct buf *why)
{
    const bool is_known = has_section(section);
    struct nearest_word nearest = nearest_word_of(str_from_cstr(is_known ? name : section));
    const struct config_key *key;
    if (is_known)
        buf_printf(why, "[%s] has no key \"%s\"", section, name);
    else
        buf_printf(why, "unknown section [%s]", section);
    for (size_t i = 0; (key = config_key_at(i)); i++)
        if (!is_known)
            nearest_word_offer(&nearest, key->section);
        else if (strcmp(key->section, section) == 0)
            nearest_word_offer(&nearest, key->name);
    if (nearest.best)
        buf_printf(why, is_known ? " (did you mean %s?)" : " (did you mean [%s]?)", nearest.best);
}

static bool apply(struct loading *l, const char *section, const char *name, const char *value,
                  struct buf *why)
{
    size_t at;
    const struct config_key *file_of = find_secret_file(section, name, &at);
    const struct config_key *key = file_of ? file_of : find_key(section, name, &at);
    if (!key) {
        if (*section)
            reject_unknown(section, name, why);
        else
            buf_printf(why, "\"%s\" must follow a [section]", name);
        return false;
    }
    int *seen = &l->line_of[at];
    if (*seen) {
        buf_printf(why, "[%s] %s is already set in line %d", section, name, *seen);
        return false;
    }
    *seen = l->line;
    buf_printf(why, "[%s] %s ", section, name);
    return file_of ? set_from_file(l->config, key, value, why)
                   : value_set(l->config, key, str_from_cstr(value), why);
}

/* Reads a line for inih, like fgets(), but counts lines and rejects a line that is too long or contains a
 * NUL. */
static char *on_ini_read(char *line, int size, void *user)
{
    struct loading *l = user;
    if (l->message->len)
        return NULL;
    if (!fgets(line, size, l->file)) {
        l->read_errno = ferror(l->file) ? errno : 0;
        return NULL;
    }
    l->line++;
    size_t n = strlen(line);
    if ((n == 0 || line[n - 1] != '\n') && !feof(l->file)) {
        buf_printf(l->message, "%s:%d: the line is too long or contains a NUL byte", l->path, l->line);
        return NULL;
    }
    return line;
}

/* Called by inih for each `name = value`. Returns 0 on error. */
static int on_ini_value(void *user, const char *section, const char *name, const char *value)
{
    struct loading *l = user;
    struct buf why;
    buf_init(&why, 8192);
    bool ok = apply(l, section, name, value, &why);
    if (!ok)
        buf_printf(l->message, "%s:%d: %.*s", l->path, l->line, (int)why.len, why.p);
    buf_fini(&why);
    return ok;
}

static bool load_file(struct loading *l)
{
    l->file = fopen(l->path, "re");
    if (!l->file) {
        buf_printf(l->message, "%s: cannot read the file: %s", l->path, strerror(errno));
        return false;
    }
    int bad_line = ini_parse_stream(on_ini_read, l, on_ini_value, l);
    (void)fclose(l->file);
    if (l->read_errno)
        buf_printf(l->message, "%s: cannot read the file: %s", l->path, strerror(l->read_errno));
    /* inih continues after a line that it cannot parse. An error in a later line may be only a consequence
     * of that line, so report the line that cannot be parsed instead. */
    if (bad_line != 0 && bad_line < l->line)
        buf_reset(l->message, l->message->cap);
    if (bad_line != 0 && l->message->len == 0)
        buf_printf(l->message, "%s:%d: must be [section], name = value or a comment", l->path, bad_line);
    return l->message->len == 0;
}

static void upper_copy(char *to, const char *from)
{
    for (; *from; from++)
        *to++ = (char)(*from >= 'a' && *from <= 'z' ? *from - 32 : *from);
    *to = '\0';
}

/* Returns true if `variable` is VIEWTALLY_<SECTION>_<NAME><suffix>=VALUE with the section and name of
 * `key`, and sets `*value` to the text after the '='. */
static bool env_names(const char *variable, const struct config_key *key, const char *suffix,
                      const char **value)
{
    char name[FILE_NAME_MAX], upper[FILE_NAME_MAX];
    (void)snprintf(name, sizeof name, "%s_%s%s", key->section, key->name, suffix);
    upper_copy(upper, name);
    size_t prefix = sizeof ENV_PREFIX - 1, n = strlen(upper);
    if (strncmp(variable, ENV_PREFIX, prefix) != 0 || strncmp(variable + prefix, upper, n) != 0 ||
        variable[prefix + n] != '=')
        return false;
    *value = variable + prefix + n + 1;
    return true;
}

/* Returns true if `variable` begins with VIEWTALLY_<SECTION>_ of an existing section. */
static bool env_has_section(const char *variable)
{
    char upper[FILE_NAME_MAX];
    size_t prefix = sizeof ENV_PREFIX - 1;
    if (strncmp(variable, ENV_PREFIX, prefix) != 0)
        return false;
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++) {
        upper_copy(upper, key->section);
        size_t n = strlen(upper);
        if (strncmp(variable + prefix, upper, n) == 0 && variable[prefix + n] == '_')
            return true;
    }
    return false;
}

static bool apply_variable(struct loading *l, const char *variable)
{
    const char *value;
    int name_len = (int)strcspn(variable, "=");
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++) {
        bool from_file = key->secret && env_names(variable, key, "_file", &value);
        if (!from_file && !env_names(variable, key, "", &value))
            continue;
        struct buf why;
        buf_init(&why, 1024);
        bool ok = from_file ? set_from_file(l->config, key, value, &why)
                            : value_set(l->config, key, str_trim(str_from_cstr(value)), &why);
        if (!ok)
            buf_printf(l->message, "%.*s: %.*s", name_len, variable, (int)why.len, why.p);
        buf_fini(&why);
        return ok;
    }
    if (env_has_section(variable)) {
        buf_printf(l->message, "%.*s: unknown configuration key", name_len, variable);
        return false;
    }
    return true;
}

void config_init(struct config *c)
{
    *c = (struct config){0};
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++) {
        struct buf why;
        buf_init(&why, 256);
        bool ok = value_set(c, key, str_from_cstr(key->initial), &why);
        buf_fini(&why);
        CHECK(ok);
    }
}

void config_copy(struct config *out, const struct config *from)
{
    *out = (struct config){0};
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++)
        value_copy(out, from, key);
}

void config_fini(struct config *c)
{
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++)
        value_free(c, key);
}

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

/* Checks the rules that concern several keys. */
static bool is_consistent(const struct config *c, struct buf *message)
{
    const char *why = NULL;
    if (strstr(c->refresh.source, "spool") && !*c->refresh.spool_dir)
        why = "source = spool requires spool_dir";
    else if (c->refresh.interval_s && strcmp(c->refresh.source, "simulated") != 0)
        why = "interval_s requires source = simulated";
    else if (strstr(c->refresh.source, "platforms") && !has_app(c) && !has_api_key(c))
        why = "source = platforms requires a configured platform: set client_id (or api_key) in the section "
              "of at least one platform";
    else if (strstr(c->refresh.source, "platforms") && has_app(c) && !*c->secrets.key_file)
        why = "source = platforms requires [secrets] key_file, because tokens are stored encrypted";
    if (why)
        buf_printf(message, "[refresh] %s", why);
    return !why;
}

enum err config_load(struct config *c, const char *path, const char *const *environment, struct buf *message)
{
    struct loading l = {.config = c, .path = path, .message = message};
    CHECK(!config_key_at(KEYS_MAX));
    bool ok = !path || load_file(&l);
    for (; ok && environment && *environment; environment++)
        ok = apply_variable(&l, *environment);
    ok = ok && is_consistent(c, message);
    if (!ok) {
        config_fini(c);
        config_init(c);
        return ERR_INVALID;
    }
    return OK;
}

/* Prints the value, but hides the password in a URL such as redis://user:password@host. */
static void print_shown(const struct config *c, const struct config_key *key, struct buf *out)
{
    static const char HIDDEN[] = "(hidden)";
    size_t begin = out->len;
    value_print(c, key, out);
    struct str value = str_make(out->p + begin, out->len - begin), scheme, user;
    struct str rest = str_cut(value, ':', &scheme);
    if (key->type != CONFIG_TEXT || out->failed || !str_starts_with(rest, STR("//")))
        return;
    const char *at = memrchr(rest.p, '@', rest.len);
    if (!at || !str_cut(str_make(rest.p + 2, (size_t)(at - rest.p) - 2), ':', &user).p)
        return;
    char after[512];
    int len = snprintf(after, sizeof after, "%s%.*s", HIDDEN, (int)(rest.p + rest.len - at), at);
    out->len = (size_t)(user.p + user.len + 1 - out->p);
    buf_append(out, str_make(after, (size_t)len));
}

static void print_keys(const struct config *c, bool with_help, struct buf *out)
{
    const char *section = "";
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++) {
        if (strcmp(section, key->section) != 0) {
            section = key->section;
            buf_printf(out, "%s[%s]\n", i ? "\n" : "", section);
        }
        struct str help = str_from_cstr(with_help ? key->help : NULL), line;
        while (help.p) {
            help = str_cut(help, '\n', &line);
            buf_printf(out, "; %.*s\n", (int)line.len, line.p);
        }
        if (with_help && key->place.reload)
            buf_append(out, STR("; SIGHUP applies a new value.\n"));
        buf_printf(out, "%s = ", key->name);
        size_t before = out->len;
        if (!key->secret)
            print_shown(c, key, out);
        else if (!with_help)
            buf_append(out, STR("(hidden)"));
        if (out->len == before && out->len)
            out->len--; /* no space at the end of the line */
        buf_append_char(out, '\n');
    }
}

void config_print(const struct config *c, struct buf *out)
{
    print_keys(c, false, out);
}

void config_print_example(struct buf *out)
{
    struct config c;
    config_init(&c);
    buf_append(
        out,
        STR("; Every key of viewtally at its default. Copy this file to config.ini and change what you need; "
            "a key that is left\n"
            "; out has its default. An environment variable VIEWTALLY_<SECTION>_<KEY> overrides a key.\n\n"));
    print_keys(&c, true, out);
    config_fini(&c);
}

const char *config_initial(const char *section, const char *name)
{
    size_t at;
    const struct config_key *key = find_key(section, name, &at);
    CHECK(key);
    return key->initial;
}

void config_each_item(const char *list, void (*fn)(void *ctx, struct str item), void *ctx)
{
    struct str rest = str_from_cstr(list), item;
    while (rest.p) {
        rest = str_cut(rest, ',', &item);
        if (item.len)
            fn(ctx, item);
    }
}
