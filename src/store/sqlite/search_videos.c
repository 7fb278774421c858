/* Searches the videos of an author: examines all of them by row id and collects those that are first in the
 * requested order. */
#include "base/check.h"
#include "base/clock.h"
#include "store/handle.h"
#include "store/read.h"
#include "store/rows.h"
#include "store/pack.h"
#include "store/stored_days.h"

#include <stdlib.h>

/* The columns of QUERY_VIDEOS_SEARCH. */
enum { ROW, ID, POSTED_AT, BOOK_ROW, WENT_VIRAL_AT, VIEWS, UPDATED_AT, POSTS, DAYS, BASELINE, TITLE };

struct search_call {
    struct store *store;
    struct video_search *search;
    int64_t book_row; /* 0: all books */
    struct unicode_folder folder;
    size_t title_bytes; /* see TITLE_BYTES_PER_SEARCH_CALL */
};

/* ---- filters ---- */

static bool has_post_on(const struct post *posts, size_t count, enum platform platform)
{
    for (size_t i = 0; i < count; i++)
        if (posts[i].platform == platform)
            return true;
    return false;
}

static enum err check_platform(struct search_call *call, struct sql_statement *q, bool *passes)
{
    struct post posts[PLATFORM_COUNT];
    size_t count;
    if (!call->search->query->has_platform)
        return OK;
    if (!unpack_posts(sql_text(q, POSTS), posts, &count))
        return sql_report_damage(call->store->sql, "posts of a video");
    *passes = has_post_on(posts, count, call->search->query->platform);
    return OK;
}

static enum err match_title(struct search_call *call, struct str title, bool *matches)
{
    enum err err = title_terms_match(call->search->query->terms, &call->folder, title, matches);
    call->title_bytes += title.len + call->folder.folded.len;
    return err;
}

static enum err read_book_title(struct search_call *call, int64_t book_row, bool *matches)
{
    struct sql *sql = call->store->sql;
    struct sql_statement *q = sql_use(sql, QUERY_BOOK_REF);
    struct book_ref book;
    sql_bind_i64(q, 1, book_row);
    enum err err = sql_one(sql, q);
    if (err)
        return err == ERR_NOT_FOUND ? sql_report_damage(sql, "book of a video") : err;
    if (row_to_book_ref(q, 0, &book))
        err = match_title(call, book.title, matches);
    else
        err = sql_report_damage(sql, "book");
    sql_reset(q);
    return err;
}

/* Compares the title of the book. Caches the result, because many videos belong to the same book. */
static enum err match_book(struct search_call *call, int64_t book_row, bool *matches)
{
    struct book_match *known = &call->search->book_matches[(uint64_t)book_row % BOOK_MATCHES_KEPT];
    if (known->book_row != book_row) {
        enum err err = read_book_title(call, book_row, &known->matches);
        if (err)
            return err;
        known->book_row = book_row;
    }
    *matches = known->matches;
    return OK;
}

static enum err check_title(struct search_call *call, struct sql_statement *q, bool *passes)
{
    const struct str title = sql_text(q, TITLE);
    const int64_t book_row = sql_i64_or(q, BOOK_ROW, 0);
    if (!call->search->query->terms)
        return OK;
    if (!title.p && book_row)
        return match_book(call, book_row, passes);
    return match_title(call, title.p ? title : UNTITLED, passes);
}

/* Returns true if the row passes the filters that need no other table. */
static bool passes_numbers(const struct search_call *call, struct sql_statement *q)
{
    const struct videos_query *query = call->search->query;
    const int64_t posted_at = sql_i64_or(q, POSTED_AT, TIME_NONE);
    if (posted_at == TIME_NONE || posted_at < query->posted_from || posted_at > query->posted_to)
        return false;
    if (call->book_row && sql_i64_or(q, BOOK_ROW, 0) != call->book_row)
        return false;
    if (query->viral != VIRAL_ANY &&
        (sql_i64_or(q, WENT_VIRAL_AT, TIME_NONE) != TIME_NONE) != (query->viral == VIRAL_ONLY))
        return false;
    return !query->has_updated_after || sql_i64_or(q, UPDATED_AT, INT64_MIN) > query->updated_after;
}

/* ---- sort keys ---- */

/* Sets `*sum` to the views that the video gained in the seven days of SORT_VIEWS_7D. */
static enum err sum_7_days(const struct search_call *call, struct sql_statement *q, int64_t *sum)
{
    const int32_t to = call->search->query->today, from = to - (VIEWS_7D_DAYS - 1);
    const struct stored_days days = {.video_row = sql_i64(q, ROW),
                                     .packed = sql_text(q, DAYS),
                                     .total = sql_i64(q, VIEWS) - sql_i64(q, BASELINE)};
    struct store *s = call->store;
    int64_t before;
    enum err err = stored_days_read(s, &days, from, to, &before);
    *sum = 0;
    for (size_t i = 0; i < s->days.count && !err; i++)
        *sum += s->days.items[i].gained;
    return err;
}

static enum err read_sort_key(const struct search_call *call, struct sql_statement *q, int64_t *value)
{
    switch (call->search->query->sort) {
    case SORT_VIEWS: *value = sql_i64(q, VIEWS); return OK;
    case SORT_VIEWS_7D: return sum_7_days(call, q, value);
    case SORT_POSTED_AT: break;
    }
    *value = sql_i64(q, POSTED_AT);
    return OK;
}

