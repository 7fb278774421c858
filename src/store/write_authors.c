/* Authors, API keys and books in write transactions. */
#include "base/check.h"
#include "store/handle.h"
#include "store/rows.h"
#include "store/write.h"

/* --- authors --- */

static enum err read_author(struct db *db, struct sqlite3_stmt *q, struct arena *a, struct author *out)
{
    enum err err = db_one(db, q);
    if (err)
        return err;
    if (!row_author(q, 0, out))
        err = db_damaged(db, "author");
    else
        out->name = row_copy(a, out->name);
    db_reset(q);
    return err;
}

enum err store_find_author(struct store *s, struct arena *a, const struct uuid *id, struct author *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_AUTHOR_BY_UUID);
    db_bind_uuid(q, 1, id);
    return read_author(&s->db, q, a, out);
}

enum err store_get_author(struct store *s, struct arena *a, int64_t author_row, struct author *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_AUTHOR_BY_ROW);
    db_bind_i64(q, 1, author_row);
    return read_author(&s->db, q, a, out);
}

enum err store_insert_author(struct store *s, struct author *author)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_AUTHOR_INSERT);
    db_bind_uuid(q, 1, &author->id);
    db_bind_text(q, 2, author->name);
    db_bind_i64(q, 3, author->plan_active);
    db_bind_i64(q, 4, author->created_at);
    author->rev = 1;
    return db_insert(&s->db, q, &author->row);
}

enum err store_update_author(struct store *s, const struct author *author)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_AUTHOR_UPDATE);
    db_bind_i64(q, 1, author->row);
    db_bind_text(q, 2, author->name);
    db_bind_i64(q, 3, author->plan_active);
    return db_update(&s->db, q);
}

enum err store_list_authors(struct store *s, store_author_fn fn, void *ctx)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_AUTHORS);
    enum err err;
    while (db_row(&s->db, q, &err)) {
        struct author author;
        bool sound = row_author(q, 0, &author);
        if (sound && fn(ctx, &author))
            continue;
        err = sound ? OK : db_damaged(&s->db, "author");
        db_reset(q);
        break;
    }
    return err;
}

enum err store_touch_author(struct store *s, int64_t author_row, int64_t refreshed_at)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_AUTHOR_TOUCH);
    db_bind_i64(q, 1, author_row);
    db_bind_i64_or_null(q, 2, refreshed_at, TIME_NONE);
    return db_update(&s->db, q);
}

/* --- API keys --- */

enum err store_insert_key(struct store *s, struct api_key *key, const uint8_t hash[KEY_HASH_LEN])
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_KEY_INSERT);
    db_bind_uuid(q, 1, &key->id);
    db_bind_i64(q, 2, key->author_row);
    db_bind_blob(q, 3, hash, KEY_HASH_LEN);
    db_bind_text(q, 4, key->name);
    db_bind_text(q, 5, str_make(key->suffix, sizeof key->suffix));
    db_bind_i64(q, 6, key->created_at);
    db_bind_i64_or_null(q, 7, key->app_row, 0);
    return db_insert(&s->db, q, &key->row);
}

static enum err read_key(struct db *db, struct sqlite3_stmt *q, struct arena *a, struct api_key *out)
{
    enum err err = db_one(db, q);
    if (err)
        return err;
    if (!row_api_key(q, 0, out))
        err = db_damaged(db, "key");
    else
        out->name = row_copy(a, out->name);
    db_reset(q);
    return err;
}

enum err store_find_key_by_id(struct store *s, struct arena *a, const struct uuid *id, struct api_key *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_KEY_BY_UUID);
    db_bind_uuid(q, 1, id);
    return read_key(&s->db, q, a, out);
}

enum err store_find_key_by_hash(struct store *s, struct arena *a, const uint8_t hash[KEY_HASH_LEN],
                                struct api_key *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_KEY_BY_HASH);
    db_bind_blob(q, 1, hash, KEY_HASH_LEN);
    return read_key(&s->db, q, a, out);
}

enum err store_revoke_key(struct store *s, int64_t key_row, int64_t now)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_KEY_REVOKE);
    db_bind_i64(q, 1, key_row);
    db_bind_i64(q, 2, now);
    return db_update(&s->db, q);
}

enum err store_list_keys(struct store *s, int64_t author_row, store_key_fn fn, void *ctx)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_KEYS);
    enum err err;
    db_bind_i64(q, 1, author_row);
    while (db_row(&s->db, q, &err)) {
        struct api_key key;
        bool sound = row_api_key(q, 0, &key);
        if (sound && fn(ctx, &key))
            continue;
        err = sound ? OK : db_damaged(&s->db, "key");
        db_reset(q);
        break;
    }
    return err;
}

/* Does not change the author's revision: responses about videos do not show it, and a long response would
 * otherwise invalidate itself. */
enum err store_set_key_used(struct store *s, int64_t key_row, int64_t at)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_KEY_SET_USED);
    db_bind_i64(q, 1, key_row);
    db_bind_i64(q, 2, at);
    return db_write(&s->db, q);
}

/* --- books --- */

enum err store_find_book(struct store *s, struct arena *a, const struct uuid *id, struct book *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_BOOK_BY_UUID);
    db_bind_uuid(q, 1, id);
    enum err err = db_one(&s->db, q);
    if (err)
        return err;
    if (!row_book(q, 0, out))
        err = db_damaged(&s->db, "book");
    out->title = row_copy(a, out->title);
    out->subtitle = row_copy(a, out->subtitle);
    db_reset(q);
    return err;
}

enum err store_insert_book(struct store *s, struct book *book)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_BOOK_INSERT);
    db_bind_uuid(q, 1, &book->id);
    db_bind_i64(q, 2, book->author_row);
    db_bind_text(q, 3, book->title);
    db_bind_text(q, 4, book->subtitle.p ? book->subtitle : STR(""));
    db_bind_i64(q, 5, book->created_at);
    return db_insert(&s->db, q, &book->row);
}

enum err store_update_book(struct store *s, const struct book *book)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_BOOK_UPDATE);
    db_bind_i64(q, 1, book->row);
    db_bind_text(q, 2, book->title);
    db_bind_text(q, 3, book->subtitle.p ? book->subtitle : STR(""));
    db_bind_i64(q, 4, book->created_at);
    return db_update(&s->db, q);
}
