/* Compares pages of videos with a simple model: with all filters and page sizes, up to the last page, also
 * while videos are inserted. Also tests pages of books. */
#include "lib/random.h"
#include "lib/temp_db.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VIDEOS = 400, BOOKS = 6, AUTHORS = 2 };

static struct temp_db t;
static struct author authors[AUTHORS];
static struct book books[BOOKS];
static struct video videos[2 * VIDEOS];
static size_t video_count;

/* Uses few distinct times, so that often the ids determine the order. Every tenth video is not posted. */
static void add_random_video(void)
{
    const struct author *author = &authors[random_below(AUTHORS)];
    int64_t book_row = 0;
    if (random_below(3)) {
        size_t b = (size_t)random_below(BOOKS / AUTHORS) * AUTHORS + (author == &authors[1]);
        book_row = books[b].row;
    }
    int64_t posted_at = random_below(10) ? TEST_DAY + (int64_t)random_below(40) * HOUR_MS : TIME_NONE;
    /* The ids do not ascend from row to row, so only a sort by id gives the correct order. */
    uint64_t id = (video_count + 1) * 0x9e3779b97f4a7c15u;
    struct video v = add_video(&t, author, book_row, id, posted_at);
    if (random_below(3) == 0 && posted_at != TIME_NONE) {
        v.went_viral_at = posted_at + HOUR_MS;
        v.views = v.views_when_viral = 20000;
        v.first_reading_at = v.updated_at = posted_at + HOUR_MS;
        assert_int_equal(store_save_counts(t.w, &v, true), OK);
    }
    videos[video_count++] = v;
}

