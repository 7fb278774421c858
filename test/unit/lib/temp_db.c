/* A temporary database. */
#include "lib/temp_db.h"

#include "base/clock.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const struct actor test_actor = {.kind = ACTOR_OPERATOR, .name = "tester"};

/* Returns a directory in memory if possible, because tests sync files thousands of times. */
static const char *base_directory(void)
{
    const char *base = getenv("TMPDIR");
    if (base && strlen(base) < 32)
        return base;
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

void temp_dir_init(struct temp_db *t)
{
    memset(t, 0, sizeof *t);
    (void)snprintf(t->dir, sizeof t->dir, "%s/vt-store-XXXXXX", base_directory());
    assert_non_null(mkdtemp(t->dir));
    (void)snprintf(t->path, sizeof t->path, "%s/t.db", t->dir);
    arena_init(&t->arena, 16384);
}

void temp_db_create(struct temp_db *t)
{
    int applied;
    struct error error = {0};
    if (store_create(t->path, &applied, &error))
        fail_msg("migrate: %s", error.text);
    t->w = temp_db_open(t, STORE_WRITE);
    t->r = temp_db_open(t, STORE_READ);
}

void temp_db_init(struct temp_db *t)
{
    temp_dir_init(t);
    temp_db_create(t);
}

struct store *temp_db_open(const struct temp_db *t, enum store_mode mode)
{
    struct store *s = NULL;
    struct error error = {0};
    if (store_open(&s, &(struct store_options){.path = t->path, .mode = mode, .busy_timeout_ms = 5000},
                   &error))
        fail_msg("open: %s", error.text);
    return s;
}

struct store_read temp_db_read(const struct temp_db *t)
{
    return (struct store_read){.store = t->r, .err = ERR_INTERNAL};
}

static void remove_all(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        char path[512];
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        (void)remove(path);
    }
    closedir(d);
    (void)rmdir(dir);
}

void temp_db_fini(struct temp_db *t)
{
    if (t->r)
        store_close(t->r);
    if (t->w)
        store_close(t->w);
    arena_fini(&t->arena);
    remove_all(t->dir);
}

struct uuid test_uuid(uint8_t kind, uint64_t n)
{
    struct uuid u = {{kind}};
    for (int i = 0; i < 8; i++)
        u.b[15 - i] = (uint8_t)(n >> 8 * i);
    return u;
}

void test_begin(struct temp_db *t)
{
    assert_int_equal(store_begin(t->w), OK);
}

void test_commit(struct temp_db *t)
{
    assert_int_equal(store_commit(t->w), OK);
}

struct author add_author(struct temp_db *t, uint64_t n)
{
    struct author a = {
        .id = test_uuid('a', n),
        .name = arena_printf(&t->arena, "Author %llu", (unsigned long long)n),
        .plan_active = true,
        .created_at = TEST_DAY + (int64_t)n,
    };
    assert_int_equal(store_insert_author(t->w, &a), OK);
    return a;
}

struct book add_book(struct temp_db *t, const struct author *author, uint64_t n, int64_t created_at)
{
    struct book b = {
        .author_row = author->row,
        .id = test_uuid('b', n),
        .title = arena_printf(&t->arena, "Book %llu", (unsigned long long)n),
        .created_at = created_at,
    };
    assert_int_equal(store_insert_book(t->w, &b), OK);
    return b;
}

struct video add_video(struct temp_db *t, const struct author *author, int64_t book_row, uint64_t n,
                       int64_t posted_at)
{
    struct video v = {
        .author_row = author->row,
        .book_row = book_row,
        .id = test_uuid('v', n),
        .title = arena_printf(&t->arena, "Video %llu", (unsigned long long)n),
        .posted_at = posted_at,
        .first_reading_at = TIME_NONE,
        .updated_at = TIME_NONE,
        .went_viral_at = TIME_NONE,
        .viral = {.threshold = 10000, .median = COUNT_NONE},
    };
    if (posted_at != TIME_NONE) {
        v.post_count = 1;
        v.posts[0] = (struct post){
            .platform = PLATFORM_YOUTUBE,
            .post_id = arena_printf(&t->arena, "yt-%llu", (unsigned long long)n),
            .url = arena_printf(&t->arena, "https://example.org/watch/%llu", (unsigned long long)n),
            .posted_at = posted_at,
            .updated_at = TIME_NONE,
            .counts = {COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE},
        };
    }
    assert_int_equal(store_insert_video(t->w, &v), OK);
    if (v.post_count)
        assert_int_equal(store_put_post_key(t->w, PLATFORM_YOUTUBE, v.posts[0].post_id, v.row), OK);
    return v;
}

void hash_of(uint64_t n, uint8_t out[KEY_HASH_LEN])
{
    memset(out, 0, KEY_HASH_LEN);
    memcpy(out, &n, sizeof n);
    out[31] = 'h';
}

struct api_key add_key(struct temp_db *t, const struct author *author, uint64_t n)
{
    uint8_t hash[KEY_HASH_LEN];
    struct api_key k = {
        .author_row = author->row,
        .id = test_uuid('k', n),
        .name = arena_printf(&t->arena, "Key %llu", (unsigned long long)n),
        .suffix = {'a', 'b', 'c', 'd'},
        .created_at = TEST_DAY + (int64_t)n,
    };
    hash_of(n, hash);
    assert_int_equal(store_insert_key(t->w, &k, hash, &test_actor), OK);
    return k;
}

void add_reading(struct temp_db *t, struct video *video, int64_t at, int64_t views)
{
    int64_t gained = views > video->views ? views - video->views : 0;
    video->views += gained;
    video->posts[0].counts[COUNT_VIEWS] = video->views;
    video->posts[0].updated_at = video->updated_at = at;
    if (video->first_reading_at == TIME_NONE)
        video->first_reading_at = at;
    assert_int_equal(store_save_gain(t->w, &t->arena, video, false, date_of(at), gained), OK);
}

struct event add_event(struct temp_db *t, const struct video *video, enum event_type type, int64_t value,
                       int64_t now)
{
    struct event e = {
        .type = type,
        .occurred_at = now,
        .value = value,
        .threshold = 10000,
        .median = COUNT_NONE,
        .author_row = video->author_row,
        .video_row = video->row,
    };
    assert_int_equal(store_insert_event(t->w, &e, now), OK);
    return e;
}

int temp_db_init_in_transaction(struct temp_db *t)
{
    temp_db_init(t);
    test_begin(t);
    return 0;
}

int temp_db_fini_in_transaction(struct temp_db *t)
{
    store_rollback(t->w);
    temp_db_fini(t);
    return 0;
}
