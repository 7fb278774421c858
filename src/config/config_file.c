/* Reads the configuration file. The only file that includes inih.
 *
 * inih reports only the first line that it cannot parse. So the text is parsed several times. Each of the
 * first rounds finds one line that inih cannot parse and adds its number to `unparsable`; later rounds pass a
 * replacement for this line to inih. When inih accepts the text, a last round applies the values and reports
 * all mistakes in the order of their lines. */
#include "base/nearest_word.h"
#include "config/loading.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>

enum { FILE_MAX = 1 << 20, LINE_MAX_BYTES = 16 << 10, UNPARSABLE_MAX = 50 };

/* The name of a section that replaces a [section] line that cannot be parsed, so that the keys below the line
 * are not assigned to the previous section. No file can contain this name, because control characters are not
 * allowed. */
static const char BAD_SECTION[] = "\x01", BAD_SECTION_LINE[] = "[\x01]\n", EMPTY_LINE[] = "\n";

struct config_text {
    struct loading *loading;
    struct str all, unread, chunk; /* the file; the lines after the current one; the part of the current line
                                      that inih has not read yet */
    int line;                      /* number of the current line */
    bool is_applying;              /* true in the last round only */
    int unparsable[UNPARSABLE_MAX], unparsable_count;
    char unknown_section[CONFIG_NAME_MAX]; /* the most recently reported unknown section */
};

/* ---- parsing lines ---- */

/* Returns why the line must not be passed to inih, or NULL if it may be passed. */
static const char *reject_line(struct str line)
{
    if (line.len > LINE_MAX_BYTES)
        return "the line is too long (at most 16384 bytes)";
    for (size_t i = 0; i < line.len; i++)
        if ((unsigned char)line.p[i] < ' ' && line.p[i] != '\t' && line.p[i] != '\r' && line.p[i] != '\n')
            return line.p[i] ? "the line contains a control character" : "the line contains a NUL byte";
    return NULL;
}

static bool is_unparsable(const struct config_text *t)
{
    for (int i = 0; i < t->unparsable_count; i++)
        if (t->unparsable[i] == t->line)
            return true;
    return false;
}

static void replace_line(struct config_text *t, const char *why)
{
    const struct str line = str_trim(t->chunk);
    if (t->is_applying)
        loading_report(t->loading, "%s:%d: %s", t->loading->path, t->line, why);
    t->chunk = str_from_cstr(line.len && *line.p == '[' ? BAD_SECTION_LINE : EMPTY_LINE);
}

static void begin_line(struct config_text *t)
{
    const char *end = memchr(t->unread.p, '\n', t->unread.len);
    const size_t len = end ? (size_t)(end - t->unread.p) + 1 : t->unread.len;
    t->chunk = str_make(t->unread.p, len);
    t->unread = str_make(t->unread.p + len, t->unread.len - len);
    t->line++;
    const char *why = reject_line(t->chunk);
    if (why || is_unparsable(t))
        replace_line(t, why ? why : "must be [section], name = value or a comment");
}

/* Reads at most `size` - 1 bytes of a line for inih, like fgets(). */
static char *on_ini_read(char *to, int size, void *user)
{
    struct config_text *t = user;
    if (!t->chunk.len) {
        if (!t->unread.len)
            return NULL;
        begin_line(t);
    }
    const size_t len = t->chunk.len < (size_t)size ? t->chunk.len : (size_t)size - 1;
    memcpy(to, t->chunk.p, len);
    to[len] = '\0';
    t->chunk = str_make(t->chunk.p + len, t->chunk.len - len);
    return to;
}

/* ---- applying sections and keys ---- */

static bool has_section(const char *section)
{
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++)
        if (strcmp(key->section, section) == 0)
            return true;
    return false;
}

static void report(const struct config_text *t, const char *section, const struct buf *why)
{
    loading_mark_section(t->loading, section);
    loading_report(t->loading, "%s:%d: %.*s", t->loading->path, t->line, (int)why->len, why->p);
}

/* Reports an unknown section once. If the name is similar to that of a known section, the known section
 * probably lacks its values, so the rules that read it are not checked. */
