/* A database of the test's own in a directory of its own, and short ways to fill it. Every helper that can
 * fail fails the test. */
#ifndef VT_TEST_TEMP_DB_H
#define VT_TEST_TEMP_DB_H

#include "base/arena.h"
#include "store/model.h"
#include "store/read.h"
#include "store/store.h"
#include "store/write.h"

struct temp_db {
    char dir[64];
    char path[96];
    struct store *w; /* STORE_WRITE */
    struct store *r; /* STORE_READ */
    struct arena arena;
};

/* A directory with nothing in it; path names a file that does not exist. */
void temp_dir_init(struct temp_db *t);
/* The same with the migrated database open twice. */
void temp_db_init(struct temp_db *t);
/* Closes what is open and removes all. */
void temp_db_fini(struct temp_db *t);

struct store *temp_db_open(const struct temp_db *t, enum store_mode mode);
struct store_read temp_db_read(const struct temp_db *t);

/* An id that says what it is: `kind` in the first byte, `n` in the last eight, big-endian. */
struct uuid test_uuid(uint8_t kind, uint64_t n);

/* The day that tests begin at: 2026-07-01T00:00:00.000Z. */
#define TEST_DAY INT64_C(1782864000000)

/* Each in the transaction that the test has opened on t->w. */
struct author add_author(struct temp_db *t, uint64_t n);
struct book add_book(struct temp_db *t, const struct author *author, uint64_t n, int64_t created_at);
/* With one YouTube post (posted_at == TIME_NONE: without), its key, and the line 10000, none, 0. */
struct video add_video(struct temp_db *t, const struct author *author, int64_t book_row, uint64_t n,
                       int64_t posted_at);
struct api_key add_key(struct temp_db *t, const struct author *author, uint64_t n);
void hash_of(uint64_t n, uint8_t out[KEY_HASH_LEN]);
/* `views` at `at` on the first post: saved, and the gain on its day. The record is kept up to date. */
void add_reading(struct temp_db *t, struct video *video, int64_t at, int64_t views);
struct event add_event(struct temp_db *t, const struct video *video, enum event_type type, int64_t value,
                       int64_t now);

void test_begin(struct temp_db *t);
void test_commit(struct temp_db *t);

#endif
