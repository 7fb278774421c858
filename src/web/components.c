/* Writes videos and events as HTML. */
#include "web/components.h"

#include "base/clock.h"
#include "web/humanize.h"
#include "web/page.h"

struct str component_video_title(struct str title, const struct book_ref *book)
{
    if (title.p)
        return title;
    return book->title.p ? book->title : UNTITLED;
}

void component_video_link(struct request *r, const struct video_ref *v, const struct book_ref *book)
{
    char id[UUID_TEXT_LEN];
    uuid_format(&v->id, id);
    HTML(&r->res.body, "<a");
    page_write_link(r, "href", arena_printf(&r->arena, "/videos/%.*s", UUID_TEXT_LEN, id));
    HTML(&r->res.body, ">");
    html_isolated_text(&r->res.body, component_video_title(v->title, book));
    HTML(&r->res.body, "</a>");
}

/* ---- thumbnail ---- */

static bool is_letter(unsigned char c)
{
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Writes the first letters of the first two words of the title. Converts only ASCII letters to upper case. */
static void write_initials(struct buf *b, struct str title)
{
    size_t written = 0;
    bool in_word = false;
    for (size_t i = 0; i < title.len && written < 2;) {
        unsigned char c = (unsigned char)title.p[i];
        size_t n = str_utf8_sequence(title.p + i, title.len - i);
        if (n && is_letter(c) && !in_word) {
            char capital = (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
            html_text(b, n == 1 ? str_make(&capital, 1) : str_make(title.p + i, n));
            written++;
        }
        in_word = is_letter(c) || (in_word && c == '\'');
        i += n ? n : 1;
    }
}

static void draw_thumbnail(struct buf *b, const struct video_ref *v, struct str title)
{
    const uint8_t *id = v->id.b;
    buf_printf(b,
               "<svg class=\"thumb thumb-%d\" viewBox=\"0 0 56 76\" aria-hidden=\"true\" focusable=\"false\">"
               "<rect class=\"a\" width=\"56\" height=\"76\"/><circle class=\"b\" cx=\"%d\" cy=\"%d\" "
               "r=\"%d\"/><text x=\"28\" y=\"38\" dy=\".35em\" text-anchor=\"middle\">",
               id[15] % 8, id[14] % 57, id[13] % 77, 14 + id[12] % 20);
    write_initials(b, title);
    HTML(b, "</text></svg>");
}

void component_thumbnail(struct request *r, const struct video_ref *v, struct str title)
{
    struct buf *b = &r->res.body;
    bool remote = *page_context_of(r)->web->config->account.image_sources &&
                  html_link_is_safe(v->thumbnail_url) && v->thumbnail_url.p[0] != '/';
    if (!remote) {
        draw_thumbnail(b, v, title);
        return;
    }
    HTML(b, "<img class=\"thumb\"");
    html_link(b, "src", v->thumbnail_url);
    HTML(b, " alt=\"\" width=\"56\" height=\"76\" loading=\"lazy\" decoding=\"async\" "
            "referrerpolicy=\"no-referrer\">");
}

/* ---- videos and events ---- */

void component_viral_comparison(struct buf *b, int64_t views, int64_t threshold, int64_t median)
{
    if (median != COUNT_NONE && median > 0) {
        format_multiplier(b, views, median);
        HTML(b, " your typical ");
        html_number(b, median);
    } else {
        HTML(b, "over ");
        html_quantity(b, threshold, "view", "views");
    }
}

void component_viral_summary(struct buf *b, const struct video *v)
{
    const int64_t median = v->viral.median;
    HTML(b, "at ");
    html_quantity(b, v->views_when_viral, "view", "views");
    HTML(b, ", ");
    component_viral_comparison(b, v->views_when_viral, v->viral.threshold, median);
    if (median != COUNT_NONE && median > 0 && v->views - v->views_when_viral > median / 10) {
        HTML(b, "; now ");
        format_multiplier(b, v->views, median);
        HTML(b, " your typical");
    }
}

void component_platform_list(struct buf *b, const struct video *v)
{
    for (size_t i = 0; i < v->post_count; i++) {
        if (i)
            HTML(b, ", ");
        buf_append(b, platform_title(v->posts[i].platform));
    }
}

static void write_viral(struct buf *b, const struct video *v)
{
    if (v->went_viral_at == TIME_NONE)
        return;
    HTML(b, "<div class=\"small\"><span class=\"badge viral\">Viral</span> ");
    component_viral_summary(b, v);
    HTML(b, "</div>");
}

static void write_facts(struct buf *b, const struct video *v)
{
    HTML(b, "<div class=\"small muted\">");
    html_date(b, date_of(v->posted_at));
    HTML(b, " on ");
    component_platform_list(b, v);
    HTML(b, "</div><div>");
    if (v->first_reading_at == TIME_NONE) {
        HTML(b, "<span class=\"muted\">Not read yet</span>");
    } else {
        HTML(b, "<span class=\"video-views\">");
        html_quantity(b, v->views, "view", "views");
        HTML(b, "</span>");
    }
    if (v->milestone_count) {
        HTML(b, " <span class=\"small muted\">· passed ");
        html_number(b, v->milestones[v->milestone_count - 1].value);
        HTML(b, "</span>");
    }
    HTML(b, "</div>");
}

void component_video_item(struct request *r, const struct video *v, const struct book_ref *book)
{
    struct buf *b = &r->res.body;
    const struct video_ref ref = video_ref_of(v);
    HTML(b, "<li>");
    component_thumbnail(r, &ref, component_video_title(v->title, book));
    HTML(b, "<div class=\"video-text\"><div class=\"video-title clamp\">");
    component_video_link(r, &ref, book);
    HTML(b, "</div>");
    write_facts(b, v);
    write_viral(b, v);
    HTML(b, "</div></li>");
}

void component_event_item(struct request *r, const struct event *e, const struct video_ref *v,
                          const struct book_ref *book, int64_t now)
{
    struct buf *b = &r->res.body;
    bool viral = e->type == EVENT_WENT_VIRAL;
    buf_append(b,
               viral ? STR("<li class=\"viral\"><div class=\"clamp\">") : STR("<li><div class=\"clamp\">"));
    component_video_link(r, v, book);
    HTML(b, "</div>");
    if (viral) {
        HTML(b, "went viral at ");
        html_quantity(b, e->value, "view", "views");
        HTML(b, ", ");
        component_viral_comparison(b, e->value, e->threshold, e->median);
    } else {
        HTML(b, "reached ");
        html_quantity(b, e->value, "view", "views");
    }
    HTML(b, "<span class=\"when\">");
    html_time_ago(b, e->occurred_at, now);
    HTML(b, "</span></li>");
}
