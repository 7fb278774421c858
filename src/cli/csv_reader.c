/* Splits a CSV text into records and fields. */
#include "cli/csv_reader.h"

#include <string.h>

void csv_open(struct csv_reader *r, struct str text)
{
    struct str first;
    if (str_starts_with(text, STR("\xEF\xBB\xBF")))
        text = str_make(text.p + 3, text.len - 3);
    (void)str_cut(text, '\n', &first);
    const bool has_comma = first.len && memchr(first.p, ',', first.len);
    const bool has_semicolon = first.len && memchr(first.p, ';', first.len);
    *r = (struct csv_reader){
        .rest = text, .separator = has_semicolon && !has_comma ? ';' : ',', .next_line = 1};
}

static char peek(const struct csv_reader *r)
{
    return r->rest.len ? r->rest.p[0] : '\n';
}

static void skip(struct csv_reader *r, size_t n)
{
    n = n < r->rest.len ? n : r->rest.len;
    r->rest = str_make(r->rest.p + n, r->rest.len - n);
}

static void skip_line(struct csv_reader *r)
{
    const char *end = r->rest.len ? memchr(r->rest.p, '\n', r->rest.len) : NULL;
    skip(r, end ? (size_t)(end - r->rest.p) + 1 : r->rest.len);
    r->next_line++;
}

static void add_field(struct csv_reader *r, struct str value)
{
    if (r->count == CSV_FIELDS_MAX)
        r->problem = "there are too many fields";
    else
        r->fields[r->count++] = value;
}

static void read_plain(struct csv_reader *r)
{
    size_t n = 0;
    while (n < r->rest.len && r->rest.p[n] != r->separator && r->rest.p[n] != '\n')
        n++;
    size_t len = n;
    if (len && r->rest.p[len - 1] == '\r' && (n == r->rest.len || r->rest.p[n] == '\n'))
        len--;
    add_field(r, str_make(r->rest.p, len));
    skip(r, n);
}

/* Returns the position of the quotation mark that ends the quoted field at the start of `text`, or the length
 * of the text if it contains none. Two quotation marks in the field stand for one. */
static size_t find_closing_mark(struct str text)
{
    size_t n = 1;
    while (n < text.len && (text.p[n] != '"' || (n + 1 < text.len && text.p[n + 1] == '"')))
        n += text.p[n] == '"' ? 2 : 1;
    return n < text.len ? n : text.len;
}

/* Reads a quoted field. Separators and line ends are part of the value. Allocates memory for this field only,
 * because the file may have very many fields. */
static void read_quoted(struct csv_reader *r, struct arena *arena)
{
    const size_t end = find_closing_mark(r->rest);
    size_t len = 0;
    if (end == r->rest.len) {
        r->problem = "a quotation mark is not closed";
        skip(r, r->rest.len);
        return;
    }
    char *to = arena_alloc_text(arena, end);
    for (size_t n = 1; n < end; n++) {
        n += r->rest.p[n] == '"';
        r->next_line += r->rest.p[n] == '\n';
        to[len++] = r->rest.p[n];
    }
    skip(r, end + 1);
    if (peek(r) == '\r')
        skip(r, 1);
    if (peek(r) != r->separator && peek(r) != '\n')
        r->problem = "a quoted field must end at a separator or at the end of the line";
    add_field(r, str_make(to, len));
}

static void read_record(struct csv_reader *r, struct arena *arena)
{
    r->line = r->next_line;
    r->count = 0;
    r->problem = NULL;
    for (;;) {
        if (peek(r) == '"')
            read_quoted(r, arena);
        else
            read_plain(r);
        if (r->problem || peek(r) != r->separator || !r->rest.len)
            break;
        skip(r, 1);
    }
    skip_line(r);
}

bool csv_next(struct csv_reader *r, struct arena *arena)
{
    while (r->rest.len) {
        read_record(r, arena);
        if (r->problem || r->count > 1 || r->fields[0].len)
            return true;
    }
    return false;
}
