/* GET /videos and GET /videos/{id}. */
#include "api/api.h"
#include "api/cursor.h"
#include "api/params.h"
#include "api/render.h"
#include "base/clock.h"

enum { LIMIT_MAX = 100, LIMIT_DEFAULT = 50 };
enum {
    P_START_DATE,
    P_END_DATE,
    P_BOOK_ID,
    P_VIRAL,
    P_LIMIT,
    P_CURSOR,
    P_SORT,
    P_PLATFORM,
    P_UPDATED_AFTER,
    P_INCLUDE,
    P_Q
};

struct videos_page {
    struct videos_query query;
    int64_t now_ms;
    int limit, rendered;
    bool has_more;
    bool has_total;
    struct video_position last;  /* position of the last video on the page */
    struct video_search *search; /* NULL if the query needs no search */
    int64_t slice_start_us;
};

/* ---- the list ---- */

static bool read_dates(struct request *r, struct videos_query *q)
{
    int32_t start = INT32_MIN, end = INT32_MAX;
    if (!param_date(r, P_START_DATE, &start) || !param_date(r, P_END_DATE, &end))
        return false;
    if (start > end) {
        (void)envelope_param_error(r, API_INVALID_PARAMETER, "end_date",
                                   "\"end_date\" must not be before \"start_date\".");
        return false;
    }
    q->posted_from = param_is_given(r, P_START_DATE) ? date_start_ms(start) : INT64_MIN;
    q->posted_to = param_is_given(r, P_END_DATE) ? date_start_ms(end) + DAY_MS - 1 : INT64_MAX;
    return true;
}

static bool read_cursor(struct request *r, struct videos_query *q)
{
    const struct endpoint_call *call = endpoint_call_of(r);
    if (!param_is_given(r, P_CURSOR))
        return true;
    q->has_after = cursor_parse(q, &call->owner.author_id, call->params[P_CURSOR], &q->after);
    if (!q->has_after)
        (void)envelope_param_error(
            r, API_INVALID_PARAMETER, "cursor",
            "\"cursor\" must be the next_cursor of a page with the same filters and sort.");
    return q->has_after;
}

static bool read_terms(struct request *r, struct videos_query *q)
{
    struct str text;
    if (!param_is_given(r, P_Q))
        return true;
    if (!param_text(r, P_Q, TITLE_SEARCH_CHARACTERS_MAX, &text))
        return false;
    struct title_terms *terms = arena_alloc(&r->arena, sizeof *terms);
    const enum err err = title_terms_parse(terms, &r->arena, text);
    if (err == ERR_INVALID)
        (void)envelope_param_error(r, API_INVALID_PARAMETER, "q",
                                   "\"q\" must have a character that is neither white space nor invisible.");
    else if (err)
        (void)envelope_store_error(r, err);
    q->terms = terms;
    return !err;
}

/* Reads the parameters that need a search. */
static bool read_search(struct request *r, struct videos_page *page)
{
#define PLATFORM_WORD(constant, name, title) #name,
    static const char *const platform_words[] = {PLATFORM_LIST(PLATFORM_WORD) NULL};
#undef PLATFORM_WORD
    static const char *const sort_words[] = {
        [SORT_POSTED_AT] = "posted_at", [SORT_VIEWS] = "views", [SORT_VIEWS_7D] = "views_7d", NULL};
    static const char *const include_words[] = {"total", NULL};
    struct videos_query *q = &page->query;
    int sort = SORT_POSTED_AT, platform = 0, include = 0;
    if (!param_word(r, P_SORT, sort_words, &sort) || !param_word(r, P_PLATFORM, platform_words, &platform) ||
        !param_time(r, P_UPDATED_AFTER, &q->updated_after) ||
        !param_word(r, P_INCLUDE, include_words, &include) || !read_terms(r, q))
        return false;
    q->sort = (enum video_sort)sort;
    q->today = date_of(page->now_ms);
    q->has_platform = param_is_given(r, P_PLATFORM);
    q->platform = (enum platform)platform;
    q->has_updated_after = param_is_given(r, P_UPDATED_AFTER);
    page->has_total = param_is_given(r, P_INCLUDE);
    return true;
}

static bool read_query(struct request *r, struct videos_page *page)
{
    static const char *const viral_words[] = {"true", "false", NULL};
    struct videos_query *q = &page->query;
    int64_t limit = LIMIT_DEFAULT;
    int viral = -1;
    q->author_row = endpoint_call_of(r)->owner.author_row;
    if (!read_dates(r, q) || !param_uuid(r, P_BOOK_ID, &q->book_id) ||
        !param_word(r, P_VIRAL, viral_words, &viral) || !param_integer(r, P_LIMIT, 1, LIMIT_MAX, &limit))
        return false;
    q->has_book = param_is_given(r, P_BOOK_ID);
    q->viral = viral < 0 ? VIRAL_ANY : viral == 0 ? VIRAL_ONLY : VIRAL_NOT;
    page->limit = (int)limit;
    q->limit = page->limit + 1;
    return read_search(r, page) && read_cursor(r, q);
}

