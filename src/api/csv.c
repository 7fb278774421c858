/* Writes CSV cells and line ends. */
#include "api/csv.h"

#include "base/clock.h"

static void comma(struct buf *b)
{
    if (b->len && b->p[b->len - 1] != '\n')
        buf_append_char(b, ',');
}

static bool starts_formula(struct str s)
{
    return s.len && strchr("=+-@\t\r", s.p[0]);
}

static bool needs_quotes(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.p[i] == '"' || s.p[i] == ',' || s.p[i] == '\n' || s.p[i] == '\r')
            return true;
    return starts_formula(s);
}

void csv_append_text(struct buf *b, struct str s)
{
    if (!str_is_utf8(s))
        s = STR("\xEF\xBF\xBD");
    comma(b);
    if (!needs_quotes(s)) {
        buf_append(b, s);
        return;
    }
    buf_append_char(b, '"');
    if (starts_formula(s))
        buf_append_char(b, '\'');
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == '"')
            buf_append_char(b, '"');
        buf_append_char(b, s.p[i]);
    }
    buf_append_char(b, '"');
}

void csv_append_i64(struct buf *b, int64_t v)
{
    comma(b);
    buf_append_i64(b, v);
}

void csv_append_bool(struct buf *b, bool v)
{
    comma(b);
    buf_append(b, v ? STR("true") : STR("false"));
}

void csv_append_uuid(struct buf *b, const struct uuid *u)
{
    char text[UUID_TEXT_LEN];
    uuid_format(u, text);
    comma(b);
    buf_append(b, str_make(text, sizeof text));
}

void csv_append_date(struct buf *b, int32_t date)
{
    char text[DATE_TEXT_LEN];
    date_format(date, text);
    comma(b);
    buf_append(b, str_make(text, sizeof text));
}

void csv_end_line(struct buf *b)
{
    buf_append(b, STR("\r\n"));
}
