/* Tests events: their increasing ids, pages in both directions, and filters that scan a bounded number of
 * events. */
#include "lib/temp_db.h"

#include "base/clock.h"
#include "store/erase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { EVENTS = 300 };

static struct temp_db t;
static struct author author, other;
static struct book book;
static struct video video, plain;
/* Copies of `book` and `video` as they are stored. Tests change `book` and `video`, and call update(). */
static struct book stored_book;
static struct video stored_video;
static struct event events[EVENTS]; /* of `author`, ascending */
static int event_count;

static int set_up(void **state)
{
    (void)state;
    event_count = 0;
    temp_db_init(&t);
    test_begin(&t);
    author = add_author(&t, 1);
    other = add_author(&t, 2);
    book = add_book(&t, &author, 1, TEST_DAY);
    struct video foreign = add_video(&t, &other, 0, 9, TEST_DAY);
    video = add_video(&t, &author, book.row, 1, TEST_DAY);
    stored_book = book;
    stored_video = video;
    plain = add_video(&t, &author, 0, 2, TEST_DAY + 5);
    for (int i = 0; event_count < EVENTS; i++) {
        bool viral = i % 50 == 7;
        struct event e = add_event(&t,
                                   i % 3 == 2 ? &foreign
                                   : i % 2    ? &video
                                              : &plain,
                                   viral ? EVENT_WENT_VIRAL : EVENT_MILESTONE_REACHED, 1000 + i,
                                   TEST_DAY + i / 10 * HOUR_MS);
        if (i % 3 != 2)
            events[event_count++] = e;
    }
    test_commit(&t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_db_fini(&t);
    return 0;
}

struct page {
    int count, stop_after;
    struct event events[EVENTS];
};

static bool on_event(void *ctx, const struct event *e, const struct video_ref *v, const struct book_ref *b)
{
    struct page *page = ctx;
    const struct video *expected = e->video_row == video.row ? &video : &plain;
    assert_int_equal(v->posted_at, expected->posted_at);
    assert_int_equal(uuid_cmp(&v->id, &expected->id), 0);
    assert_true(str_eq(v->title, expected->title));
    assert_null(v->thumbnail_url.p);
    assert_int_equal(v->post_count, expected->post_count);
    for (size_t i = 0; i < v->post_count; i++) {
        assert_int_equal(v->posts[i].platform, expected->posts[i].platform);
        assert_true(str_eq(v->posts[i].post_id, expected->posts[i].post_id));
        assert_true(str_eq(v->posts[i].url, expected->posts[i].url));
    }
    assert_true(expected == &video ? str_eq(b->title, STR("Book 1")) : b->title.p == NULL);
    page->events[page->count++] = *e;
    return page->count != page->stop_after;
}

static struct events_query all_of(const struct author *a)
{
    return (struct events_query){
        .author_row = a->row, .occurred_after = INT64_MIN, .limit = EVENTS, .scan_limit = EVENTS};
}

static struct events_progress list(const struct events_query *q, struct page *page)
{
    struct store_read read = temp_db_read(&t);
    struct events_progress progress;
    page->count = 0;
    assert_int_equal(store_list_events(&read, q, on_event, page, &progress), NEXT_MORE);
    assert_int_equal(read.err, OK);
    assert_int_equal(progress.author_last_event_id, events[EVENTS - 1].id);
    return progress;
}

static void assert_same_event(const struct event *a, const struct event *b)
{
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->occurred_at, b->occurred_at);
    assert_int_equal(a->value, b->value);
    assert_int_equal(a->author_row, b->author_row);
    assert_int_equal(a->video_row, b->video_row);
    if (a->type == EVENT_WENT_VIRAL) {
        assert_int_equal(a->threshold, b->threshold);
        assert_int_equal(a->median, b->median);
    }
}

static void ids_follow_the_clock_or_increase_by_one(void **state)
{
    (void)state;
    for (int i = 0; i < EVENTS; i++) {
        int n = i / 2 * 3 + i % 2; /* every third event is an event of `other` */
        assert_int_equal(events[i].id, TEST_DAY + n / 10 * HOUR_MS + n % 10);
    }
}

static void ascending_pages_start_after_the_bound(void **state)
{
    (void)state;
    static struct page page;
    struct events_query q = all_of(&author);
    int seen = 0;
    for (q.limit = 7;;) {
        struct events_progress p = list(&q, &page);
        for (int i = 0; i < page.count; i++)
            assert_same_event(&page.events[i], &events[seen++]);
        assert_int_equal(p.scanned_to, events[seen - 1].id);
        assert_int_equal(p.more, seen < EVENTS);
        if (!p.more)
            break;
        q.bound = p.scanned_to;
    }
    assert_int_equal(seen, EVENTS);
}