static bool on_listed(void *ctx, const struct video *video, const struct book_ref *book)
{
    struct request *r = ctx;
    struct videos_page *page = endpoint_call_of(r)->endpoint;
    if (page->rendered == page->limit) {
        page->has_more = true;
        return false;
    }
    render_video(&r->res.body, video, book, page->now_ms);
    endpoint_call_limit_validity(endpoint_call_of(r), render_valid_until(video, page->now_ms));
    page->last = (struct video_position){.value = video->posted_at, .id = video->id};
    page->rendered++;
    return true;
}

/* Returns the position of the last video on the page. For a search, this is the position that the search has
 * found, even if the sort key of the video has changed since. */
static struct video_position last_position(const struct videos_page *page)
{
    return page->search ? page->search->found[page->limit - 1].at : page->last;
}

static enum next videos_done_step(struct request *r)
{
    const struct endpoint_call *call = endpoint_call_of(r);
    const struct videos_page *page = call->endpoint;
    struct buf *b = &r->res.body;
    char cursor[CURSOR_TEXT_LEN];
    if (call->read.err)
        return envelope_store_error(r, call->read.err);
    json_close(b, ']');
    JSON_BOOL(b, "has_more", page->has_more);
    if (page->has_more) {
        const struct video_position last = last_position(page);
        cursor_format(&page->query, &call->owner.author_id, &last, cursor);
        JSON_STR(b, "next_cursor", str_make(cursor, sizeof cursor));
        params_link_next_page(r, P_CURSOR, str_make(cursor, sizeof cursor));
    } else {
        JSON_NULL(b, "next_cursor");
    }
    if (page->has_total)
        JSON_I64(b, "total_count", page->search->total);
    return envelope_end(r);
}

static enum next search_step(struct request *r);

static enum next searched_step(struct request *r)
{
    struct endpoint_call *call = endpoint_call_of(r);
    struct videos_page *page = call->endpoint;
    if (call->read.err)
        return envelope_store_error(r, call->read.err);
    if (page->search->done) {
        page->has_more = page->search->found_count > (size_t)page->limit;
        if (page->has_more)
            page->search->found_count = (size_t)page->limit;
        r->step = videos_done_step;
        return store_list_found_videos(&call->read, page->search, on_listed, r);
    }
    r->step = search_step;
    if (!request_time_slice_ended(page->slice_start_us))
        return NEXT_MORE;
    page->slice_start_us = clock_work_us();
    return NEXT_YIELD;
}

static enum next search_step(struct request *r)
{
    struct endpoint_call *call = endpoint_call_of(r);
    struct videos_page *page = call->endpoint;
    r->step = searched_step;
    return store_search_videos(&call->read, page->search);
}

static enum next start_search(struct request *r, struct videos_page *page)
{
    page->search = arena_alloc(&r->arena, sizeof *page->search);
    page->search->query = &page->query;
    page->slice_start_us = clock_work_us();
    if (page->query.sort == SORT_VIEWS_7D)
        endpoint_call_limit_validity(endpoint_call_of(r), date_start_ms(page->query.today + 1));
    return search_step(r);
}

static enum next videos_step(struct request *r)
{
    struct endpoint_call *call = endpoint_call_of(r);
    struct videos_page *page = arena_alloc(&r->arena, sizeof *page);
    call->endpoint = page;
    page->now_ms = clock_wall_ms();
    if (!read_query(r, page))
        return NEXT_DONE;
    JSON_KEY(envelope_begin(r), "data");
    json_open(&r->res.body, '[');
    if (page->has_total || videos_query_is_search(&page->query))
        return start_search(r, page);
    r->step = videos_done_step;
    return store_list_videos(&call->read, &page->query, on_listed, r);
}

const struct endpoint videos_endpoint = {
    .route = {.path = "/videos", .name = "/v1/videos", .methods = ROUTE_GET, .start = videos_step},
    .params = {"start_date", "end_date", "book_id", "viral", "limit", "cursor", "sort", "platform",
               "updated_after", "include", "q"},
};

/* ---- one video ---- */

static bool on_video(void *ctx, const struct video *video, const struct book_ref *book)
{
    struct request *r = ctx;
    struct buf *b = envelope_begin(r);
    int64_t now_ms = clock_wall_ms();
    JSON_KEY(b, "data");
    render_video(b, video, book, now_ms);
    endpoint_call_limit_validity(endpoint_call_of(r), render_valid_until(video, now_ms));
    return true;
}

static enum next no_such_video(struct request *r)
{
    return envelope_error(r, API_NOT_FOUND, "No posted video of this account has this id.");
}

static enum next video_done_step(struct request *r)
{
    enum err err = endpoint_call_of(r)->read.err;
    if (err == ERR_NOT_FOUND)
        return no_such_video(r);
    return err ? envelope_store_error(r, err) : envelope_end(r);
}

static enum next video_step(struct request *r)
{
    struct endpoint_call *call = endpoint_call_of(r);
    struct uuid id;
    if (!uuid_parse(r->path_parameter, &id))
        return no_such_video(r);
    r->step = video_done_step;
    return store_read_video(&call->read, call->owner.author_row, &id, on_video, r);
}

const struct endpoint video_endpoint = {
    .route = {.path = "/videos/{id}", .name = "/v1/videos/{id}", .methods = ROUTE_GET, .start = video_step},
};
