/* A lexer and a parser. nginx has no published grammar, so they follow nginx's function
 * ngx_conf_read_token(): words are separated by white space and may be quoted, ${name} does not open a block,
 * and # begins a comment only where a word could begin. */
#include "doctor/nginx_config.h"

#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>

enum { PATH_BYTES_MAX = 1024 };

struct nginx_file {
    struct str name;
    struct nginx_directive *root;
    bool is_included;
};

struct nginx_text {
    struct arena *arena;
    struct error *error;
    const char *at, *end;
    int line;
    struct nginx_file files[NGINX_FILES_MAX]; /* the file with the highest index is being parsed */
    int file_count;
};

/* ---- splitting the text into words ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void advance(struct nginx_text *t)
{
    t->line += *t->at == '\n';
    t->at++;
}

static struct nginx_directive *add_directive(struct arena *a, struct nginx_directive *parent)
{
    struct nginx_directive *d = arena_alloc(a, sizeof *d);
    *d = (struct nginx_directive){.parent = parent};
    if (parent && parent->last)
        parent->last->next = d;
    else if (parent)
        parent->first = d;
    if (parent)
        parent->last = d;
    return d;
}

/* Adds a file, to which all following directives belong. `line` is the number of the current line in this
 * file: 1 for the first line of the file, or 0 for the comment of `nginx -T` that precedes it. */
static bool begin_file(struct nginx_text *t, struct str name, int line)
{
    if (t->file_count == NGINX_FILES_MAX)
        return error_set(t->error, ERR_FULL, "more than %d files", NGINX_FILES_MAX) == OK;
    t->files[t->file_count++] = (struct nginx_file){.name = name, .root = add_directive(t->arena, NULL)};
    t->line = line;
    return true;
}

/* Skips white space and comments. A comment "# configuration file NAME:" of `nginx -T` sets `*file`. */
static void skip_space(struct nginx_text *t, struct str *file)
{
    while (t->at < t->end && (is_space(*t->at) || *t->at == '#')) {
        const char *begin = t->at;
        if (*t->at != '#') {
            advance(t);
            continue;
        }
        while (t->at < t->end && *t->at != '\n')
            t->at++;
        const struct str comment = str_make(begin, (size_t)(t->at - begin)),
                         mark = STR("# configuration file ");
        if (str_starts_with(comment, mark) && comment.p[comment.len - 1] == ':') {
            *file = str_make(comment.p + mark.len, comment.len - mark.len - 1);
            return;
        }
    }
}

/* Reads a quoted word. Returns p == NULL if the closing quote is missing. */
static struct str read_quoted(struct nginx_text *t)
{
    const char quote = *t->at++, *begin = t->at;
    while (t->at < t->end && *t->at != quote) {
        if (*t->at == '\\' && t->at + 1 < t->end)
            advance(t);
        advance(t);
    }
    if (t->at == t->end)
        return (struct str){NULL, 0};
    return str_make(begin, (size_t)(t->at++ - begin));
}

static struct str read_word(struct nginx_text *t)
{
    const char *begin = t->at;
    if (*t->at == '"' || *t->at == '\'')
        return read_quoted(t);
    while (t->at < t->end && !is_space(*t->at) && *t->at != ';') {
        if (*t->at == '{' && (t->at == begin || t->at[-1] != '$'))
            break;
        if (*t->at == '\\' && t->at + 1 < t->end)
            advance(t);
        advance(t);
    }
    return str_make(begin, (size_t)(t->at - begin));
}

/* ---- directives ---- */

static bool fail(const struct nginx_text *t, const char *why)
{
    const struct str name = t->files[t->file_count - 1].name;
    (void)error_set(t->error, ERR_INVALID, "%.*s:%d: %s", (int)name.len, name.p, t->line, why);
    return false;
}

/* Reads the words of a directive, up to the `;` or `{` that ends them. */
static bool read_directive(struct nginx_text *t, struct nginx_directive *d)
{
    struct str file = {NULL, 0};
    for (;;) {
        skip_space(t, &file);
        if (t->at == t->end || file.p)
            return fail(t, "the file ends inside a directive");
        if (*t->at == ';' || *t->at == '{') {
            d->is_block = *t->at++ == '{';
            return d->count > 0 || fail(t, "a directive has no name");
        }
        if (*t->at == '}')
            return fail(t, "unexpected }");
        const struct str word = read_word(t);
        if (!word.p)
            return fail(t, "a closing quote is missing");
        if (d->count < NGINX_WORDS_MAX)
            d->words[d->count++] = word;
    }
}

/* Parses the text up to its end. skip_space() sets `file` at a comment with which `nginx -T` begins a file;
 * the following directives belong to that file. */