static void descending_pages_start_before_the_bound(void **state)
{
    (void)state;
    static struct page page;
    struct events_query q = all_of(&author);
    int left = EVENTS;
    q.descending = true;
    q.bound = INT64_MAX;
    for (q.limit = 11;;) {
        struct events_progress p = list(&q, &page);
        for (int i = 0; i < page.count; i++)
            assert_same_event(&page.events[i], &events[--left]);
        assert_int_equal(p.more, left > 0);
        if (!p.more)
            break;
        q.bound = p.scanned_to;
    }
    assert_int_equal(left, 0);
}

/* A bound is a position: between two ids, before the first id, at the newest id, or after it. */
static void bound_need_not_be_an_existing_id(void **state)
{
    (void)state;
    static struct page page;
    struct events_query q = all_of(&author);
    int64_t head = events[EVENTS - 1].id;
    const int64_t bounds[] = {0,        TEST_DAY - 1, TEST_DAY, events[5].id - 1,
                              head - 1, head,         head + 1, INT64_MAX};
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        int first = 0;
        while (first < EVENTS && events[first].id <= bounds[b])
            first++;
        q.bound = bounds[b];
        struct events_progress p = list(&q, &page);
        assert_int_equal(page.count, EVENTS - first);
        assert_false(p.more);
        assert_int_equal(p.scanned_to, first < EVENTS ? head : bounds[b]);
    }
}

static void filter_scans_a_bounded_number_of_rows(void **state)
{
    (void)state;
    static struct page page;
    struct events_query q = all_of(&author);
    int found = 0, slices = 0, expected = 0;
    q.types = 1u << EVENT_WENT_VIRAL;
    q.occurred_after = events[50].occurred_at;
    q.scan_limit = 13;
    for (int i = 0; i < EVENTS; i++)
        expected += events[i].type == EVENT_WENT_VIRAL && events[i].occurred_at > q.occurred_after;
    for (;;) {
        struct events_progress p = list(&q, &page);
        slices++;
        for (int i = 0; i < page.count; i++) {
            assert_int_equal(page.events[i].type, EVENT_WENT_VIRAL);
            assert_true(page.events[i].occurred_at > q.occurred_after);
        }
        found += page.count;
        int last = slices * 13 < EVENTS ? slices * 13 : EVENTS;
        assert_int_equal(p.scanned_to, events[last - 1].id);
        if (!p.more)
            break;
        q.bound = p.scanned_to;
    }
    assert_true(expected > 3);
    assert_int_equal(found, expected);
    assert_int_equal(slices, (EVENTS + 12) / 13);
}

static void callback_can_end_a_page_early(void **state)
{
    (void)state;
    static struct page page;
    struct events_query q = all_of(&author);
    page.stop_after = 4;
    struct events_progress p = list(&q, &page);
    page.stop_after = 0;
    assert_int_equal(page.count, 4);
    assert_true(p.more);
    assert_int_equal(p.scanned_to, events[3].id);
}

/* Many videos, some with several events, some in books. */
struct own_videos {
    int count;
    struct book second;
    struct video videos[250];
};

static bool on_own_event(void *ctx, const struct event *e, const struct video_ref *v,
                         const struct book_ref *b)
{
    const struct own_videos *own = ctx;
    const struct video *expected = NULL;
    for (int i = 0; i < own->count && !expected; i++)
        expected = own->videos[i].row == e->video_row ? &own->videos[i] : NULL;
    assert_non_null(expected);
    assert_int_equal(e->author_row, expected->author_row);
    assert_int_equal(uuid_cmp(&v->id, &expected->id), 0);
    assert_int_equal(v->posted_at, expected->posted_at);
    assert_true(str_eq(v->title, expected->title));
    const struct book *in = expected->book_row == book.row ? &book : &own->second;
    assert_int_equal(b->title.p != NULL, expected->book_row != 0);
    assert_true(!b->title.p || (str_eq(b->title, in->title) && uuid_cmp(&b->id, &in->id) == 0));
    return true;
}

