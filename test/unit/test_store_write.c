/* Tests the functions of write transactions, the errors that they return, and the counters that they
 * maintain. */
#include "lib/temp_db.h"

#include "base/clock.h"
#include "store/erase.h"
#include "store/platform_posts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

static struct temp_db t;

static int set_up(void **state)
{
    (void)state;
    return temp_db_init_in_transaction(&t);
}

static int tear_down(void **state)
{
    (void)state;
    return temp_db_fini_in_transaction(&t);
}

/* --- authors --- */

static void finds_and_updates_authors(void **state)
{
    (void)state;
    struct author a = add_author(&t, 1), b;
    assert_int_equal(a.rev, 1);
    assert_int_equal(store_find_author(t.w, &t.arena, &a.id, &b), OK);
    assert_int_equal(b.row, a.row);
    assert_int_equal(b.rev, 1);
    assert_true(str_eq(b.name, a.name));
    assert_int_equal(b.views_refreshed_at, TIME_NONE);
    b.name = STR("Anaïs \xf0\x9f\x93\x9a");
    b.plan_active = false;
    assert_int_equal(store_update_author(t.w, &b, TEST_DAY, &test_actor), OK);
    assert_int_equal(store_get_author(t.w, &t.arena, a.row, &a), OK);
    assert_true(str_eq(a.name, b.name));
    assert_false(a.plan_active);
    assert_int_equal(a.rev, 2);
    const struct uuid unknown = test_uuid('a', 99);
    assert_int_equal(store_find_author(t.w, &t.arena, &unknown, &b), ERR_NOT_FOUND);
    assert_int_equal(store_get_author(t.w, &t.arena, 99, &b), ERR_NOT_FOUND);
    b.row = 99;
    assert_int_equal(store_update_author(t.w, &b, TEST_DAY, &test_actor), ERR_NOT_FOUND);
    assert_int_equal(store_insert_author(t.w, &a), ERR_EXISTS);
}

static void touching_an_author_never_lowers_refreshed_at(void **state)
{
    (void)state;
    struct author a = add_author(&t, 1);
    const int64_t at[] = {TIME_NONE, TEST_DAY, TEST_DAY - 1, TIME_NONE, TEST_DAY + 1};
    const int64_t expected[] = {TIME_NONE, TEST_DAY, TEST_DAY, TEST_DAY, TEST_DAY + 1};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(store_touch_author(t.w, a.row, at[i]), OK);
        assert_int_equal(store_get_author(t.w, &t.arena, a.row, &a), OK);
        assert_int_equal(a.views_refreshed_at, expected[i]);
        assert_int_equal(a.rev, 2 + (int)i);
    }
    assert_int_equal(store_touch_author(t.w, 99, TEST_DAY), ERR_NOT_FOUND);
}

struct names {
    int count, stop_after;
    int64_t rows[10];
};

static bool on_author(void *ctx, const struct author *author)
{
    struct names *n = ctx;
    n->rows[n->count++] = author->row;
    return n->count != n->stop_after;
}

static void lists_authors_by_creation_time(void **state)
{
    (void)state;
    struct names all = {0}, two = {.stop_after = 2};
    struct author c = add_author(&t, 3), a = add_author(&t, 1), b = add_author(&t, 2);
    assert_int_equal(store_list_authors(t.w, on_author, &all), OK);
    assert_int_equal(all.count, 3);
    assert_int_equal(all.rows[0], a.row);
    assert_int_equal(all.rows[1], b.row);
    assert_int_equal(all.rows[2], c.row);
    assert_int_equal(store_list_authors(t.w, on_author, &two), OK);
    assert_int_equal(two.count, 2);
}

/* --- keys --- */

static void finds_keys_by_id_and_hash(void **state)
{
    (void)state;
    uint8_t hash[KEY_HASH_LEN];
    struct author author = add_author(&t, 1);
    struct api_key k = add_key(&t, &author, 1), found;
    assert_int_equal(store_find_key_by_id(t.w, &t.arena, &k.id, &found), OK);
    assert_true(str_eq(found.name, k.name));
    assert_int_equal(found.revoked_at, TIME_NONE);
    assert_int_equal(store_find_key_by_id(t.w, &t.arena, &author.id, &found), ERR_NOT_FOUND);
    k.id = test_uuid('k', 2);
    hash_of(1, hash);
    assert_int_equal(store_insert_key(t.w, &k, hash, &test_actor), ERR_EXISTS); /* the same hash */
}

