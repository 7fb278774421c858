/* Parses the lines of an author file. CSV fields and JSON members are looked up by name in the same table of
 * columns. */
#include "cli/author_file.h"

#include "auth/login.h"
#include "base/buf.h"
#include "base/nearest_word.h"
#include "cli/arguments.h"
#include "cli/csv_reader.h"
#include "cli/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

enum { ARENA_BLOCK = 64 * 1024, TEXT_SHOWN = 60 };

void author_file_reject(struct author_file *f, int64_t line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)fprintf(stderr, "%s:%lld: ", f->path, (long long)line);
    (void)vfprintf(stderr, fmt, ap);
    (void)fputc('\n', stderr);
    va_end(ap);
    f->bad_lines++;
}

/* ---- columns ---- */

/* Each of these functions stores the value of a column in the author line. It returns false if the value is
 * not allowed. */
static bool set_type(struct author_file *f, struct author_line *a, struct str value)
{
    (void)f;
    (void)a;
    return str_eq(value, STR("author"));
}

static bool set_id(struct author_file *f, struct author_line *a, struct str value)
{
    (void)f;
    a->has_id = true;
    return uuid_parse(value, &a->id);
}

static bool set_name(struct author_file *f, struct author_line *a, struct str value)
{
    (void)f;
    a->name = value;
    return value.len <= AUTHOR_NAME_MAX && str_is_utf8(value) && !memchr(value.p, '\0', value.len);
}

static bool set_login(struct author_file *f, struct author_line *a, struct str value)
{
    a->login = login_normalize(&f->arena, value);
    return a->login.p != NULL;
}

static bool set_plan(struct author_file *f, struct author_line *a, struct str value)
{
    (void)f;
    a->has_plan = true;
    a->plan_active = str_eq(value, STR("active"));
    return a->plan_active || str_eq(value, STR("inactive"));
}

static bool set_plan_active(struct author_file *f, struct author_line *a, struct str value)
{
    (void)f;
    a->has_plan = true;
    a->plan_active = str_eq(value, STR("true"));
    return a->plan_active || str_eq(value, STR("false"));
}

