/* Converts the text line by line. The only state between two lines is the kind of the open block. */
#include "reference/markdown.h"

#include "web/html.h"

enum block { BLOCK_NONE, BLOCK_PARAGRAPH, BLOCK_BULLETS, BLOCK_NUMBERS, BLOCK_CODE, BLOCK_TABLE };

struct converter {
    struct buf *b;
    enum block block;
    int deeper;
};

/* ---- inline elements ---- */

static void append_link(struct buf *b, struct str text, struct str url)
{
    HTML(b, "<a href=\"");
    html_text(b, url);
    HTML(b, "\">");
    markdown_append_inline(b, text);
    HTML(b, "</a>");
}

/* If `s` begins with `[text](URL)`, appends the link and returns the length of this part of `s`. Otherwise
 * returns 0. */
static size_t try_link(struct buf *b, struct str s)
{
    const char *middle = memmem(s.p, s.len, "](", 2);
    const char *end = middle ? memchr(middle, ')', s.len - (size_t)(middle - s.p)) : NULL;
    if (s.p[0] != '[' || !end)
        return 0;
    append_link(b, str_make(s.p + 1, (size_t)(middle - s.p) - 1),
                str_make(middle + 2, (size_t)(end - middle) - 2));
    return (size_t)(end - s.p) + 1;
}

/* If `s` begins with a text between two `mark`s, appends the text between the tags `open` and `close`, and
 * returns its length with the marks. Otherwise returns 0. */
static size_t try_span(struct buf *b, struct str s, struct str mark, struct str open, struct str close)
{
    if (!str_starts_with(s, mark) || s.len < 2 * mark.len)
        return 0;
    const char *end = memmem(s.p + mark.len, s.len - mark.len, mark.p, mark.len);
    if (!end)
        return 0;
    buf_append(b, open);
    html_text(b, str_make(s.p + mark.len, (size_t)(end - s.p) - mark.len));
    buf_append(b, close);
    return (size_t)(end - s.p) + mark.len;
}

void markdown_append_inline(struct buf *b, struct str text)
{
    while (text.len) {
        size_t used = try_span(b, text, STR("`"), STR("<code>"), STR("</code>"));
        if (!used)
            used = try_span(b, text, STR("**"), STR("<strong>"), STR("</strong>"));
        if (!used)
            used = try_link(b, text);
        if (!used) {
            used = 1;
            while (used < text.len && !strchr("`*[", text.p[used]))
                used++;
            html_text(b, str_make(text.p, used));
        }
        text = str_make(text.p + used, text.len - used);
    }
}

void markdown_append_id(struct buf *b, struct str heading)
{
    for (size_t i = 0; i < heading.len; i++) {
        const char c = heading.p[i];
        if (c >= 'A' && c <= 'Z')
            buf_append_char(b, (char)(c - 'A' + 'a'));
        else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')
            buf_append_char(b, c);
        else if (c != '`')
            buf_append_char(b, '-');
    }
}

/* ---- blocks ---- */

static void close_block(struct converter *c)
{
    static const struct str ends[] = {
        [BLOCK_NONE] = {"", 0},
        [BLOCK_PARAGRAPH] = {"</p>\n", 5},
        [BLOCK_BULLETS] = {"</li></ul>\n", 11},
        [BLOCK_NUMBERS] = {"</li></ol>\n", 11},
        [BLOCK_CODE] = {"</code></pre>\n", 14},
        [BLOCK_TABLE] = {"</tbody></table></div>\n", 23},
    };
    buf_append(c->b, ends[c->block]);
    c->block = BLOCK_NONE;
}

static void append_heading(struct converter *c, struct str line)
{
    int level = 0;
    while (line.len && line.p[0] == '#') {
        line = str_make(line.p + 1, line.len - 1);
        level++;
    }
    line = str_trim(line);
    level = level + c->deeper > 6 ? 6 : level + c->deeper;
    close_block(c);
    buf_printf(c->b, "<h%d id=\"", level);
    markdown_append_id(c->b, line);
    HTML(c->b, "\">");
    markdown_append_inline(c->b, line);
    buf_printf(c->b, "</h%d>\n", level);
}

/* Appends the cells of `| a | b |`. */
static void append_cells(struct buf *b, struct str line, const char *tag)
{
    struct str cell;
    if (str_starts_with(line, STR("|")))
        line = str_make(line.p + 1, line.len - 1);
    if (line.len && line.p[line.len - 1] == '|')
        line.len--;
    HTML(b, "<tr>");
    while (line.p) {
        line = str_cut(line, '|', &cell);
        buf_printf(b, "<%s>", tag);
        markdown_append_inline(b, str_trim(cell));
        buf_printf(b, "</%.2s>", tag);
    }
    HTML(b, "</tr>\n");
}

static void append_table_line(struct converter *c, struct str line)
{
    if (str_starts_with(line, STR("| ---")))
        return;
    if (c->block == BLOCK_TABLE) {
        append_cells(c->b, line, "td");
        return;
    }
    close_block(c);
    HTML(c->b, "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"Table\"><table><thead>");
    append_cells(c->b, line, "th scope=\"col\"");
    HTML(c->b, "</thead><tbody>");
    c->block = BLOCK_TABLE;
}

static void append_item(struct converter *c, enum block kind, struct str text)
{
    if (c->block == kind) {
        HTML(c->b, "</li>\n<li>");
    } else {
        close_block(c);
        buf_append(c->b, kind == BLOCK_BULLETS ? STR("<ul><li>") : STR("<ol><li>"));
        c->block = kind;
    }
    markdown_append_inline(c->b, text);
}

static void append_text(struct converter *c, struct str line)
{
    if (c->block == BLOCK_NONE || c->block == BLOCK_TABLE) {
        close_block(c);
        HTML(c->b, "<p>");
        c->block = BLOCK_PARAGRAPH;
    } else {
        buf_append_char(c->b, ' ');
    }
    markdown_append_inline(c->b, line);
}

static void append_line(struct converter *c, struct str line)
{
    const bool fence = str_starts_with(line, STR("```"));
    if (c->block == BLOCK_CODE && !fence) {
        html_text(c->b, line);
        buf_append_char(c->b, '\n');
    } else if (fence) {
        const bool opens = c->block != BLOCK_CODE;
        close_block(c);
        if (opens) {
            HTML(c->b, "<pre tabindex=\"0\"><code>");
            c->block = BLOCK_CODE;
        }
    } else if (!line.len) {
        close_block(c);
    } else if (line.p[0] == '#') {
        append_heading(c, line);
    } else if (line.p[0] == '|') {
        append_table_line(c, line);
    } else if (str_starts_with(line, STR("- "))) {
        append_item(c, BLOCK_BULLETS, str_make(line.p + 2, line.len - 2));
    } else if (line.len > 3 && line.p[0] >= '1' && line.p[0] <= '9' && line.p[1] == '.') {
        append_item(c, BLOCK_NUMBERS, str_make(line.p + 3, line.len - 3));
    } else {
        append_text(c, str_trim(line));
    }
}

void markdown_append(struct buf *b, struct str text, int deeper)
{
    struct converter c = {.b = b, .deeper = deeper};
    struct str line;
    while (text.p) {
        text = str_cut(text, '\n', &line);
        append_line(&c, line);
    }
    close_block(&c);
}