static bool parse_block(struct nginx_text *t)
{
    struct nginx_directive *block = t->files[t->file_count - 1].root;
    for (int depth = 0;;) {
        struct str file = {NULL, 0};
        skip_space(t, &file);
        if ((file.p || t->at == t->end) && depth > 0)
            return fail(t, "a closing } is missing");
        if (t->at == t->end && !file.p)
            return true;
        if (file.p) {
            if (!begin_file(t, file, 0))
                return false;
            block = t->files[t->file_count - 1].root;
        } else if (*t->at == '}') {
            if (depth-- == 0)
                return fail(t, "unexpected }");
            t->at++;
            block = block->parent;
        } else {
            struct nginx_directive *d = add_directive(t->arena, block);
            d->file = t->files[t->file_count - 1].name;
            d->line = t->line;
            if (!read_directive(t, d))
                return false;
            if (d->is_block && ++depth > NGINX_DEPTH_MAX)
                return fail(t, "blocks are nested too deeply");
            block = d->is_block ? d : block;
        }
    }
}

/* ---- includes ---- */

/* Moves the children of `root` to the position after the directive `d`. */
static void insert_after(struct nginx_directive *d, struct nginx_directive *root)
{
    if (!root->first)
        return;
    for (struct nginx_directive *child = root->first; child; child = child->next)
        child->parent = d->parent;
    root->last->next = d->next;
    d->next = root->first;
    if (d->parent->last == d)
        d->parent->last = root->last;
    root->first = root->last = NULL;
}

/* Returns true if the pattern of an include matches the file name. A relative pattern is relative to the
 * directory of the main file. */
static bool matches(const struct nginx_text *t, struct str pattern, struct str name)
{
    char absolute[PATH_BYTES_MAX], path[PATH_BYTES_MAX];
    const struct str main_file = t->files[0].name;
    const char *slash = main_file.len ? memrchr(main_file.p, '/', main_file.len) : NULL;
    const int dir_len = pattern.len && *pattern.p == '/' ? 0 : slash ? (int)(slash + 1 - main_file.p) : 0;
    (void)snprintf(absolute, sizeof absolute, "%.*s%.*s", dir_len, main_file.p, (int)pattern.len, pattern.p);
    (void)snprintf(path, sizeof path, "%.*s", (int)name.len, name.p);
    return fnmatch(absolute, path, FNM_PATHNAME) == 0;
}

/* Inserts the directives of the files that the include directive `d` names, after `d`. Inserts each file only
 * once, at its first include. */
static void insert_files(struct nginx_text *t, struct nginx_directive *d)
{
    for (int i = t->file_count - 1; i > 0; i--)
        if (!t->files[i].is_included && matches(t, nginx_word(d, 1), t->files[i].name)) {
            t->files[i].is_included = true;
            insert_after(d, t->files[i].root);
        }
}

struct nginx_directive *nginx_parse(struct arena *a, struct str text, struct str name, struct error *error)
{
    struct nginx_text *t = arena_alloc(a, sizeof *t);
    *t = (struct nginx_text){.arena = a, .error = error, .at = text.p, .end = text.p + text.len};
    struct str first = name;
    if (text.len)
        skip_space(t, &first);
    t->at = first.p == name.p ? text.p : t->at;
    /* Line numbers do not count the comment of `nginx -T`, which is not a line of the file. */
    if (!begin_file(t, first, first.p != name.p ? 0 : 1) || (text.len && !parse_block(t)))
        return NULL;
    struct nginx_directive *root = t->files[0].root;
    for (const struct nginx_directive *d = nginx_next_in_text(root); d; d = nginx_next_in_text(d))
        if (str_eq(nginx_word(d, 0), STR("include")))
            insert_files(t, (struct nginx_directive *)(uintptr_t)d);
    return root;
}

/* ---- lookups in the tree of directives ---- */

struct str nginx_word(const struct nginx_directive *d, int i)
{
    return i < d->count ? d->words[i] : (struct str){NULL, 0};
}

const struct nginx_directive *nginx_next_child(const struct nginx_directive *block,
                                               const struct nginx_directive *after, const char *name)
{
    const struct nginx_directive *d = after ? after->next : block->first;
    while (d && !str_eq(nginx_word(d, 0), str_from_cstr(name)))
        d = d->next;
    return d;
}

const struct nginx_directive *nginx_find_inherited(const struct nginx_directive *block, const char *name)
{
    while (block && !nginx_next_child(block, NULL, name))
        block = block->parent;
    return block;
}

const struct nginx_directive *nginx_next_in_text(const struct nginx_directive *d)
{
    if (d->first)
        return d->first;
    while (d && !d->next)
        d = d->parent;
    return d ? d->next : NULL;
}
