/* Escapes text for HTML, and checks links. */
#include "web/html.h"

/* Returns the replacement for the character at `p`, or a string whose p is NULL if it needs none. Sets
 * `*used` to the number of input bytes of the character. */
static struct str replacement(const unsigned char *p, size_t n, size_t *used)
{
    *used = 1;
    switch (p[0]) {
    case '&': return STR("&amp;");
    case '<': return STR("&lt;");
    case '>': return STR("&gt;");
    case '"': return STR("&quot;");
    case '\'': return STR("&#39;");
    case '\t':
    case '\n':
    case '\r': return STR(" ");
    default: break;
    }
    if (p[0] < 0x20 || p[0] == 0x7F)
        return STR("");
    size_t len = str_utf8_sequence((const char *)p, n);
    if (len == 0)
        return STR("\xEF\xBF\xBD");
    *used = len;
    if (p[0] == 0xC2 && p[1] < 0xA0) /* U+0080 to U+009F */
        return STR("");
    return (struct str){NULL, 0};
}

void html_text(struct buf *b, struct str s)
{
    size_t start = 0, i = 0;
    while (i < s.len) {
        size_t used;
        struct str other = replacement((const unsigned char *)s.p + i, s.len - i, &used);
        if (other.p) {
            buf_append(b, str_make(s.p + start, i - start));
            buf_append(b, other);
            start = i + used;
        }
        i += used;
    }
    if (s.len > start)
        buf_append(b, str_make(s.p + start, s.len - start));
}

void html_isolated_text(struct buf *b, struct str s)
{
    HTML(b, "<bdi>");
    html_text(b, s);
    HTML(b, "</bdi>");
}

static void open_attr(struct buf *b, const char *name)
{
    buf_append_char(b, ' ');
    buf_append(b, str_from_cstr(name));
    HTML(b, "=\"");
}

void html_attr(struct buf *b, const char *name, struct str value)
{
    open_attr(b, name);
    html_text(b, value);
    buf_append_char(b, '"');
}

void html_attr_i64(struct buf *b, const char *name, int64_t value)
{
    open_attr(b, name);
    buf_append_i64(b, value);
    buf_append_char(b, '"');
}

/* Returns the rest of `url` after `scheme`, which is compared without regard to case. If `url` does not begin
 * with `scheme`, p is NULL. */
static struct str strip_scheme(struct str url, struct str scheme)
{
    if (url.len < scheme.len || !str_eq_nocase(str_make(url.p, scheme.len), scheme))
        return (struct str){NULL, 0};
    return str_make(url.p + scheme.len, url.len - scheme.len);
}

bool html_link_is_safe(struct str url)
{
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.p[i];
        if (c <= 0x20 || c == 0x7F || c == '\\')
            return false;
    }
    if (url.len && url.p[0] == '/')
        return url.len == 1 || url.p[1] != '/';
    struct str host = strip_scheme(url, STR("https://"));
    if (!host.p)
        host = strip_scheme(url, STR("http://"));
    return host.p && host.len && host.p[0] != '/' && host.p[0] != '?' && host.p[0] != '#';
}

void html_link(struct buf *b, const char *name, struct str url)
{
    if (html_link_is_safe(url))
        html_attr(b, name, url);
}

void html_screen_reader_text(struct buf *b, struct str s)
{
    HTML(b, "<span class=\"sr\">");
    html_text(b, s);
    HTML(b, "</span>");
}
