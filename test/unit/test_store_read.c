/* Tests reading keys, the account and single videos, title searches, changes, and snapshots. */
#include "lib/temp_db.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct temp_db t;

static int set_up(void **state)
{
    (void)state;
    temp_db_init(&t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_db_fini(&t);
    return 0;
}

/* --- title search --- */

static bool count_found(void *ctx, const struct video *video, const struct book_ref *book)
{
    (void)video;
    (void)book;
    ++*(int *)ctx;
    return true;
}

/* Searches until the end. Sets `*found` to the number of videos on the page. Returns the number of calls. */
static int search_all(struct store_read *read, const struct videos_query *query, int *found)
{
    struct video_search search = {.query = query};
    int calls = 0;
    for (; !search.done; calls++) {
        assert_int_equal(store_search_videos(read, &search), NEXT_MORE);
        assert_int_equal(read->err, OK);
    }
    *found = 0;
    store_list_found_videos(read, &search, count_found, found);
    assert_int_equal(read->err, OK);
    return calls;
}

static void call_of_a_search_ends_when_its_budget_of_title_bytes_is_used_up(void **state)
{
    (void)state;
    enum { VIDEOS = 100, TITLE_BYTES = 2000 };
    char title[TITLE_BYTES];
    struct title_terms terms;
    int found;
    memset(title, 'a', sizeof title);
    test_begin(&t);
    struct author author = add_author(&t, 1);
    for (uint64_t n = 0; n < VIDEOS; n++) {
        struct video video = add_video(&t, &author, 0, n, TEST_DAY);
        const struct video old = video;
        video.title = str_make(title, sizeof title);
        assert_int_equal(store_update_video(t.w, &old, &video), OK);
    }
    test_commit(&t);
    struct store_read read = temp_db_read(&t);
    struct videos_query query = {.author_row = author.row,
                                 .posted_from = INT64_MIN,
                                 .posted_to = INT64_MAX,
                                 .limit = FOUND_VIDEOS_MAX};
    assert_int_equal(search_all(&read, &query, &found), 1); /* without terms, no title is folded */
    assert_int_equal(found, VIDEOS);
    assert_int_equal(title_terms_parse(&terms, &t.arena, STR("AAA")), OK);
    query.terms = &terms;
    /* The budget of a call is used up by this many titles and their folded forms. */
    const int in_a_call = (TITLE_BYTES_PER_SEARCH_CALL + 2 * TITLE_BYTES - 1) / (2 * TITLE_BYTES);
    assert_int_equal(search_all(&read, &query, &found), VIDEOS / in_a_call + 1);
    assert_int_equal(found, VIDEOS);
}

/* --- keys and the account --- */

static void key_resolves_to_its_row_and_author_and_unknown_key_is_not_found(void **state)
{
    (void)state;
    uint8_t hash[KEY_HASH_LEN];
    test_begin(&t);
    struct author author = add_author(&t, 1);
    struct api_key key = add_key(&t, &author, 7);
    test_commit(&t);
    struct store_read read = temp_db_read(&t);
    struct key_owner owner = {.version = 0};
    hash_of(7, hash);
    assert_int_equal(store_resolve_key(&read, hash, &owner), NEXT_MORE);
    assert_int_equal(read.err, OK);
    assert_int_equal(owner.key_row, key.row);
    assert_int_equal(owner.author_row, author.row);
    assert_true(owner.plan_active);
    assert_int_equal(owner.revoked_at, TIME_NONE);
    assert_int_equal(owner.last_used_at, TIME_NONE);
    assert_int_equal(owner.author_rev, 1);
    assert_int_equal(owner.last_event_id, 0);
    assert_int_equal(uuid_cmp(&owner.key_id, &key.id), 0);
    assert_int_equal(uuid_cmp(&owner.author_id, &author.id), 0);
    hash_of(8, hash);
    owner.version = 0;
    assert_int_equal(store_resolve_key(&read, hash, &owner), NEXT_MORE);
    assert_int_equal(read.err, ERR_NOT_FOUND);
}

static void key_resolves_to_current_plan_revocation_last_use_and_newest_event(void **state)
{
    (void)state;
    uint8_t hash[KEY_HASH_LEN];
    test_begin(&t);
    struct author author = add_author(&t, 1);
    struct api_key key = add_key(&t, &author, 7);
    struct video video = add_video(&t, &author, 0, 1, TEST_DAY);
    struct event event = add_event(&t, &video, EVENT_MILESTONE_REACHED, 1000, TEST_DAY);
    author.plan_active = false;
    assert_int_equal(store_update_author(t.w, &author, TEST_DAY, &test_actor), OK);
    assert_int_equal(store_revoke_key(t.w, key.row, TEST_DAY + 5, &test_actor), OK);
    assert_int_equal(store_set_key_used(t.w, key.row, TEST_DAY + 3, STR("192.0.2.7")), OK);
    test_commit(&t);
    struct store_read read = temp_db_read(&t);
    struct key_owner owner = {.version = 0};
    hash_of(7, hash);
    store_resolve_key(&read, hash, &owner);
    assert_int_equal(read.err, OK);
    assert_false(owner.plan_active);
    assert_int_equal(owner.revoked_at, TEST_DAY + 5);
    assert_int_equal(owner.last_used_at, TEST_DAY + 3);
    /* 1 at first, 2 after store_update_author(). Storing the last use of a key does not change the revision.
     */
    assert_int_equal(owner.author_rev, 2);
    assert_int_equal(owner.last_event_id, event.id);
}

static bool on_account(void *ctx, const struct author *author, const struct api_key *key)
{
    int *calls = ctx;
    ++*calls;
    assert_true(str_eq(author->name, STR("Author 1")));
    assert_true(author->plan_active);
    assert_int_equal(author->created_at, TEST_DAY + 1);
    assert_int_equal(author->books_count, 2);
    assert_int_equal(author->videos_count, 1);
    assert_int_equal(author->views_refreshed_at, TEST_DAY + 9);
    assert_true(str_eq(key->name, STR("Key 7")));
    assert_memory_equal(key->suffix, "abcd", KEY_SUFFIX_LEN);
    assert_int_equal(key->created_at, TEST_DAY + 7);
    assert_int_equal(key->last_used_at, TIME_NONE);
    assert_int_equal(key->author_row, author->row);
    return true;
}

static void reads_the_account_of_a_key(void **state)
{
    (void)state;
    int calls = 0;
    test_begin(&t);
    struct author author = add_author(&t, 1);
    struct api_key key = add_key(&t, &author, 7);
    add_book(&t, &author, 1, TEST_DAY);
    add_book(&t, &author, 2, TEST_DAY);
    add_video(&t, &author, 0, 1, TEST_DAY);
    add_video(&t, &author, 0, 2, TIME_NONE); /* not posted: not counted */
    assert_int_equal(store_touch_author(t.w, author.row, TEST_DAY + 9), OK);
    test_commit(&t);
    struct store_read read = temp_db_read(&t);
    assert_int_equal(store_read_account(&read, key.row, on_account, &calls), NEXT_MORE);
    assert_int_equal(read.err, OK);
    assert_int_equal(calls, 1);
    store_read_account(&read, key.row + 1, on_account, &calls);
    assert_int_equal(read.err, ERR_NOT_FOUND);
    assert_int_equal(calls, 1);
}

/* --- one video --- */

static bool on_whole_video(void *ctx, const struct video *v, const struct book_ref *book)
{
    const struct video *e = ctx;
    assert_int_equal(v->row, e->row);
    assert_int_equal(v->author_row, e->author_row);
    assert_int_equal(v->book_row, e->book_row);
    assert_true(str_eq(v->title, e->title));
    assert_null(v->thumbnail_url.p);
    assert_int_equal(v->posted_at, e->posted_at);
    assert_int_equal(v->views, 30000);
    assert_int_equal(v->baseline, 100);
    assert_int_equal(v->first_reading_at, TEST_DAY + 1);
    assert_int_equal(v->updated_at, TEST_DAY + 2);
    assert_int_equal(v->went_viral_at, TEST_DAY);
    assert_int_equal(v->views_when_viral, 30000);
    assert_int_equal(v->viral.threshold, 25000);
    assert_int_equal(v->viral.median, 5000);
    assert_int_equal(v->viral.compared, 9);
    assert_int_equal(v->post_count, 2);
    assert_int_equal(v->posts[0].platform, PLATFORM_TIKTOK);
    assert_true(str_eq(v->posts[0].post_id, STR("tt")));
    assert_null(v->posts[0].url.p);
    assert_int_equal(v->posts[1].counts[COUNT_SAVES], 4);
    assert_int_equal(v->posts[1].counts[COUNT_LIKES], COUNT_NONE);
    assert_int_equal(v->milestone_count, 2);
    assert_int_equal(v->milestones[1].value, 10000);
    assert_int_equal(v->milestones[1].reached_at, TEST_DAY + 2);
    assert_true(str_eq(book->title, STR("Book 1")));
    return true;
}

static struct video add_whole_video(const struct author *author)
{
    struct book book = add_book(&t, author, 1, TEST_DAY);
    struct video v = add_video(&t, author, book.row, 1, TEST_DAY);
    v.posts[1] = v.posts[0];
    v.posts[1].counts[COUNT_SAVES] = 4;
    v.posts[0].platform = PLATFORM_TIKTOK;
    v.posts[0].post_id = STR("tt");
    v.posts[0].url = str_make(NULL, 0);
    v.post_count = 2;
    v.views = v.views_when_viral = 30000;
    v.baseline = 100;
    v.first_reading_at = TEST_DAY + 1;
    v.updated_at = TEST_DAY + 2;
    v.went_viral_at = TEST_DAY;
    v.viral = (struct viral_comparison){.threshold = 25000, .median = 5000, .compared = 9};
    v.milestone_count = 2;
    v.milestones[0] = (struct milestone){1000, TEST_DAY + 1};
    v.milestones[1] = (struct milestone){10000, TEST_DAY + 2};
    assert_int_equal(store_save_counts(t.w, &v, true), OK);
    return v;
}

static void reads_a_video_only_for_its_author(void **state)
{
    (void)state;
    test_begin(&t);
    struct author author = add_author(&t, 1), other = add_author(&t, 2);
    struct video video = add_whole_video(&author);
    struct video hidden = add_video(&t, &author, 0, 2, TIME_NONE);
    test_commit(&t);
    struct store_read read = temp_db_read(&t);
    assert_int_equal(store_read_video(&read, author.row, &video.id, on_whole_video, &video), NEXT_MORE);
    assert_int_equal(read.err, OK);
    store_read_video(&read, other.row, &video.id, on_whole_video, &video);
    assert_int_equal(read.err, ERR_NOT_FOUND);
    store_read_video(&read, author.row, &hidden.id, on_whole_video, &video);
    assert_int_equal(read.err, ERR_NOT_FOUND);
    store_read_video(&read, author.row, &author.id, on_whole_video, &video);
    assert_int_equal(read.err, ERR_NOT_FOUND);
}

/* --- the connection --- */

static void change_is_reported_after_commits_only(void **state)
{
    (void)state;
    uint64_t seen = 0;
    assert_true(store_has_changed(t.r, &seen));
    assert_false(store_has_changed(t.r, &seen));
    test_begin(&t);
    add_author(&t, 1);
    assert_false(store_has_changed(t.r, &seen));
    test_commit(&t);
    assert_true(store_has_changed(t.r, &seen));
    assert_false(store_has_changed(t.r, &seen));
    test_begin(&t);
    add_author(&t, 2);
    store_rollback(t.w);
    assert_false(store_has_changed(t.r, &seen));
    /* The first commit after a complete checkpoint restarts the log. */
    assert_int_equal(store_checkpoint(t.w, CHECKPOINT_PASSIVE), OK);
    for (unsigned i = 3; i < 6; i++) {
        test_begin(&t);
        add_author(&t, i);
        test_commit(&t);
        assert_true(store_has_changed(t.r, &seen));
    }
}

/* The test sets feed_rev to -1. If feed_rev then has another value, the store has read the key again. */
static void cached_owner_is_read_again_only_after_a_commit(void **state)
{
    (void)state;
    uint8_t hash[KEY_HASH_LEN];
    struct key_owner owner = {.version = 0};
    struct store_read read = temp_db_read(&t);
    hash_of(7, hash);
    test_begin(&t);
    struct author author = add_author(&t, 1);
    struct api_key key = add_key(&t, &author, 7);
    test_commit(&t);
    assert_int_equal(store_resolve_key(&read, hash, &owner), NEXT_MORE);
    assert_int_equal(read.err, OK);
    assert_int_not_equal(owner.incarnation, 0);
    owner.feed_rev = -1;
    assert_int_equal(store_resolve_key(&read, hash, &owner), NEXT_MORE);
    assert_int_equal(owner.feed_rev, -1);
    test_begin(&t);
    assert_int_equal(store_revoke_key(t.w, key.row, TEST_DAY, &test_actor), OK);
    test_commit(&t);
    assert_int_equal(store_resolve_key(&read, hash, &owner), NEXT_MORE);
    assert_int_equal(owner.revoked_at, TEST_DAY);
    assert_int_equal(owner.feed_rev, 2); /* the revocation increments it, which wakes long polls */
    /* A failed call leaves version 0, so the next call reads the key again. */
    hash_of(8, hash);
    owner.version = 0;
    assert_int_equal(store_resolve_key(&read, hash, &owner), NEXT_MORE);
    assert_int_equal(read.err, ERR_NOT_FOUND);
    assert_int_equal(owner.version, 0);
}

static void read_sees_only_committed_rows(void **state)
{
    (void)state;
    uint8_t hash[KEY_HASH_LEN];
    struct key_owner owner = {.version = 0};
    struct store_read read = temp_db_read(&t);
    hash_of(7, hash);
    test_begin(&t);
    struct author author = add_author(&t, 1);
    add_key(&t, &author, 7);
    store_resolve_key(&read, hash, &owner);
    assert_int_equal(read.err, ERR_NOT_FOUND);
    test_commit(&t);
    store_resolve_key(&read, hash, &owner);
    assert_int_equal(read.err, OK);
}

static void databases_have_different_ids(void **state)
{
    (void)state;
    struct temp_db two;
    temp_db_init(&two);
    assert_memory_equal(store_id(t.r), store_id(t.w), 16);
    assert_memory_not_equal(store_id(t.r), store_id(two.r), 16);
    temp_db_fini(&two);
}

/* --- one snapshot for each read --- */

static void rename_author(struct author *author, const char *name)
{
    author->name = str_from_cstr(name);
    test_begin(&t);
    assert_int_equal(store_update_author(t.w, author, TEST_DAY, &test_actor), OK);
    test_commit(&t);
}

static bool rename_during_read(void *author, const struct book *book, struct str author_name)
{
    (void)book, (void)author_name;
    rename_author(author, "Renamed during the read");
    return true;
}

static bool ignore_book(void *unused, const struct book *book, struct str author_name)
{
    (void)unused, (void)book, (void)author_name;
    return true;
}

static int64_t rev_of(const struct author *author, store_book_fn fn, void *ctx)
{
    struct store_read read = temp_db_read(&t);
    int64_t rev = 0;
    assert_int_equal(store_list_books(&read, author->row, NULL, 10, fn, ctx, &rev), NEXT_MORE);
    assert_int_equal(read.err, OK);
    return rev;
}

static void books_and_revision_come_from_one_snapshot(void **state)
{
    (void)state;
    test_begin(&t);
    struct author author = add_author(&t, 1);
    (void)add_book(&t, &author, 1, TEST_DAY);
    test_commit(&t);
    const int64_t rev = rev_of(&author, ignore_book, NULL);
    assert_int_equal(rev_of(&author, rename_during_read, &author), rev);
    assert_int_equal(rev_of(&author, ignore_book, NULL), rev + 1);
}

static bool add_event_during_read(void *new_video, const struct event *event, const struct video_ref *video,
                                  const struct book_ref *book)
{
    (void)event, (void)video, (void)book;
    test_begin(&t);
    (void)add_event(&t, new_video, EVENT_MILESTONE_REACHED, 10000, TEST_DAY);
    test_commit(&t);
    return true;
}

static void events_and_newest_id_come_from_one_snapshot(void **state)
{
    (void)state;
    test_begin(&t);
    struct author author = add_author(&t, 1);
    struct video video = add_video(&t, &author, 0, 1, TEST_DAY);
    struct event event = add_event(&t, &video, EVENT_MILESTONE_REACHED, 1000, TEST_DAY);
    test_commit(&t);
    struct store_read read = temp_db_read(&t);
    const struct events_query query = {
        .author_row = author.row, .occurred_after = INT64_MIN, .limit = 10, .scan_limit = 10};
    struct events_progress progress;
    store_list_events(&read, &query, add_event_during_read, &video, &progress);
    assert_int_equal(read.err, OK);
    assert_int_equal(progress.scanned_to, event.id);
    assert_int_equal(progress.author_last_event_id, event.id);
}

/* An open snapshot would keep the log from being restarted. */
static void read_leaves_no_snapshot_open(void **state)
{
    (void)state;
    test_begin(&t);
    struct author author = add_author(&t, 1);
    (void)add_book(&t, &author, 1, TEST_DAY);
    test_commit(&t);
    struct store *impatient = NULL;
    struct error error = {0};
    const struct store_options options = {.path = t.path, .mode = STORE_WRITE, .busy_timeout_ms = 50};
    assert_int_equal(store_open(&impatient, &options, &error), OK);
    (void)rev_of(&author, rename_during_read, &author);
    assert_int_equal(store_checkpoint(impatient, CHECKPOINT_RESTART), OK);
    store_close(impatient);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(call_of_a_search_ends_when_its_budget_of_title_bytes_is_used_up,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(key_resolves_to_its_row_and_author_and_unknown_key_is_not_found,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(key_resolves_to_current_plan_revocation_last_use_and_newest_event,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_the_account_of_a_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_a_video_only_for_its_author, set_up, tear_down),
        cmocka_unit_test_setup_teardown(change_is_reported_after_commits_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cached_owner_is_read_again_only_after_a_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(read_sees_only_committed_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(books_and_revision_come_from_one_snapshot, set_up, tear_down),
        cmocka_unit_test_setup_teardown(events_and_newest_id_come_from_one_snapshot, set_up, tear_down),
        cmocka_unit_test_setup_teardown(read_leaves_no_snapshot_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(databases_have_different_ids, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