/* ---- the videos found ---- */

/* Returns a negative number if `a` precedes `b` in the list, that is, if `a` has the larger sort key or, with
 * equal sort keys, the larger id. */
static int compare_positions(const struct video_position *a, const struct video_position *b)
{
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return memcmp(b->id.b, a->id.b, sizeof a->id.b);
}

static int compare_found(const void *a, const void *b)
{
    const struct found_video *x = a, *y = b;
    return compare_positions(&x->at, &y->at);
}

static void sort_and_cut(struct video_search *s)
{
    qsort(s->found, s->found_count, sizeof s->found[0], compare_found);
    if (s->found_count > (size_t)s->query->limit)
        s->found_count = (size_t)s->query->limit;
}

/* Appends a video to the array. The array has room for several times the limit, so that it is rarely sorted.
 */
static void add_found(struct video_search *s, const struct found_video *video)
{
    if (s->query->has_after && compare_positions(&s->query->after, &video->at) >= 0)
        return; /* the video is on an earlier page */
    if (s->found_count == FOUND_VIDEOS_ROOM)
        sort_and_cut(s);
    s->found[s->found_count++] = *video;
}

static enum err examine(struct search_call *call, struct sql_statement *q)
{
    struct video_search *s = call->search;
    struct found_video video = {.row = sql_i64(q, ROW)};
    bool passes = passes_numbers(call, q);
    enum err err = passes ? check_platform(call, q, &passes) : OK;
    if (!err && passes)
        err = check_title(call, q, &passes);
    s->examined_to = video.row;
    if (err || !passes)
        return err;
    s->total++;
    if (!sql_bytes(q, ID, video.at.id.b, sizeof video.at.id.b))
        return sql_report_damage(call->store->sql, "video id");
    err = read_sort_key(call, q, &video.at.value);
    if (!err)
        add_found(s, &video);
    return err;
}

/* ---- one call ---- */

static enum err examine_some(struct search_call *call)
{
    struct sql *sql = call->store->sql;
    struct sql_statement *q = sql_use(sql, QUERY_VIDEOS_SEARCH);
    enum err err;
    int examined = 0;
    sql_bind_i64(q, 1, call->search->query->author_row);
    sql_bind_i64(q, 2, call->search->examined_to);
    while (sql_row(sql, q, &err)) {
        err = examine(call, q);
        if (err || ++examined == VIDEOS_PER_SEARCH_CALL || call->title_bytes >= TITLE_BYTES_PER_SEARCH_CALL) {
            sql_reset(q);
            return err;
        }
    }
    call->search->done = !err;
    return err;
}

static enum err search(struct store *store, void *ctx)
{
    struct video_search *s = ctx;
    struct search_call call = {.store = store, .search = s};
    enum err err = OK;
    unicode_folder_init(&call.folder);
    if (s->query->has_book) {
        struct sql_statement *q = sql_use(store->sql, QUERY_BOOK_OF_AUTHOR);
        sql_bind_uuid(q, 1, &s->query->book_id);
        sql_bind_i64(q, 2, s->query->author_row);
        err = sql_one_i64(store->sql, q, &call.book_row);
    }
    if (!err)
        err = examine_some(&call);
    if (err == ERR_NOT_FOUND) { /* the book */
        s->done = true;
        err = OK;
    }
    unicode_folder_fini(&call.folder);
    if (!err && s->done)
        sort_and_cut(s);
    return err;
}

enum next store_search_videos(struct store_read *read, struct video_search *s)
{
    CHECK(!s->done && s->query->limit <= FOUND_VIDEOS_MAX);
    store_read_begin(read);
    return store_read_end(read, store_run_in_snapshot(read->store, search, s));
}

/* ---- the page ---- */

struct found_read {
    const struct video_search *search;
    store_video_fn fn;
    void *ctx;
};

static enum err list_found(struct store *store, void *ctx)
{
    const struct found_read *r = ctx;
    struct sql *sql = store->sql;
    bool more = true;
    for (size_t i = 0; more && i < r->search->found_count; i++) {
        struct video video;
        struct book_ref book;
        struct sql_statement *q = sql_use(sql, QUERY_VIDEO_FOUND);
        sql_bind_i64(q, 1, r->search->found[i].row);
        sql_bind_i64(q, 2, r->search->query->author_row);
        enum err err = sql_one(sql, q);
        if (err == ERR_NOT_FOUND)
            continue;
        if (err)
            return err;
        if (row_to_video(q, 0, &video) && row_to_book_ref(q, VIDEO_COLUMNS, &book))
            more = r->fn(r->ctx, &video, &book);
        else
            err = sql_report_damage(sql, "video");
        sql_reset(q);
        if (err)
            return err;
    }
    return OK;
}

enum next store_list_found_videos(struct store_read *read, const struct video_search *s, store_video_fn fn,
                                  void *ctx)
{
    struct found_read r = {.search = s, .fn = fn, .ctx = ctx};
    CHECK(s->done);
    store_read_begin(read);
    return store_read_end(read, store_run_in_snapshot(read->store, list_found, &r));
}
