/* A fixture: a temporary database in its own directory, and functions that fill it. If one of the functions
 * fails, the test fails. */
#ifndef VT_TEST_TEMP_DB_H
#define VT_TEST_TEMP_DB_H

#include "base/arena.h"
#include "store/model.h"
#include "store/read.h"
#include "store/store.h"
#include "store/write.h"

/* The actor of all changes that tests make. */
extern const struct actor test_actor;

struct temp_db {
    char dir[64];
    char path[96];
    struct store *w; /* STORE_WRITE */
    struct store *r; /* STORE_READ */
    struct arena arena;
};

/* Creates an empty directory; `path` is a file in it that does not exist. */
void temp_dir_init(struct temp_db *t);
/* Creates the database at `path` and opens two connections, `w` and `r`. */
void temp_db_create(struct temp_db *t);
/* Calls temp_dir_init() and temp_db_create(). */
void temp_db_init(struct temp_db *t);
/* Closes the connections and removes the directory. */
void temp_db_fini(struct temp_db *t);

/* The set-up and the tear-down for tests that need an open transaction. The first one calls temp_db_init()
 * and begins a transaction on `w`. The second one rolls the transaction back and calls temp_db_fini(). Both
 * return 0, as cmocka requires. */
int temp_db_init_in_transaction(struct temp_db *t);
int temp_db_fini_in_transaction(struct temp_db *t);

struct store *temp_db_open(const struct temp_db *t, enum store_mode mode);
struct store_read temp_db_read(const struct temp_db *t);

/* A UUID with `kind` in the first byte and `n` in the last eight, big-endian. */
struct uuid test_uuid(uint8_t kind, uint64_t n);

/* 2026-07-01T00:00:00.000Z, the time at which most tests begin. */
#define TEST_DAY INT64_C(1782864000000)

/* Each of these functions needs an open transaction on t->w. */
struct author add_author(struct temp_db *t, uint64_t n);
struct book add_book(struct temp_db *t, const struct author *author, uint64_t n, int64_t created_at);
/* Adds a video with the viral threshold 10,000 and one YouTube post, or without a post if `posted_at` is
 * TIME_NONE. */
struct video add_video(struct temp_db *t, const struct author *author, int64_t book_row, uint64_t n,
                       int64_t posted_at);
struct api_key add_key(struct temp_db *t, const struct author *author, uint64_t n);
void hash_of(uint64_t n, uint8_t out[KEY_HASH_LEN]);
/* Saves a reading of the first post and its gain, and updates `video`. */
void add_reading(struct temp_db *t, struct video *video, int64_t at, int64_t views);
struct event add_event(struct temp_db *t, const struct video *video, enum event_type type, int64_t value,
                       int64_t now);

void test_begin(struct temp_db *t);
void test_commit(struct temp_db *t);

#endif