static void rejects_a_key_without_author(void **state)
{
    (void)state;
    uint8_t hash[KEY_HASH_LEN];
    struct api_key k = {
        .author_row = 99, .id = test_uuid('k', 1), .name = STR("x"), .suffix = {'a', 'b', 'c', 'd'}};
    hash_of(2, hash);
    assert_int_equal(store_insert_key(t.w, &k, hash, &test_actor), ERR_INVALID);
}

static void second_revocation_keeps_the_first_time_and_last_use_never_decreases(void **state)
{
    (void)state;
    struct author author = add_author(&t, 1);
    struct api_key k = add_key(&t, &author, 1);
    assert_int_equal(store_revoke_key(t.w, k.row, TEST_DAY + 5, &test_actor), OK);
    assert_int_equal(store_revoke_key(t.w, k.row, TEST_DAY + 9, &test_actor), OK);
    assert_int_equal(store_set_key_used(t.w, k.row, TEST_DAY + 7, STR("192.0.2.7")), OK);
    assert_int_equal(store_set_key_used(t.w, k.row, TEST_DAY + 6, STR("192.0.2.7")), OK);
    assert_int_equal(store_set_key_used(t.w, k.row, TEST_DAY + 7, STR("192.0.2.7")), OK);
    assert_int_equal(store_find_key_by_id(t.w, &t.arena, &k.id, &k), OK);
    assert_int_equal(k.revoked_at, TEST_DAY + 5);
    assert_int_equal(k.last_used_at, TEST_DAY + 7);
    assert_int_equal(store_get_author(t.w, &t.arena, author.row, &author), OK);
    assert_int_equal(author.rev, 1); /* the use of a key does not change the revision */
    assert_int_equal(store_revoke_key(t.w, 99, TEST_DAY, &test_actor), ERR_NOT_FOUND);
    assert_int_equal(store_set_key_used(t.w, 99, TEST_DAY, STR("192.0.2.7")), OK);
}

static bool on_key(void *ctx, const struct api_key *key)
{
    struct names *n = ctx;
    n->rows[n->count++] = key->row;
    return n->count != n->stop_after;
}

static void lists_keys_by_creation_time(void **state)
{
    (void)state;
    struct names all = {0};
    struct author author = add_author(&t, 1), other = add_author(&t, 2);
    struct api_key b = add_key(&t, &author, 2), a = add_key(&t, &author, 1);
    add_key(&t, &other, 3);
    assert_int_equal(store_list_keys(t.w, author.row, on_key, &all), OK);
    assert_int_equal(all.count, 2);
    assert_int_equal(all.rows[0], a.row);
    assert_int_equal(all.rows[1], b.row);
}

/* --- books --- */

static void finds_and_updates_books(void **state)
{
    (void)state;
    struct author author = add_author(&t, 1);
    struct book b = add_book(&t, &author, 1, TEST_DAY), found;
    const struct book old = b;
    b.title = STR("Other");
    b.subtitle = STR("Sub");
    b.created_at = TEST_DAY - 1;
    assert_int_equal(store_update_book(t.w, &old, &b), OK);
    assert_int_equal(store_find_book(t.w, &t.arena, &b.id, &found), OK);
    assert_true(str_eq(found.title, b.title));
    assert_true(str_eq(found.subtitle, b.subtitle));
    assert_int_equal(found.created_at, b.created_at);
    assert_int_equal(found.author_row, author.row);
    assert_int_equal(store_insert_book(t.w, &b), ERR_EXISTS);
    b.row = 99;
    assert_int_equal(store_update_book(t.w, &old, &b), ERR_NOT_FOUND);
    assert_int_equal(store_find_book(t.w, &t.arena, &author.id, &found), ERR_NOT_FOUND);
}

/* --- videos and posts --- */

