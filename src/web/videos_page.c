/* GET /videos: the author's videos, newest first, PAGE_VIDEOS per page. `?from=<ms>-<uuid>` starts after the
 * video with this posted_at and id; `?viral=1` lists only videos that went viral; `?q=<words>` lists only
 * videos whose title contains every word, like the parameter of the API. */
#include "base/clock.h"
#include "base/urlencode.h"
#include "web/components.h"
#include "web/form_field.h"
#include "web/humanize.h"
#include "web/page.h"
#include "store/title_terms.h"

enum { PAGE_VIDEOS = 24 };

struct videos_list {
    struct videos_query query;
    struct str words;            /* as the author typed them; empty: no search */
    struct video_search *search; /* NULL: no search */
    int64_t slice_start_us;
    struct video_position last; /* position of the last video on the page */
    int seen;                   /* number of videos on the page */
    bool has_more;              /* there is a next page */
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
    if (l->seen == PAGE_VIDEOS) {
        l->has_more = true;
        return true;
    }
    if (l->seen++ == 0)
        HTML(&r->res.body, "<div class=\"card\"><ul class=\"videos\">");
    component_video_item(r, v, book);
    l->last = (struct video_position){.value = v->posted_at, .id = v->id};
    return true;
}

/* Returns the path of a list with the filters of `l`, which starts after `from`. If `from` is NULL, the list
 * starts at the newest video. */
static struct str list_path(struct request *r, const struct videos_list *l, enum viral_filter viral,
                            const struct video_position *from)
{
    const struct str none = {NULL, 0};
    const struct url_field fields[] = {{"viral", viral == VIRAL_ONLY ? STR("1") : none},
                                       {"q", l->words.len ? l->words : none},
                                       {"from", from ? format_position(r, from) : none}};
    const bool has_fields = viral == VIRAL_ONLY || l->words.len || from;
    return url_with_fields(&r->arena, has_fields ? STR("/videos?") : STR("/videos"), fields, 3);
}

static void write_pager(struct request *r, const struct videos_list *l)
{
    struct buf *b = &r->res.body;
    const bool first = !l->query.has_after;
    if (first && !l->has_more)
        return;
    HTML(b, "<nav class=\"pager\" aria-label=\"More videos\">");
    if (!first) {
        HTML(b, "<a class=\"button quiet\"");
        page_write_link(r, "href", list_path(r, l, l->query.viral, NULL));
        HTML(b, ">Back to the newest</a>");
    }
    if (l->has_more) {
        HTML(b, "<a class=\"button quiet\" rel=\"next\"");
        page_write_link(r, "href", list_path(r, l, l->query.viral, &l->last));
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
    else if (l->search)
        HTML(b, "<p class=\"empty\">No title in this list contains all of these words.</p>");
    else if (l->query.viral == VIRAL_ONLY)
        HTML(b, "<p class=\"empty\">No video has gone viral yet. When one does, it is listed here.</p>");
    else
        HTML(b, "<p class=\"empty\">No videos yet. Your first one appears here as soon as the people who run "
                "this service have added it.</p>");
    write_pager(r, l);
    return page_end(r);
}

/* ---- running the search ---- */

static enum next search_step(struct request *r);

static enum next searched_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct videos_list *l = page->state;
    if (page->read.err)
        return page_store_error(r, page->read.err);
    if (l->search->done) {
        /* A found video may be deleted before it is listed. The next page exists nevertheless. */
        l->has_more = l->search->found_count > PAGE_VIDEOS;
        if (l->has_more) {
            l->search->found_count = PAGE_VIDEOS;
            l->last = l->search->found[PAGE_VIDEOS - 1].at;
        }
        r->step = videos_done_step;
        return store_list_found_videos(&page->read, l->search, on_video, r);
    }
    r->step = search_step;
    if (!request_time_slice_ended(l->slice_start_us))
        return NEXT_MORE;
    l->slice_start_us = clock_work_us();
    return NEXT_YIELD;
}

static enum next search_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct videos_list *l = page->state;
    r->step = searched_step;
    return store_search_videos(&page->read, l->search);
}

static enum next list(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct videos_list *l = page->state;
    if (!l->query.terms) {
        r->step = videos_done_step;
        return store_list_videos(&page->read, &l->query, on_video, r);
    }
    l->search = arena_alloc(&r->arena, sizeof *l->search);
    l->search->query = &l->query;
    l->slice_start_us = clock_work_us();
    return search_step(r);
}

/* ---- the page ---- */

static void write_tab(struct request *r, enum viral_filter viral, const char *label)
{
    const struct videos_list *l = page_context_of(r)->state;
    HTML(&r->res.body, "<li><a");
    page_write_link(r, "href", list_path(r, l, viral, NULL));
    if (viral == l->query.viral)
        HTML(&r->res.body, " aria-current=\"page\"");
    buf_printf(&r->res.body, ">%s</a></li>", label);
}

static void write_filters(struct request *r, const struct videos_list *l)
{
    struct buf *b = &r->res.body;
    HTML(b, "<form class=\"search\" role=\"search\"");
    page_write_link(r, "action", STR("/videos"));
    HTML(b, "><label for=\"q\">Words in the title</label><div class=\"row\">"
            "<input type=\"search\" id=\"q\" name=\"q\" autocomplete=\"off\"");
    html_attr_i64(b, "maxlength", TITLE_SEARCH_CHARACTERS_MAX);
    html_attr(b, "value", l->words);
    HTML(b, ">");
    if (l->query.viral == VIRAL_ONLY)
        form_field_write_hidden(b, "viral", STR("1"));
    HTML(b, "<button class=\"quiet\">Search</button></div></form>\n"
            "<nav class=\"tabs\" aria-label=\"Filter videos\"><ul>");
    write_tab(r, VIRAL_ANY, "All");
    write_tab(r, VIRAL_ONLY, "Went viral");
    HTML(b, "</ul></nav>");
}

/* Words without a visible character are treated as missing, because the browser also sends an empty field. */
static enum err parse_words(struct request *r, struct videos_list *l)
{
    struct title_terms *terms = arena_alloc(&r->arena, sizeof *terms);
    const enum err err = title_terms_parse(terms, &r->arena, l->words);
    l->query.terms = err ? NULL : terms;
    if (err)
        l->words = STR("");
    return err == ERR_INVALID ? OK : err;
}

static enum next videos_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct videos_list *l = arena_alloc(&r->arena, sizeof *l);
    const struct str from = form_get(&page->query, STR("from")), words = form_get(&page->query, STR("q"));
    page->state = l;
    l->query = (struct videos_query){
        .author_row = page->viewer.author_row,
        .posted_from = INT64_MIN,
        .posted_to = INT64_MAX,
        .viral = str_eq(form_get(&page->query, STR("viral")), STR("1")) ? VIRAL_ONLY : VIRAL_ANY,
        .has_after = from.p != NULL,
        .limit = PAGE_VIDEOS + 1,
    };
    l->words = words.p ? str_trim(words) : STR("");
    if (from.p && !parse_position(from, &l->query.after))
        return page_not_found(r);
    if (unicode_count(l->words) > TITLE_SEARCH_CHARACTERS_MAX)
        return page_error(r, 400, "Please search for at most %d characters.", TITLE_SEARCH_CHARACTERS_MAX);
    const enum err err = parse_words(r, l);
    if (err)
        return page_store_error(r, err);
    (void)page_begin(r, &(struct page_frame){.title = STR("Videos"), .current = "/videos"});
    write_filters(r, l);
    return list(r);
}

const struct route videos_page = {.path = "/videos", .methods = ROUTE_GET, .start = videos_step};
