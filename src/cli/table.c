/* Cells are collected first, because the widths of columns depend on all rows. */
#include "cli/table.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/output.h"
#include "store/model.h"

enum { TABLE_MAX_BYTES = 1 << 30, GAP = 2 };

void table_init(struct table *t, const char *const *headings, bool is_json)
{
    *t = (struct table){.headings = headings, .is_json = is_json};
    buf_init(&t->json, TABLE_MAX_BYTES);
    buf_init(&t->cells, TABLE_MAX_BYTES);
    if (is_json)
        json_open(&t->json, '[');
    while (headings[t->columns])
        t->columns++;
    CHECK(t->columns <= TABLE_COLUMNS_MAX);
    for (size_t i = 0; i < t->columns; i++)
        t->widths[i] = strlen(headings[i]) - (headings[i][0] == '#');
}

void table_fini(struct table *t)
{
    buf_fini(&t->json);
    buf_fini(&t->cells);
}

/* Returns the number of code points, which is the width on a terminal except for wide scripts. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

void table_end_cell(struct table *t)
{
    const size_t column = t->count++ % t->columns;
    buf_append_char(&t->cells, '\0');
    if (t->cells.failed)
        return;
    size_t start = t->cells.len - 1;
    while (start > 0 && t->cells.p[start - 1])
        start--;
    const size_t width = width_of(t->cells.p + start);
    if (width > t->widths[column])
        t->widths[column] = width;
}

void table_add_text(struct table *t, struct str text)
{
    cli_append_text(&t->cells, text);
    table_end_cell(t);
}

void table_add_i64(struct table *t, int64_t value)
{
    buf_append_i64(&t->cells, value);
    table_end_cell(t);
}

void table_add_time(struct table *t, int64_t t_ms, const char *if_none)
{
    if (t_ms == TIME_NONE)
        buf_append(&t->cells, str_from_cstr(if_none));
    else
        cli_append_time(&t->cells, t_ms);
    table_end_cell(t);
}

void table_add_uuid(struct table *t, const struct uuid *id)
{
    cli_append_uuid(&t->cells, id);
    table_end_cell(t);
}

static void append_spaces(struct buf *b, size_t count)
{
    while (count--)
        buf_append_char(b, ' ');
}

static void append_cell(const struct table *t, struct buf *out, size_t column, const char *text)
{
    const size_t padding = t->widths[column] - width_of(text);
    const bool is_right = t->headings[column][0] == '#', is_last = column + 1 == t->columns;
    append_spaces(out, is_right ? padding : 0);
    buf_append(out, str_from_cstr(text));
    append_spaces(out, is_last ? 0 : (is_right ? 0 : padding) + GAP);
    if (!is_last)
        return;
    while (out->len && out->p[out->len - 1] == ' ') /* drop the padding of empty cells at the end */
        out->len--;
    buf_append_char(out, '\n');
}

static void append_rows(const struct table *t, struct buf *out)
{
    const char *cell = t->cells.p;
    for (size_t i = 0; i < t->columns; i++)
        append_cell(t, out, i, t->headings[i] + (t->headings[i][0] == '#'));
    for (size_t i = 0; i < t->count; i++) {
        append_cell(t, out, i % t->columns, cell);
        cell += strlen(cell) + 1;
    }
}

enum cli_exit table_print(struct table *t)
{
    struct buf out;
    if (t->is_json) {
        buf_append(&t->json, STR("]\n"));
        buf_fini(&t->cells);
        return cli_print(&t->json);
    }
    buf_init(&out, TABLE_MAX_BYTES);
    out.failed = t->cells.failed;
    if (!out.failed)
        append_rows(t, &out);
    table_fini(t);
    return cli_print(&out);
}
