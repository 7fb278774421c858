/* Searches the videos of an author: examines all of them by row id and collects those that are first in the
 * requested order. */
#include "base/check.h"
#include "base/clock.h"
#include "store/handle.h"
#include "store/pack.h"
#include "store/row_read.h"
#include "store/rows.h"
#include "store/stored_days.h"

#include <stdlib.h>

/* The columns of SQL_VIDEOS_SEARCH. WANTED_BOOK is the row id of the book to which the search is limited.
 * Only QUERY_VIDEOS_SEARCH_TITLES has the column BOOK_TITLE. It is NULL if the video has a title of its
 * own. */
enum {
    ROW,
    ID,
    POSTED_AT,
    BOOK_ROW,
    WENT_VIRAL_AT,
    VIEWS,
    UPDATED_AT,
    POSTS,
    DAYS,
    BASELINE,
    TITLE,
    WANTED_BOOK,
    BOOK_TITLE
};

struct search_call {
    struct store *store;
    struct video_search *search;
    struct unicode_folder folder;
    int examined;
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

/* Sets `*matches` to whether the title of the video's book matches the terms. Caches the result, because many
 * videos belong to the same book. */
static enum err match_book(struct search_call *call, struct sql_statement *q, int64_t book_row, bool *matches)
{
    struct book_match *known = &call->search->book_matches[(uint64_t)book_row % BOOK_MATCHES_KEPT];
    const struct str title = sql_text(q, BOOK_TITLE);
    if (known->book_row != book_row) {
        enum err err = title.p ? match_title(call, title, &known->matches)
                               : sql_report_damage(call->store->sql, "book of a video");
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
        return match_book(call, q, book_row, passes);
    return match_title(call, title.p ? title : UNTITLED, passes);
}

/* Returns true if the row passes the filters that need no other table. */
static bool passes_numbers(const struct search_call *call, struct sql_statement *q)
{
    const struct videos_query *query = call->search->query;
    const int64_t posted_at = sql_i64_or(q, POSTED_AT, TIME_NONE);
    if (posted_at == TIME_NONE || posted_at < query->posted_from || posted_at > query->posted_to)
        return false;
    if (query->has_book && sql_i64_or(q, BOOK_ROW, 0) != sql_i64(q, WANTED_BOOK))
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

/* Appends a video to the array of the videos found, unless it is on an earlier page. The array has room for
 * several times the limit, so that it is rarely sorted. */
static void add_found(struct video_search *s, const struct found_video *video)
{
    if (s->query->has_after && compare_positions(&s->query->after, &video->at) >= 0)
        return; /* on an earlier page */
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

/* ---- one call of the search ---- */

/* Returns true if the call must not examine more videos. */
static bool is_full(const struct search_call *call)
{
    return call->examined == VIDEOS_PER_SEARCH_CALL || call->title_bytes >= TITLE_BYTES_PER_SEARCH_CALL;
}

static bool on_searched_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    struct search_call *call = ctx;
    (void)s;
    if (call->search->query->has_book && !sql_i64_or(q, WANTED_BOOK, 0))
        return false; /* the author has no such book */
    *err = examine(call, q);
    call->examined++;
    return !*err && !is_full(call);
}

static enum err end_search(struct store *s, void *ctx, enum err err)
{
    struct search_call *call = ctx;
    (void)s;
    unicode_folder_fini(&call->folder);
    call->search->done = !err && !is_full(call);
    if (call->search->done)
        sort_and_cut(call->search);
    return err;
}

enum next store_search_videos(struct store_read *read, struct video_search *s)
{
    static const struct row_reader reader = {.row = on_searched_row, .end = end_search};
    struct search_call call = {.store = read->store, .search = s};
    struct sql_statement *q =
        row_read_use(read, s->query->terms ? QUERY_VIDEOS_SEARCH_TITLES : QUERY_VIDEOS_SEARCH);
    CHECK(!s->done && s->query->limit <= FOUND_VIDEOS_MAX);
    unicode_folder_init(&call.folder);
    sql_bind_i64(q, 1, s->query->author_row);
    sql_bind_i64(q, 2, s->examined_to);
    if (s->query->has_book)
        sql_bind_uuid(q, 3, &s->query->book_id);
    else
        sql_bind_null(q, 3);
    sql_bind_i64(q, 4, VIDEOS_PER_SEARCH_CALL);
    return row_read_run(read, q, &reader, &call, sizeof call);
}