static void finds_and_updates_videos(void **state)
{
    (void)state;
    struct author author = add_author(&t, 1);
    struct book book = add_book(&t, &author, 1, TEST_DAY);
    struct video v = add_video(&t, &author, 0, 1, TIME_NONE), found;
    const struct video old = v;
    v.book_row = book.row;
    v.title = str_make(NULL, 0);
    v.thumbnail_url = STR("https://example.org/t.jpg");
    v.posted_at = TEST_DAY;
    v.post_count = 1;
    v.posts[0] = (struct post){.platform = PLATFORM_FACEBOOK, .post_id = STR("f"), .posted_at = TEST_DAY};
    assert_int_equal(store_update_video(t.w, &old, &v), OK);
    assert_int_equal(store_find_video(t.w, &t.arena, &v.id, &found), OK);
    assert_null(found.title.p);
    assert_true(str_eq(found.thumbnail_url, v.thumbnail_url));
    assert_int_equal(found.book_row, book.row);
    assert_int_equal(found.posted_at, TEST_DAY);
    assert_int_equal(found.post_count, 1);
    assert_true(str_eq(found.posts[0].post_id, STR("f")));
    assert_int_equal(found.viral.threshold, 10000);
    assert_int_equal(found.viral.median, COUNT_NONE);
    assert_int_equal(found.first_reading_at, TIME_NONE);
    assert_int_equal(store_get_video(t.w, &t.arena, v.row, &found), OK);
    assert_int_equal(found.row, v.row);
    assert_int_equal(store_insert_video(t.w, &v), ERR_EXISTS);
    v.row = 99;
    assert_int_equal(store_update_video(t.w, &old, &v), ERR_NOT_FOUND);
    assert_int_equal(store_save_counts(t.w, &v, false), ERR_NOT_FOUND);
    assert_int_equal(store_get_video(t.w, &t.arena, 99, &found), ERR_NOT_FOUND);
    assert_int_equal(store_find_video(t.w, &t.arena, &author.id, &found), ERR_NOT_FOUND);
}

static void videos_of_an_author_have_consecutive_rows(void **state)
{
    (void)state;
    enum { AUTHORS = 3, VIDEOS = 20 };
    struct author authors[AUTHORS];
    int64_t last[AUTHORS] = {0};
    for (uint64_t i = 0; i < AUTHORS; i++)
        authors[i] = add_author(&t, i + 1);
    for (uint64_t n = 0; n < VIDEOS * AUTHORS; n++) {
        const uint64_t i = n % AUTHORS;
        const struct video v = add_video(&t, &authors[i], 0, n, TEST_DAY);
        assert_true(last[i] == 0 || v.row == last[i] + 1);
        last[i] = v.row;
    }
}

/* Returned texts are in the arena and do not depend on the connection. */
static void texts_of_a_found_video_are_copied(void **state)
{
    (void)state;
    struct author author = add_author(&t, 1);
    struct video v = add_video(&t, &author, 0, 1, TEST_DAY), other = add_video(&t, &author, 0, 2, TEST_DAY),
                 found;
    assert_int_equal(store_get_video(t.w, &t.arena, v.row, &found), OK);
    for (int i = 0; i < 100; i++) {
        struct video again;
        assert_int_equal(store_get_video(t.w, &t.arena, other.row, &again), OK);
        assert_int_equal(store_save_counts(t.w, &again, false), OK);
    }
    assert_true(str_eq(found.title, v.title));
    assert_true(str_eq(found.posts[0].post_id, v.posts[0].post_id));
    assert_true(str_eq(found.posts[0].url, v.posts[0].url));
}

static void saving_counts_does_not_change_imported_columns(void **state)
{
    (void)state;
    struct author author = add_author(&t, 1);
    struct video v = add_video(&t, &author, 0, 1, TEST_DAY), found;
    struct video changed = v;
    changed.title = STR("not this");
    changed.posted_at = 5;
    changed.views = COUNT_MAX;
    changed.first_reading_at = changed.updated_at = TEST_DAY + 1;
    changed.went_viral_at = TEST_DAY;
    changed.views_when_viral = 7;
    changed.baseline_pending = true;
    changed.milestones[0] = (struct milestone){1000, 1};
    changed.milestone_count = 1;
    assert_int_equal(store_save_counts(t.w, &changed, false), OK);
    assert_int_equal(store_get_video(t.w, &t.arena, v.row, &found), OK);
    assert_true(str_eq(found.title, v.title));
    assert_int_equal(found.posted_at, v.posted_at);
    assert_int_equal(found.views, COUNT_MAX);
    assert_int_equal(found.went_viral_at, TIME_NONE); /* set only if the argument `went_viral` is true */
    assert_true(found.baseline_pending);
    assert_int_equal(found.milestone_count, 1);
    changed.baseline_pending = false;
    assert_int_equal(store_save_counts(t.w, &changed, true), OK);
    assert_int_equal(store_get_video(t.w, &t.arena, v.row, &found), OK);
    assert_int_equal(found.went_viral_at, TEST_DAY);
    assert_int_equal(found.views_when_viral, 7);
    assert_false(found.baseline_pending);
}