static const struct column {
    const char *name;
    bool (*set)(struct author_file *f, struct author_line *a, struct str value);
    const char *rule;
} columns[] = {
    {"id", set_id, "a UUID"},
    {"name", set_name, "1 to 2000 bytes of UTF-8"},
    {"login", set_login, LOGIN_RULE ", and not an author's id"},
    {"plan", set_plan, "active or inactive"},
    {"plan_active", set_plan_active, "true or false"},
    {"type", set_type, "author"},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* Returns the column with this name. Returns NULL after reporting an unknown name. */
static const struct column *find_column(struct author_file *f, int64_t line, struct str name)
{
    struct nearest_word nearest = nearest_word_of(name);
    char suggestion[128], room[6 * TEXT_SHOWN + 8];
    struct buf shown = buf_on(room, sizeof room);
    for (int i = 0; i < COLUMNS; i++) {
        if (str_eq(name, str_from_cstr(columns[i].name)))
            return &columns[i];
        nearest_word_compare(&nearest, columns[i].name);
    }
    cli_append_text(&shown, str_make(name.p, name.len < TEXT_SHOWN ? name.len : 0));
    author_file_reject(f, line, "unknown field \"%.*s\"%s; the fields are id, name, login and plan",
                       (int)shown.len, shown.p, cli_suggestion(&nearest, "", suggestion));
    return NULL;
}

/* Stores the value of a column. Treats an empty value as missing, because spreadsheets leave cells empty. */
static bool set_value(struct author_file *f, struct author_line *a, const struct column *column,
                      struct str value)
{
    if (!value.len || column->set(f, a, value))
        return true;
    author_file_reject(f, a->line, "%s must be %s", column->name, column->rule);
    return false;
}

static void add_line(struct author_file *f, const struct author_line *a)
{
    if (a->name.p || a->has_id || a->login.p)
        *VEC_ADD(&f->lines) = *a;
    else
        author_file_reject(f, a->line, "the line must have a name, a login or an id");
}

/* ---- CSV ---- */

static void add_record(struct author_file *f, const struct csv_reader *csv,
                       const struct column *const *heading, size_t count)
{
    struct author_line a = {.line = csv->line};
    if (csv->problem || csv->count > count) {
        author_file_reject(f, csv->line, "%s",
                           csv->problem ? csv->problem : "there are more fields than in the heading");
        return;
    }
    for (size_t i = 0; i < csv->count; i++)
        if (!set_value(f, &a, heading[i], str_trim(csv->fields[i])))
            return;
    add_line(f, &a);
}

static void parse_csv(struct author_file *f, struct str text)
{
    const struct column *heading[CSV_FIELDS_MAX];
    struct csv_reader csv;
    size_t count;
    csv_open(&csv, text);
    if (!csv_next(&csv, &f->arena))
        return;
    for (count = 0; count < csv.count; count++) {
        heading[count] = find_column(f, csv.line, str_trim(csv.fields[count]));
        for (size_t i = 0; heading[count] && i < count; i++)
            if (heading[i] == heading[count])
                author_file_reject(f, csv.line, "%s is given twice", heading[i]->name);
    }
    if (csv.problem)
        author_file_reject(f, csv.line, "%s", csv.problem);
    if (f->bad_lines) /* without a correct heading, every line would be bad */
        return;
    while (csv_next(&csv, &f->arena))
        add_record(f, &csv, heading, count);
}

/* ---- NDJSON ---- */

static bool add_member(struct author_file *f, struct author_line *a, unsigned *seen, yyjson_val *key,
                       yyjson_val *value)
{
    const struct column *column = find_column(f, a->line, str_make(yyjson_get_str(key), yyjson_get_len(key)));
    struct str text = {NULL, 0};
    if (!column)
        return false;
    if (*seen & 1u << (column - columns)) {
        author_file_reject(f, a->line, "%s is given twice", column->name);
        return false;
    }
    *seen |= 1u << (column - columns);
    if (yyjson_is_str(value))
        text = arena_copy(&f->arena, str_make(yyjson_get_str(value), yyjson_get_len(value)));
    else if (yyjson_is_bool(value))
        text = yyjson_get_bool(value) ? STR("true") : STR("false");
    else if (!yyjson_is_null(value)) {
        author_file_reject(f, a->line, "%s must be %s", column->name, column->rule);
        return false;
    }
    return set_value(f, a, column, text);
}

static void parse_object(struct author_file *f, struct str text, int64_t line)
{
    struct author_line a = {.line = line};
    yyjson_doc *doc = yyjson_read(text.p, text.len, YYJSON_READ_NOFLAG);
    yyjson_val *root = yyjson_doc_get_root(doc), *key, *value;
    unsigned seen = 0;
    size_t i, count;
    bool ok = yyjson_is_obj(root);
    if (!ok)
        author_file_reject(f, line, "not a JSON object");
    yyjson_obj_foreach(root, i, count, key, value) ok = ok && add_member(f, &a, &seen, key, value);
    yyjson_doc_free(doc);
    if (ok)
        add_line(f, &a);
}

static void parse_ndjson(struct author_file *f, struct str text)
{
    struct str line;
    for (int64_t number = 1; text.p; number++) {
        text = str_cut(text, '\n', &line);
        line = str_trim(line);
        if (line.len)
            parse_object(f, line, number);
    }
}

/* ---- two lines for one author ---- */

struct identity {
    struct str text;
    int64_t line;
};

static int by_text(const void *a, const void *b)
{
    const struct identity *x = a, *y = b;
    const int order = str_cmp(x->text, y->text);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Returns a text that identifies the author: the id; without an id, the sign-in name; or else the name. */
static struct str identity_of(struct author_file *f, const struct author_line *a)
{
    char id[UUID_TEXT_LEN];
    if (!a->has_id)
        return a->login.p ? arena_printf(&f->arena, "login %.*s", (int)a->login.len, a->login.p)
                          : arena_printf(&f->arena, "name %.*s", (int)a->name.len, a->name.p);
    uuid_format(&a->id, id);
    return arena_printf(&f->arena, "id %.*s", UUID_TEXT_LEN, id);
}

static void reject_repeated(struct author_file *f)
{
    const size_t count = f->lines.count;
    struct identity *all = arena_alloc(&f->arena, (count + 1) * sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = (struct identity){identity_of(f, &f->lines.items[i]), f->lines.items[i].line};
    if (count > 1)
        qsort(all, count, sizeof *all, by_text);
    for (size_t i = 1; i < count; i++)
        if (str_eq(all[i].text, all[i - 1].text))
            author_file_reject(f, all[i].line, "this is the same author as in line %lld%s",
                               (long long)all[i - 1].line,
                               str_starts_with(all[i].text, STR("name "))
                                   ? "; if there are two authors with this name, give ids or logins"
                                   : "");
}

/* ---- reading the file ---- */

/* Prints an error on failure, and returns the exit status. */
static enum cli_exit read_all(const char *path, struct buf *b)
{
    enum cli_exit code = CLI_DONE;
    const bool is_stdin = strcmp(path, "-") == 0;
    FILE *from = is_stdin ? stdin : fopen(path, "re");
    char part[16 * 1024];
    size_t n;
    while (from && !b->failed && (n = fread(part, 1, sizeof part, from)) > 0)
        buf_append(b, str_make(part, n));
    if (!from || ferror(from))
        code = cli_fail(CLI_COULD_NOT, "%s: %s", path, strerror(errno));
    else if (b->failed)
        code = cli_fail(CLI_USAGE, "%s is longer than %d bytes", path, AUTHOR_FILE_MAX);
    if (from && !is_stdin)
        (void)fclose(from);
    return code;
}

enum cli_exit author_file_read(struct author_file *f, const char *path)
{
    struct buf b;
    *f = (struct author_file){.path = path};
    arena_init(&f->arena, ARENA_BLOCK);
    buf_init(&b, AUTHOR_FILE_MAX);
    const enum cli_exit code = read_all(path, &b);
    struct str text = !code && b.len ? arena_copy(&f->arena, buf_str(&b)) : (struct str){"", 0};
    if (str_starts_with(text, STR("\xEF\xBB\xBF"))) /* a byte order mark */
        text = str_make(text.p + 3, text.len - 3);
    const struct str start = str_trim(text);
    if (start.len && start.p[0] == '{')
        parse_ndjson(f, text);
    else
        parse_csv(f, text);
    reject_repeated(f);
    buf_fini(&b);
    return code;
}

void author_file_fini(struct author_file *f)
{
    VEC_FREE(&f->lines);
    arena_fini(&f->arena);
}