static void each_event_comes_with_its_video_and_book(void **state)
{
    (void)state;
    static struct own_videos own;
    own.count = 250;
    test_begin(&t);
    struct author third = add_author(&t, 3);
    own.second = add_book(&t, &third, 2, TEST_DAY);
    for (int i = 0; i < own.count; i++)
        own.videos[i] = add_video(&t, &third,
                                  i % 3 == 0   ? 0
                                  : i % 3 == 1 ? own.second.row
                                               : book.row,
                                  100 + (uint64_t)i, i % 7 ? TEST_DAY + i : TIME_NONE);
    for (int i = 0; i < 600; i++)
        (void)add_event(&t, &own.videos[i * 37 % own.count], EVENT_MILESTONE_REACHED, i, TEST_DAY);
    test_commit(&t);
    const int limits[] = {1, 2, 20, 101, 600};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        for (int descending = 0; descending < 2; descending++) {
            struct store_read read = temp_db_read(&t);
            struct events_query q = all_of(&third);
            struct events_progress p;
            q.limit = limits[i];
            q.scan_limit = 600;
            q.descending = descending;
            q.bound = descending ? INT64_MAX : 0;
            store_list_events(&read, &q, on_own_event, &own, &p);
            assert_int_equal(read.err, OK);
            assert_int_equal(p.more, limits[i] < 600);
        }
}

static void author_without_events_has_an_empty_page(void **state)
{
    (void)state;
    static struct page page;
    test_begin(&t);
    struct author fresh = add_author(&t, 3);
    test_commit(&t);
    struct events_query q = all_of(&fresh);
    struct store_read read = temp_db_read(&t);
    struct events_progress p;
    q.bound = 77;
    store_list_events(&read, &q, on_event, &page, &p);
    assert_int_equal(read.err, OK);
    assert_int_equal(p.scanned_to, 77);
    assert_false(p.more);
    assert_int_equal(p.author_last_event_id, 0);
    q.author_row = 999;
    store_list_events(&read, &q, on_event, &page, &p);
    assert_int_equal(read.err, ERR_NOT_FOUND);
}

/* --- the sequence --- */

static void rolled_back_id_is_issued_again(void **state)
{
    (void)state;
    int64_t head = events[EVENTS - 1].id;
    test_begin(&t);
    assert_int_equal(add_event(&t, &video, EVENT_MILESTONE_REACHED, 1, 0).id, head + 1);
    assert_int_equal(add_event(&t, &video, EVENT_MILESTONE_REACHED, 2, 0).id, head + 2);
    store_rollback(t.w);
    test_begin(&t);
    assert_int_equal(add_event(&t, &video, EVENT_MILESTONE_REACHED, 1, 0).id, head + 1);
    test_commit(&t);
}

static void connections_share_one_id_sequence(void **state)
{
    (void)state;
    struct temp_db two = t;
    int64_t head = events[EVENTS - 1].id;
    two.w = temp_db_open(&t, STORE_WRITE);
    for (int i = 1; i <= 6; i++) {
        struct temp_db *turn = i % 2 ? &two : &t;
        test_begin(turn);
        assert_int_equal(add_event(turn, &video, EVENT_MILESTONE_REACHED, 1, head).id, head + i);
        test_commit(turn);
    }
    store_close(two.w);
}

/* Ids increase even if the clock is set back by years or the database was restored. */
static void ids_increase_when_the_clock_is_set_back(void **state)
{
    (void)state;
    test_begin(&t);
    int64_t a = add_event(&t, &video, EVENT_MILESTONE_REACHED, 1, TEST_DAY + INT64_C(1000) * DAY_MS).id;
    test_commit(&t);
    store_close(t.w);
    t.w = temp_db_open(&t, STORE_WRITE);
    test_begin(&t);
    int64_t b = add_event(&t, &video, EVENT_MILESTONE_REACHED, 1, 5).id;
    test_commit(&t);
    assert_int_equal(a, TEST_DAY + INT64_C(1000) * DAY_MS);
    assert_int_equal(b, a + 1);
}

/* --- the feed revision --- */

static int64_t feed_rev_of(uint64_t key)
{
    struct store_read read = temp_db_read(&t);
    struct key_owner owner = {.version = 0};
    uint8_t hash[KEY_HASH_LEN];
    hash_of(key, hash);
    assert_int_equal(store_resolve_key(&read, hash, &owner), NEXT_MORE);
    assert_int_equal(read.err, OK);
    return owner.feed_rev;
}

/* Returns the increase of the author's feed revision since the last call. Asserts that the other author's
 * revision has not changed. */
static int64_t growth(void)
{
    static int64_t last, last_of_other;
    int64_t now = feed_rev_of(1), grown = now - last;
    if (last_of_other)
        assert_int_equal(feed_rev_of(2), last_of_other);
    last = now;
    last_of_other = feed_rev_of(2);
    return grown;
}