static void post_id_belongs_to_one_video_per_platform(void **state)
{
    (void)state;
    struct author author = add_author(&t, 1);
    struct video v = add_video(&t, &author, 0, 1, TEST_DAY), w = add_video(&t, &author, 0, 2, TEST_DAY);
    struct str id = v.posts[0].post_id;
    struct post_owner owner;
    assert_int_equal(store_find_post(t.w, PLATFORM_YOUTUBE, id, &owner), OK);
    assert_int_equal(owner.video_row, v.row);
    assert_int_equal(owner.author_row, author.row);
    assert_int_equal(store_find_post(t.w, PLATFORM_TIKTOK, id, &owner), ERR_NOT_FOUND);
    assert_int_equal(store_find_post(t.w, PLATFORM_YOUTUBE, STR("YT-1"), &owner), ERR_NOT_FOUND);
    assert_int_equal(store_put_post_key(t.w, PLATFORM_YOUTUBE, id, v.row), OK); /* again */
    assert_int_equal(store_put_post_key(t.w, PLATFORM_YOUTUBE, id, w.row), ERR_EXISTS);
    assert_int_equal(store_put_post_key(t.w, PLATFORM_TIKTOK, id, w.row), OK);
    assert_int_equal(store_delete_post_key(t.w, PLATFORM_YOUTUBE, id), OK);
    assert_int_equal(store_find_post(t.w, PLATFORM_YOUTUBE, id, &owner), ERR_NOT_FOUND);
    assert_int_equal(store_delete_post_key(t.w, PLATFORM_YOUTUBE, id), ERR_NOT_FOUND);
    assert_int_equal(store_put_post_key(t.w, PLATFORM_YOUTUBE, id, w.row), OK);
}

/* Such as by a refresh run that has read the post before an import corrects its id. The row would be left
 * when the author is erased. */
static void nothing_is_stored_about_a_post_that_no_video_has(void **state)
{
    (void)state;
    struct author author = add_author(&t, 1);
    struct video v = add_video(&t, &author, 0, 1, TEST_DAY);
    struct platform_post found, post = {.platform = PLATFORM_YOUTUBE,
                                        .post_id = v.posts[0].post_id,
                                        .misses = 1,
                                        .missed_since = TIME_NONE,
                                        .requested_at = TIME_NONE};
    assert_int_equal(store_put_platform_post(t.w, &post), OK);
    post.misses = 2;
    assert_int_equal(store_put_platform_post(t.w, &post), OK);
    assert_int_equal(store_get_platform_post(t.w, &t.arena, post.platform, post.post_id, &found), OK);
    assert_int_equal(found.misses, 2);
    assert_int_equal(store_delete_post_key(t.w, post.platform, post.post_id), OK);
    assert_int_equal(store_put_platform_post(t.w, &post), OK);
    assert_int_equal(store_get_platform_post(t.w, &t.arena, post.platform, post.post_id, &found),
                     ERR_NOT_FOUND);
}

/* --- comparables --- */

static void comparables_are_the_newest_videos_with_a_reading(void **state)
{
    (void)state;
    struct comparable out[10];
    struct video v[8];
    size_t count;
    struct author author = add_author(&t, 1), other = add_author(&t, 2);
    for (int i = 0; i < 8; i++) {
        v[i] = add_video(&t, i == 6 ? &other : &author, 0, (uint64_t)i, TEST_DAY + i / 2);
        if (i != 3)
            add_reading(&t, &v[i], TEST_DAY + 10, 100 + i);
    }
    add_video(&t, &author, 0, 20, TIME_NONE);
    assert_int_equal(store_list_comparables(t.w, author.row, TEST_DAY + 3, 10, out, &count), OK);
    const int expected[] = {7, 5, 4, 2, 1, 0}; /* video 6 belongs to another author; video 3 has no reading */
    assert_int_equal(count, 6);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(out[i].video_row, v[expected[i]].row);
        assert_int_equal(out[i].views, 100 + expected[i]);
    }
    assert_int_equal(store_list_comparables(t.w, author.row, TEST_DAY + 2, 3, out, &count), OK);
    assert_int_equal(count, 3);
    assert_int_equal(out[0].video_row, v[5].row);
    assert_int_equal(out[2].video_row, v[2].row);
    assert_int_equal(store_list_comparables(t.w, author.row, TEST_DAY - 1, 3, out, &count), OK);
    assert_int_equal(count, 0);
}

