/* GET /videos: the author's videos, newest first, PAGE_VIDEOS per page. `?from=<ms>-<uuid>` starts after the
 * video with this posted_at and id; `?viral=1` lists only videos that went viral. */
#include "web/humanize.h"
#include "web/page.h"
#include "web/components.h"

enum { PAGE_VIDEOS = 24 };

struct videos_list {
    struct videos_query query;
    struct video_position last; /* position of the last video on the page */
    int seen;                   /* number of rows read; PAGE_VIDEOS + 1 if there is a next page */
};

static bool parse_position(struct str text, struct video_position *out)
{
    struct str head, rest = str_cut(text, '-', &head);
    unsigned long long ms;
    if (!rest.p || !str_to_u64(head, INT64_MAX, &ms))
        return false;
    out->value = (int64_t)ms;
    return uuid_parse(rest, &out->id);
}

static struct str format_position(struct request *r, const struct video_position *at)
{
    char id[UUID_TEXT_LEN];
    uuid_format(&at->id, id);
    return arena_printf(&r->arena, "%lld-%.*s", (long long)at->value, UUID_TEXT_LEN, id);
}

static bool on_video(void *ctx, const struct video *v, const struct book_ref *book)
{
    struct request *r = ctx;
    struct videos_list *l = page_context_of(r)->state;
    if (l->seen++ == PAGE_VIDEOS)
        return true;
    if (l->seen == 1)
        HTML(&r->res.body, "<div class=\"card\"><ul class=\"videos\">");
    component_video_item(r, v, book);
    l->last = (struct video_position){.value = v->posted_at, .id = v->id};
    return true;
}

static void write_pager(struct request *r, const struct videos_list *l)
{
    struct buf *b = &r->res.body;
    bool viral = l->query.viral == VIRAL_ONLY, first = !l->query.has_after;
    if (first && l->seen <= PAGE_VIDEOS)
        return;
    HTML(b, "<nav class=\"pager\" aria-label=\"More videos\">");
    if (!first) {
        HTML(b, "<a class=\"button quiet\"");
        page_write_link(r, "href", viral ? STR("/videos?viral=1") : STR("/videos"));
        HTML(b, ">Back to the newest</a>");
    }
    if (l->seen > PAGE_VIDEOS) {
        struct str at = format_position(r, &l->last);
        HTML(b, "<a class=\"button quiet\" rel=\"next\"");
        page_write_link(
            r, "href",
            arena_printf(&r->arena, "/videos?%sfrom=%.*s", viral ? "viral=1&" : "", (int)at.len, at.p));
        HTML(b, ">Older videos</a>");
    }
    HTML(b, "</nav>");
}

static enum next videos_done_step(struct request *r)
{
    const struct videos_list *l = page_context_of(r)->state;
    struct buf *b = &r->res.body;
    if (page_context_of(r)->read.err)
        return page_store_error(r, page_context_of(r)->read.err);
    if (l->seen)
        HTML(b, "</ul></div>");
    else if (l->query.has_after)
        HTML(b, "<p class=\"empty\">There are no older videos.</p>");
    else if (l->query.viral == VIRAL_ONLY)
        HTML(b, "<p class=\"empty\">No video has gone viral yet. When one does, it is listed here.</p>");
    else
        HTML(b, "<p class=\"empty\">No videos yet. Your first one appears here as soon as the people who run "
                "this service have added it.</p>");
    write_pager(r, l);
    return page_end(r);
}

static void write_tab(struct request *r, struct str path, const char *label, bool current)
{
    HTML(&r->res.body, "<li><a");
    page_write_link(r, "href", path);
    if (current)
        HTML(&r->res.body, " aria-current=\"page\"");
    buf_printf(&r->res.body, ">%s</a></li>", label);
}

static enum next videos_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct videos_list *l = arena_alloc(&r->arena, sizeof *l);
    struct str from = form_get(&page->query, STR("from"));
    page->state = l;
    l->query = (struct videos_query){
        .author_row = page->viewer.author_row,
        .posted_from = INT64_MIN,
        .posted_to = INT64_MAX,
        .viral = str_eq(form_get(&page->query, STR("viral")), STR("1")) ? VIRAL_ONLY : VIRAL_ANY,
        .has_after = from.p != NULL,
        .limit = PAGE_VIDEOS + 1,
    };
    if (from.p && !parse_position(from, &l->query.after))
        return page_not_found(r);
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("Videos"), .current = "/videos"});
    HTML(b, "<nav class=\"tabs\" aria-label=\"Filter videos\"><ul>");
    write_tab(r, STR("/videos"), "All", l->query.viral == VIRAL_ANY);
    write_tab(r, STR("/videos?viral=1"), "Went viral", l->query.viral == VIRAL_ONLY);
    HTML(b, "</ul></nav>");
    r->step = videos_done_step;
    return store_list_videos(&page->read, &l->query, on_video, r);
}

const struct route videos_page = {.path = "/videos", .methods = ROUTE_GET, .start = videos_step};