static void update(void)
{
    test_begin(&t);
    assert_int_equal(store_update_video(t.w, &stored_video, &video), OK);
    assert_int_equal(store_update_book(t.w, &stored_book, &book), OK);
    test_commit(&t);
    stored_video = video;
    stored_book = book;
}

static void feed_revision_changes_with_every_visible_change(void **state)
{
    (void)state;
    test_begin(&t);
    (void)add_key(&t, &author, 1);
    (void)add_key(&t, &other, 2);
    struct book second = add_book(&t, &author, 2, TEST_DAY);
    test_commit(&t);
    (void)growth();

    video.title = STR("another");
    update();
    assert_int_equal(growth(), 1);
    video.title = str_make(NULL, 0);
    update();
    assert_int_equal(growth(), 1);
    video.thumbnail_url = STR("https://example.com/a.jpg");
    update();
    assert_int_equal(growth(), 1);
    video.posted_at -= 1;
    update();
    assert_int_equal(growth(), 1);
    video.posted_at = TIME_NONE;
    update();
    assert_int_equal(growth(), 1);
    video.book_row = second.row;
    update();
    assert_int_equal(growth(), 1);
    video.book_row = 0;
    update();
    assert_int_equal(growth(), 1);
    video.posts[0].url = STR("https://example.com/elsewhere");
    update();
    assert_int_equal(growth(), 1);
    video.posts[0].url = str_make(NULL, 0);
    update();
    assert_int_equal(growth(), 1);
    video.posts[0].platform = PLATFORM_TIKTOK;
    update();
    assert_int_equal(growth(), 1);
    video.posts[video.post_count++] = (struct post){.platform = PLATFORM_PINTEREST, .post_id = STR("second")};
    update();
    assert_int_equal(growth(), 1);
    book.title = STR("Renamed");
    update();
    assert_int_equal(growth(), 1);

    test_begin(&t);
    (void)add_event(&t, &video, EVENT_MILESTONE_REACHED, 5000, TEST_DAY);
    (void)add_event(&t, &video, EVENT_WENT_VIRAL, 5000, TEST_DAY);
    test_commit(&t);
    assert_int_equal(growth(), 2);
}

static void feed_revision_ignores_invisible_changes(void **state)
{
    (void)state;
    test_begin(&t);
    (void)add_key(&t, &author, 1);
    (void)add_key(&t, &other, 2);
    test_commit(&t);
    (void)growth();

    update(); /* no change */
    book.subtitle = STR("A subtitle");
    book.created_at++;
    video.posts[0].post_id = STR("another id");
    video.posts[0].counts[COUNT_VIEWS] = 700;
    update();
    test_begin(&t);
    add_reading(&t, &plain, TEST_DAY + HOUR_MS, 500);
    plain.went_viral_at = TEST_DAY + HOUR_MS;
    assert_int_equal(store_save_counts(t.w, &plain, true), OK);
    assert_int_equal(store_touch_author(t.w, author.row, TEST_DAY + HOUR_MS), OK);
    (void)add_video(&t, &author, book.row, 3, TEST_DAY);
    (void)add_book(&t, &author, 2, TEST_DAY);
    test_commit(&t);
    assert_int_equal(growth(), 0);
}

static void removals_change_the_feed_revision(void **state)
{
    (void)state;
    test_begin(&t);
    (void)add_key(&t, &author, 1);
    (void)add_key(&t, &other, 2);
    const struct book unused = add_book(&t, &author, 2, TEST_DAY);
    test_commit(&t);
    (void)growth();

    test_begin(&t);
    assert_int_equal(store_remove_book(t.w, &unused), OK);
    test_commit(&t);
    assert_int_equal(growth(), 0);
    test_begin(&t);
    assert_int_equal(store_remove_book(t.w, &book), OK);
    test_commit(&t);
    assert_int_equal(growth(), 1);
    test_begin(&t);
    assert_int_equal(store_remove_video(t.w, &plain), OK);
    test_commit(&t);
    assert_true(growth() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ids_follow_the_clock_or_increase_by_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ascending_pages_start_after_the_bound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(descending_pages_start_before_the_bound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bound_need_not_be_an_existing_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(filter_scans_a_bounded_number_of_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(callback_can_end_a_page_early, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_event_comes_with_its_video_and_book, set_up, tear_down),
        cmocka_unit_test_setup_teardown(author_without_events_has_an_empty_page, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rolled_back_id_is_issued_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(connections_share_one_id_sequence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ids_increase_when_the_clock_is_set_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(feed_revision_changes_with_every_visible_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(feed_revision_ignores_invisible_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(removals_change_the_feed_revision, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