static int set_up(void **state)
{
    (void)state;
    random_state = 0x1234567;
    video_count = 0;
    temp_db_init(&t);
    test_begin(&t);
    for (uint64_t i = 0; i < AUTHORS; i++)
        authors[i] = add_author(&t, i + 1);
    for (uint64_t i = 0; i < BOOKS; i++)
        books[i] = add_book(&t, &authors[i % AUTHORS], BOOKS - i, TEST_DAY + (int64_t)(i / 4) * HOUR_MS);
    for (int i = 0; i < VIDEOS; i++)
        add_random_video();
    test_commit(&t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_db_fini(&t);
    return 0;
}

/* --- expected pages, from the data in memory --- */

static int64_t book_row_of(const struct uuid *id)
{
    for (int i = 0; i < BOOKS; i++)
        if (uuid_cmp(&books[i].id, id) == 0)
            return books[i].row;
    return -1;
}

static bool before(int64_t at, const struct uuid *id, int64_t other_at, const struct uuid *other_id)
{
    return at != other_at ? at > other_at : uuid_cmp(id, other_id) > 0;
}

static bool model_has(const struct videos_query *q, const struct video *v)
{
    bool viral = v->went_viral_at != TIME_NONE;
    return v->author_row == q->author_row && v->posted_at != TIME_NONE && v->posted_at >= q->posted_from &&
           v->posted_at <= q->posted_to && (!q->has_book || v->book_row == book_row_of(&q->book_id)) &&
           (q->viral == VIRAL_ANY || viral == (q->viral == VIRAL_ONLY)) &&
           (!q->has_after || before(q->after.value, &q->after.id, v->posted_at, &v->id));
}

static int compare_videos(const void *a, const void *b)
{
    const struct video *v = *(const struct video *const *)a, *w = *(const struct video *const *)b;
    return before(v->posted_at, &v->id, w->posted_at, &w->id) ? -1 : 1;
}

static size_t model_list(const struct videos_query *q, const struct video **out)
{
    size_t count = 0;
    for (size_t i = 0; i < video_count; i++)
        if (model_has(q, &videos[i]))
            out[count++] = &videos[i];
    qsort(out, count, sizeof *out, compare_videos);
    return count;
}

/* --- pages that the store returns --- */

struct page {
    size_t count;
    size_t stop_after; /* 0: never */
    struct video_position at[2 * VIDEOS];
};

static bool on_video(void *ctx, const struct video *v, const struct book_ref *book)
{
    struct page *page = ctx;
    assert_int_equal(!v->book_row, !book->title.p);
    if (v->book_row)
        assert_int_equal(book_row_of(&book->id), v->book_row);
    page->at[page->count++] = (struct video_position){.value = v->posted_at, .id = v->id};
    return page->count != page->stop_after;
}

static void list(const struct videos_query *q, struct page *page)
{
    struct store_read read = temp_db_read(&t);
    page->count = 0;
    assert_int_equal(store_list_videos(&read, q, on_video, page), NEXT_MORE);
    assert_int_equal(read.err, OK);
}

static void assert_page(const struct videos_query *q, const struct page *page)
{
    const struct video *expected[2 * VIDEOS];
    size_t count = model_list(q, expected);
    if (count > (size_t)q->limit)
        count = (size_t)q->limit;
    assert_int_equal(page->count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(uuid_cmp(&page->at[i].id, &expected[i]->id), 0);
}

static struct videos_query random_query(void)
{
    struct videos_query q = {
        .author_row = authors[random_below(AUTHORS)].row,
        .posted_from = INT64_MIN,
        .posted_to = INT64_MAX,
        .viral = (enum viral_filter)random_below(3),
        .limit = 1 + (int)random_below(101),
    };
    if (random_below(2))
        q.posted_from = TEST_DAY + (int64_t)random_below(40) * HOUR_MS;
    if (random_below(2))
        q.posted_to = TEST_DAY + (int64_t)random_below(40) * HOUR_MS;
    if (random_below(2)) {
        q.has_book = true;
        /* The book may belong to the other author; then no video matches. */
        q.book_id = books[random_below(BOOKS)].id;
    }
    return q;
}

static void all_pages_together_match_the_model(void **state)
{
    (void)state;
    static struct page page;
    int pages = 0, rows = 0;
    for (int round = 0; round < 500; round++) {
        struct videos_query q = random_query();
        do {
            list(&q, &page);
            assert_page(&q, &page);
            pages++;
            rows += (int)page.count;
            if (!page.count)
                break;
            q.has_after = true;
            q.after = page.at[page.count - 1];
        } while (page.count == (size_t)q.limit);
    }
    assert_true(pages > 1000 && rows > 10000); /* most pages are not empty */
}

/* A cursor is a position. There need not be a video at this position, and the position may be outside of the
 * query's filters. */
static void cursor_need_not_be_an_existing_row(void **state)
{
    (void)state;
    static struct page page;
    for (int round = 0; round < 500; round++) {
        struct videos_query q = random_query();
        q.has_after = true;
        q.after.value = TEST_DAY + (int64_t)random_below(44) * HOUR_MS - 2 * HOUR_MS;
        q.after.id = test_uuid('v', random_below(2) ? 0 : UINT64_MAX);
        list(&q, &page);
        assert_page(&q, &page);
    }
}

static void insertions_neither_repeat_nor_lose_videos(void **state)
{
    (void)state;
    static struct page page;
    static struct video_position seen[2 * VIDEOS];
    const struct video *at_start[2 * VIDEOS];
    struct videos_query q = {
        .author_row = authors[0].row, .posted_from = INT64_MIN, .posted_to = INT64_MAX, .limit = 7};
    size_t seen_count = 0, start_count = model_list(&q, at_start), next = 0;
    do {
        list(&q, &page);
        for (size_t i = 0; i < page.count; i++)
            seen[seen_count++] = page.at[i];
        q.has_after = true;
        q.after = seen[seen_count - 1];
        test_begin(&t);
        add_random_video();
        test_commit(&t);
    } while (page.count == 7);
    for (size_t i = 1; i < seen_count; i++)
        assert_true(before(seen[i - 1].value, &seen[i - 1].id, seen[i].value, &seen[i].id));
    for (size_t i = 0; i < seen_count && next < start_count; i++)
        next += uuid_cmp(&seen[i].id, &at_start[next]->id) == 0;
    assert_int_equal(next, start_count);
}

static void callback_can_end_a_page_early(void **state)
{
    (void)state;
    static struct page page;
    struct videos_query q = {
        .author_row = authors[0].row, .posted_from = INT64_MIN, .posted_to = INT64_MAX, .limit = 50};
    page.stop_after = 3;
    list(&q, &page);
    assert_int_equal(page.count, 3);
    page.stop_after = 0;
    list(&q, &page); /* the statement has been reset */
    assert_int_equal(page.count, 50);
}

static void unknown_book_has_no_videos(void **state)
{
    (void)state;
    static struct page page;
    struct videos_query q = {.author_row = authors[0].row,
                             .posted_from = INT64_MIN,
                             .posted_to = INT64_MAX,
                             .has_book = true,
                             .book_id = test_uuid('b', 999),
                             .limit = 50};
    list(&q, &page);
    assert_int_equal(page.count, 0);
}

/* --- books --- */

struct book_page {
    size_t count, stop_after;
    struct book_position at[BOOKS];
};

static bool on_book(void *ctx, const struct book *book, struct str author_name)
{
    struct book_page *page = ctx;
    int64_t posted = 0;
    for (size_t i = 0; i < video_count; i++)
        posted += videos[i].book_row == book->row && videos[i].posted_at != TIME_NONE;
    assert_int_equal(book->videos_posted, posted);
    assert_int_equal(book->subtitle.len, 0);
    assert_non_null(book->subtitle.p);
    assert_true(str_starts_with(author_name, STR("Author ")));
    page->at[page->count++] = (struct book_position){.created_at = book->created_at, .id = book->id};
    return page->count != page->stop_after;
}

static void books_are_paged_newest_first(void **state)
{
    (void)state;
    struct store_read read = temp_db_read(&t);
    struct book_page all = {0}, two = {.stop_after = 2}, rest = {0};
    int64_t rev;
    assert_int_equal(store_list_books(&read, authors[0].row, NULL, 100, on_book, &all, &rev), NEXT_MORE);
    assert_int_equal(read.err, OK);
    assert_int_equal(all.count, BOOKS / AUTHORS);
    for (size_t i = 1; i < all.count; i++)
        assert_true(before(all.at[i - 1].created_at, &all.at[i - 1].id, all.at[i].created_at, &all.at[i].id));
    store_list_books(&read, authors[0].row, NULL, 100, on_book, &two, &rev);
    assert_int_equal(two.count, 2);
    store_list_books(&read, authors[0].row, &two.at[1], 100, on_book, &rest, &rev);
    assert_int_equal(rest.count, all.count - 2);
    assert_memory_equal(&rest.at[0], &all.at[2], sizeof rest.at[0]);
    rest.count = 0;
    store_list_books(&read, authors[0].row, NULL, 1, on_book, &rest, &rev);
    assert_int_equal(rest.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_pages_together_match_the_model, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cursor_need_not_be_an_existing_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(insertions_neither_repeat_nor_lose_videos, set_up, tear_down),
        cmocka_unit_test_setup_teardown(callback_can_end_a_page_early, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown_book_has_no_videos, set_up, tear_down),
        cmocka_unit_test_setup_teardown(books_are_paged_newest_first, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