static void lists_videos_with_a_pending_baseline(void **state)
{
    (void)state;
    struct pending_video out[10];
    size_t count;
    struct author b = add_author(&t, 2), a = add_author(&t, 1);
    for (int i = 0; i < 6; i++) {
        struct video v = add_video(&t, i % 2 ? &a : &b, 0, (uint64_t)i, TEST_DAY);
        v.baseline_pending = i != 2;
        assert_int_equal(store_save_counts(t.w, &v, false), OK);
    }
    assert_int_equal(store_list_pending_videos(t.w, out, 10, &count), OK);
    assert_int_equal(count, 5);
    for (size_t i = 1; i < count; i++)
        assert_true(out[i - 1].author_row <= out[i].author_row);
    assert_int_equal(store_list_pending_videos(t.w, out, 2, &count), OK);
    assert_int_equal(count, 2);
    for (;;) {
        struct video v;
        assert_int_equal(store_list_pending_videos(t.w, out, 1, &count), OK);
        if (!count)
            break;
        assert_int_equal(store_get_video(t.w, &t.arena, out[0].video_row, &v), OK);
        v.baseline_pending = false;
        assert_int_equal(store_save_counts(t.w, &v, false), OK);
    }
}

/* --- state that only SQL can query --- */

static int64_t query_i64(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_open_v2(t.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    int64_t v = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return v;
}

static void gains_of_a_day_add_up(void **state)
{
    (void)state;
    struct author author = add_author(&t, 1);
    struct video v = add_video(&t, &author, 0, 1, TEST_DAY), w = add_video(&t, &author, 0, 2, TEST_DAY);
    const int gains[][2] = {{10, 5}, {10, 7}, {10, 0}, {12, 1}, {12, 2}, {15, 100}, {16, 0}};
    for (size_t i = 0; i < sizeof gains / sizeof gains[0]; i++) {
        v.views += gains[i][1];
        w.views++;
        assert_int_equal(store_save_gain(t.w, &t.arena, &v, false, gains[i][0], gains[i][1]), OK);
        assert_int_equal(store_save_gain(t.w, &t.arena, &w, false, gains[i][0], 1), OK);
    }
    v.row = 99; /* no such video */
    assert_int_equal(store_save_gain(t.w, &t.arena, &v, false, 17, 1), ERR_INVALID);
    test_commit(&t);
    /* The low bits of a video's row id are its number among the videos of its author. */
    assert_int_equal(query_i64("SELECT count(*) FROM daily WHERE video_id & 255 = 1"), 3);
    assert_int_equal(query_i64("SELECT gained FROM daily WHERE video_id & 255 = 1 AND day = 10"), 12);
    assert_int_equal(query_i64("SELECT gained_total FROM daily WHERE video_id & 255 = 1 AND day = 10"), 12);
    assert_int_equal(query_i64("SELECT gained_total FROM daily WHERE video_id & 255 = 1 AND day = 12"), 15);
    assert_int_equal(query_i64("SELECT gained_total FROM daily WHERE video_id & 255 = 1 AND day = 15"), 115);
    assert_int_equal(query_i64("SELECT gained_total FROM daily WHERE video_id & 255 = 2 AND day = 16"), 7);
}

static void random_changes(void)
{
    struct author authors[2] = {add_author(&t, 1), add_author(&t, 2)};
    struct book books[4];
    struct video videos[30];
    unsigned int seed = 7;
    for (int i = 0; i < 4; i++)
        books[i] = add_book(&t, &authors[i % 2], (uint64_t)i, TEST_DAY);
    for (int i = 0; i < 30; i++)
        videos[i] = add_video(&t, &authors[i % 2], rand_r(&seed) % 2 ? books[i % 4].row : 0, (uint64_t)i,
                              rand_r(&seed) % 2 ? TEST_DAY : TIME_NONE);
    for (int i = 0; i < 500; i++) {
        int n = rand_r(&seed) % 30, book = n % 2 + rand_r(&seed) % 2 * 2;
        struct video *v = &videos[n];
        const struct video old = *v;
        if (rand_r(&seed) % 2)
            v->book_row = rand_r(&seed) % 3 ? books[book].row : 0;
        if (rand_r(&seed) % 2)
            v->posted_at = rand_r(&seed) % 3 ? TEST_DAY + i : TIME_NONE;
        assert_int_equal(store_update_video(t.w, &old, v), OK);
    }
}

static void assert_counters_are_exact(void)
{
    assert_int_equal(
        query_i64("SELECT count(*) FROM books b WHERE videos_posted <> (SELECT count(*) FROM videos v "
                  "WHERE v.book_id = b.id AND v.posted_at IS NOT NULL)"),
        0);
    assert_int_equal(
        query_i64("SELECT count(*) FROM authors a WHERE videos_count <> (SELECT count(*) FROM videos v "
                  "WHERE v.author_id = a.id AND v.posted_at IS NOT NULL)"),
        0);
    assert_int_equal(query_i64("SELECT count(*) FROM authors a WHERE books_count <> "
                               "(SELECT count(*) FROM books b WHERE b.author_id = a.id)"),
                     0);
}

static void removing_videos_and_a_book_updates_the_counters(void **state)
{
    (void)state;
    struct author author = add_author(&t, 1);
    struct book kept = add_book(&t, &author, 1, TEST_DAY), removed = add_book(&t, &author, 2, TEST_DAY);
    for (uint64_t n = 0; n < 8; n++) {
        const struct video video =
            add_video(&t, &author, n % 2 ? kept.row : removed.row, n, n % 3 ? TEST_DAY : TIME_NONE);
        if (n < 4)
            assert_int_equal(store_remove_video(t.w, &video), OK);
    }
    assert_int_equal(store_remove_book(t.w, &removed), OK);
    test_commit(&t);
    assert_int_equal(query_i64("SELECT books_count * 100 + videos_count FROM authors"), 103);
    assert_int_equal(query_i64("SELECT videos_posted FROM books"), 2);
    assert_counters_are_exact();
}

static void random_changes_keep_the_counters_exact(void **state)
{
    (void)state;
    random_changes();
    test_commit(&t);
    assert_int_equal(query_i64("SELECT sum(videos_posted) > 0 FROM books"), 1);
    assert_counters_are_exact();
    assert_int_equal(query_i64("SELECT (SELECT integrity_check FROM pragma_integrity_check) = 'ok'"), 1);
    assert_int_equal(query_i64("SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

static void rollback_leaves_no_rows(void **state)
{
    (void)state;
    struct author author = add_author(&t, 1), found;
    store_rollback(t.w);
    store_rollback(t.w); /* no effect */
    assert_int_equal(store_find_author(t.w, &t.arena, &author.id, &found), ERR_NOT_FOUND);
    test_begin(&t);
    assert_int_equal(store_find_author(t.w, &t.arena, &author.id, &found), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_and_updates_authors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(touching_an_author_never_lowers_refreshed_at, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_authors_by_creation_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_keys_by_id_and_hash, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rejects_a_key_without_author, set_up, tear_down),
        cmocka_unit_test_setup_teardown(second_revocation_keeps_the_first_time_and_last_use_never_decreases,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_keys_by_creation_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_and_updates_books, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_and_updates_videos, set_up, tear_down),
        cmocka_unit_test_setup_teardown(videos_of_an_author_have_consecutive_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_of_a_found_video_are_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(saving_counts_does_not_change_imported_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(post_id_belongs_to_one_video_per_platform, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_stored_about_a_post_that_no_video_has, set_up, tear_down),
        cmocka_unit_test_setup_teardown(comparables_are_the_newest_videos_with_a_reading, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_videos_with_a_pending_baseline, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gains_of_a_day_add_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_changes_keep_the_counters_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(removing_videos_and_a_book_updates_the_counters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rollback_leaves_no_rows, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