static void reject_section(struct config_text *t, const char *section, struct buf *why)
{
    struct nearest_word nearest = nearest_word_of(str_from_cstr(section));
    const struct config_key *key;
    if (strncmp(t->unknown_section, section, sizeof t->unknown_section - 1) == 0)
        return;
    (void)snprintf(t->unknown_section, sizeof t->unknown_section, "%s", section);
    for (size_t i = 0; (key = config_key_at(i)); i++)
        nearest_word_compare(&nearest, key->section);
    buf_printf(why, "unknown section [%s]", section);
    if (nearest.best) {
        buf_printf(why, " (did you mean [%s]?)", nearest.best);
        loading_mark_section(t->loading, nearest.best);
    }
    report(t, section, why);
}

static void reject_key(const struct config_text *t, const char *section, const char *name, struct buf *why)
{
    struct nearest_word nearest = nearest_word_of(str_from_cstr(name));
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++)
        if (strcmp(key->section, section) == 0)
            nearest_word_compare(&nearest, key->name);
    buf_printf(why, "[%s] has no key \"%s\"", section, name);
    if (nearest.best)
        buf_printf(why, " (did you mean %s?)", nearest.best);
    report(t, section, why);
}

static void reject_name(struct config_text *t, const char *section, const char *name, struct buf *why)
{
    if (!*section) {
        buf_printf(why, "\"%s\" must follow a [section]", name);
        report(t, section, why);
    } else if (has_section(section)) {
        reject_key(t, section, name, why);
    } else {
        reject_section(t, section, why);
    }
}

static void apply(struct config_text *t, const char *section, const char *name, const char *value,
                  struct buf *why)
{
    size_t at;
    const bool from_file = loading_find_secret_file(section, name, &at);
    if (!from_file && !config_find_key(section, name, &at)) {
        reject_name(t, section, name, why);
        return;
    }
    struct config_origin *origin = &t->loading->config->origins[at];
    if (origin->line) {
        buf_printf(why, "[%s] %s is already set in line %d", section, name, origin->line);
        report(t, section, why);
        return;
    }
    origin->line = t->line;
    buf_printf(why, "[%s] %s ", section, name);
    if (!loading_set(t->loading, at, str_from_cstr(value), from_file, why))
        report(t, section, why);
}

/* Called by inih for each `name = value`. Always returns success, so that inih reports unparsable lines only.
 */
static int on_ini_value(void *user, const char *section, const char *name, const char *value)
{
    struct config_text *t = user;
    struct buf why;
    if (!t->is_applying || strcmp(section, BAD_SECTION) == 0)
        return 1;
    buf_init(&why, CONFIG_WHY_MAX);
    apply(t, section, name, value, &why);
    buf_fini(&why);
    return 1;
}

/* ---- reading the file ---- */

static int parse(struct config_text *t)
{
    t->unread = t->all;
    t->chunk = (struct str){"", 0};
    t->line = 0;
    return ini_parse_stream(on_ini_read, t, on_ini_value, t);
}

static void find_unparsable(struct config_text *t)
{
    int line = parse(t);
    while (line > 0 && t->unparsable_count < UNPARSABLE_MAX) {
        t->unparsable[t->unparsable_count++] = line;
        line = parse(t);
    }
}

/* Returns why the file cannot be read, or NULL if it was read. */
static const char *read_text(const char *path, char *text, size_t *len)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return strerror(errno);
    *len = fread(text, 1, FILE_MAX + 1, f);
    const int failed = ferror(f) ? errno : 0;
    (void)fclose(f);
    if (failed)
        return strerror(failed);
    return *len > FILE_MAX ? "it is larger than 1 MiB" : NULL;
}

void loading_read_file(struct loading *l)
{
    struct buf text;
    size_t len = 0;
    buf_init(&text, FILE_MAX + 1);
    const char *why = read_text(l->path, buf_reserve(&text, FILE_MAX + 1), &len);
    if (why) {
        loading_report(l, "%s: cannot read the file: %s", l->path, why);
        for (size_t i = 0; i < CONFIG_KEYS_MAX; i++)
            l->failed[i] = true;
    } else {
        struct config_text t = {.loading = l, .all = str_make(text.p, len)};
        find_unparsable(&t);
        t.is_applying = true;
        if (parse(&t) > 0)
            loading_report(l, "%s: more than %d lines are not [section], name = value or a comment", l->path,
                           UNPARSABLE_MAX);
    }
    explicit_bzero(text.p, FILE_MAX + 1);
    buf_fini(&text);
}
