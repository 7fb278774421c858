/* Reads and writes authors, API keys and books in write transactions. */
#include "base/check.h"
#include "store/handle.h"
#include "store/rows.h"
#include "store/write.h"

/* Room for the name of a key. No release has accepted a longer name. */
enum { KEY_NAME_ROOM = 4096 };

/* --- authors --- */

static enum err read_author(struct sql *sql, struct sql_statement *q, struct arena *a, struct author *out)
{
    enum err err = sql_one(sql, q);
    if (err)
        return err;
    if (!row_to_author(q, 0, out))
        err = sql_report_damage(sql, "author");
    else
        out->name = row_copy_text(a, out->name);
    sql_reset(q);
    return err;
}

enum err store_find_author(struct store *s, struct arena *a, const struct uuid *id, struct author *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_AUTHOR_BY_UUID);
    sql_bind_uuid(q, 1, id);
    return read_author(s->sql, q, a, out);
}

enum err store_get_author(struct store *s, struct arena *a, int64_t author_row, struct author *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_AUTHOR_BY_ROW);
    sql_bind_i64(q, 1, author_row);
    return read_author(s->sql, q, a, out);
}

enum err store_insert_author(struct store *s, struct author *author)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_AUTHOR_INSERT);
    sql_bind_uuid(q, 1, &author->id);
    sql_bind_text(q, 2, author->name);
    sql_bind_i64(q, 3, author->plan_active);
    sql_bind_i64(q, 4, author->created_at);
    author->rev = 1;
    return sql_insert(s->sql, q, &author->row);
}

static enum err note_plan(struct store *s, const struct author *author, int64_t now, const struct actor *by)
{
    const struct audit_note note = {.author_row = author->row,
                                    .at = now,
                                    .action = AUDIT_PLAN_CHANGED,
                                    .details = author->plan_active ? STR("inactive to active")
                                                                   : STR("active to inactive")};
    return store_insert_audit(s, &note, by);
}

enum err store_update_author(struct store *s, const struct author *author, int64_t now,
                             const struct actor *by)
{
    int64_t was_active;
    struct sql_statement *q = sql_use(s->sql, QUERY_AUTHOR_PLAN);
    sql_bind_i64(q, 1, author->row);
    enum err err = sql_one_i64(s->sql, q, &was_active);
    if (err)
        return err;
    q = sql_use(s->sql, QUERY_AUTHOR_UPDATE);
    sql_bind_i64(q, 1, author->row);
    sql_bind_text(q, 2, author->name);
    sql_bind_i64(q, 3, author->plan_active);
    err = sql_update(s->sql, q);
    return err || author->plan_active == (was_active != 0) ? err : note_plan(s, author, now, by);
}

enum err store_list_authors(struct store *s, store_author_fn fn, void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_AUTHORS);
    enum err err;
    while (sql_row(s->sql, q, &err)) {
        struct author author;
        bool sound = row_to_author(q, 0, &author);
        if (sound && fn(ctx, &author))
            continue;
        err = sound ? OK : sql_report_damage(s->sql, "author");
        sql_reset(q);
        break;
    }
    return err;
}

enum err store_touch_author(struct store *s, int64_t author_row, int64_t refreshed_at)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_AUTHOR_TOUCH);
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64_or_null(q, 2, refreshed_at, TIME_NONE);
    return sql_update_later(s->sql, q);
}

enum err store_adjust_author(struct store *s, int64_t author_row, struct author_adjustment by)
{
    if (!by.books && !by.videos && !by.feed)
        return OK;
    struct sql_statement *q = sql_use(s->sql, QUERY_AUTHOR_ADJUST);
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, by.books);
    sql_bind_i64(q, 3, by.videos);
    sql_bind_i64(q, 4, by.feed);
    return sql_update_later(s->sql, q);
}

/* --- API keys --- */

static enum err note_key(struct store *s, const struct api_key *key, int64_t at, enum audit_action action,
                         const struct actor *by)
{
    char id[UUID_TEXT_LEN];
    uuid_format(&key->id, id);
    const struct audit_note note = {.author_row = key->author_row,
                                    .at = at,
                                    .action = action,
                                    .subject = str_make(id, sizeof id),
                                    .details = key->name};
    return store_insert_audit(s, &note, by);
}

enum err store_restore_key(struct store *s, struct api_key *key, const uint8_t hash[KEY_HASH_LEN])
{
    struct sql_statement *q = sql_use(s->sql, QUERY_KEY_INSERT);
    sql_bind_uuid(q, 1, &key->id);
    sql_bind_i64(q, 2, key->author_row);
    sql_bind_blob(q, 3, hash, KEY_HASH_LEN);
    sql_bind_text(q, 4, key->name);
    sql_bind_text(q, 5, str_make(key->suffix, sizeof key->suffix));
    sql_bind_i64(q, 6, key->created_at);
    sql_bind_i64_or_null(q, 7, key->app_row, 0);
    sql_bind_i64_or_null(q, 8, key->last_used_at, TIME_NONE);
    sql_bind_i64_or_null(q, 9, key->revoked_at, TIME_NONE);
    return sql_insert(s->sql, q, &key->row);
}

enum err store_insert_key(struct store *s, struct api_key *key, const uint8_t hash[KEY_HASH_LEN],
                          const struct actor *by)
{
    key->last_used_at = key->revoked_at = TIME_NONE;
    enum err err = store_restore_key(s, key, hash);
    return err ? err
               : note_key(s, key, key->created_at, key->app_row ? AUDIT_APP_CONNECTED : AUDIT_KEY_CREATED,
                          by);
}

static enum err read_key(struct sql *sql, struct sql_statement *q, struct arena *a, struct api_key *out)
{
    enum err err = sql_one(sql, q);
    if (err)
        return err;
    if (!row_to_api_key(q, 0, out))
        err = sql_report_damage(sql, "key");
    else
        out->name = row_copy_text(a, out->name);
    sql_reset(q);
    return err;
}

enum err store_find_key_by_id(struct store *s, struct arena *a, const struct uuid *id, struct api_key *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_KEY_BY_UUID);
    sql_bind_uuid(q, 1, id);
    return read_key(s->sql, q, a, out);
}

enum err store_find_key_by_hash(struct store *s, struct arena *a, const uint8_t hash[KEY_HASH_LEN],
                                struct api_key *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_KEY_BY_HASH);
    sql_bind_blob(q, 1, hash, KEY_HASH_LEN);
    return read_key(s->sql, q, a, out);
}

/* Finds a key and copies its name into `name`. */
static enum err get_key(struct store *s, int64_t key_row, struct buf *name, struct api_key *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_KEY_BY_ROW);
    sql_bind_i64(q, 1, key_row);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    if (!row_to_api_key(q, 0, out))
        err = sql_report_damage(s->sql, "key");
    else
        buf_append(name, out->name);
    out->name = buf_str(name);
    sql_reset(q);
    return err;
}

static enum err revoke_live_key(struct store *s, const struct api_key *key, int64_t now,
                                const struct actor *by)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_KEY_REVOKE);
    sql_bind_i64(q, 1, key->row);
    sql_bind_i64(q, 2, now);
    enum err err = sql_update(s->sql, q);
    if (err)
        return err;
    /* Wakes the author's long polls, which resolve their keys again, and so notice the revocation. */
    err = store_adjust_author(s, key->author_row, (struct author_adjustment){.feed = 1});
    return err ? err : note_key(s, key, now, key->app_row ? AUDIT_APP_DISCONNECTED : AUDIT_KEY_REVOKED, by);
}

enum err store_revoke_key(struct store *s, int64_t key_row, int64_t now, const struct actor *by)
{
    struct buf name;
    struct api_key key;
    buf_init(&name, KEY_NAME_ROOM);
    enum err err = get_key(s, key_row, &name, &key);
    if (!err && key.revoked_at == TIME_NONE)
        err = revoke_live_key(s, &key, now, by);
    buf_fini(&name);
    return err;
}

enum err store_list_keys(struct store *s, int64_t author_row, store_key_fn fn, void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_KEYS);
    enum err err;
    sql_bind_i64(q, 1, author_row);
    while (sql_row(s->sql, q, &err)) {
        struct api_key key;
        bool sound = row_to_api_key(q, 0, &key);
        if (sound && fn(ctx, &key))
            continue;
        err = sound ? OK : sql_report_damage(s->sql, "key");
        sql_reset(q);
        break;
    }
    return err;
}

static enum err note_first_use(struct store *s, int64_t key_row, int64_t at, struct str address)
{
    struct buf name;
    struct api_key key;
    buf_init(&name, KEY_NAME_ROOM);
    enum err err = get_key(s, key_row, &name, &key);
    if (!err) {
        const struct actor self = actor_make(ACTOR_KEY, key.name, address);
        err = note_key(s, &key, at, AUDIT_KEY_FIRST_USED, &self);
    }
    buf_fini(&name);
    return err;
}

/* Does not change the author's revision. A new revision would invalidate the author's responses, even the
 * long response that this request is still receiving. Of the responses of the API, only /account shows
 * last_used_at, and the key of its cache entry contains this time (response_key_of() in api/api.c). */
enum err store_set_key_used(struct store *s, int64_t key_row, int64_t at, struct str address)
{
    bool is_first;
    struct sql_statement *q = sql_use(s->sql, QUERY_KEY_SET_FIRST_USED);
    sql_bind_i64(q, 1, key_row);
    sql_bind_i64(q, 2, at);
    enum err err = sql_write_if(s->sql, q, &is_first);
    if (err || is_first)
        return err ? err : note_first_use(s, key_row, at, address);
    q = sql_use(s->sql, QUERY_KEY_SET_USED);
    sql_bind_i64(q, 1, key_row);
    sql_bind_i64(q, 2, at);
    return sql_write(s->sql, q);
}

/* --- books --- */

enum err store_find_book(struct store *s, struct arena *a, const struct uuid *id, struct book *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_BOOK_BY_UUID);
    sql_bind_uuid(q, 1, id);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    if (!row_to_book(q, 0, out))
        err = sql_report_damage(s->sql, "book");
    out->title = row_copy_text(a, out->title);
    out->subtitle = row_copy_text(a, out->subtitle);
    sql_reset(q);
    return err;
}

enum err store_insert_book(struct store *s, struct book *book)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_BOOK_INSERT);
    sql_bind_uuid(q, 1, &book->id);
    sql_bind_i64(q, 2, book->author_row);
    sql_bind_text(q, 3, book->title);
    sql_bind_text(q, 4, book->subtitle.p ? book->subtitle : STR(""));
    sql_bind_i64(q, 5, book->created_at);
    enum err err = sql_insert(s->sql, q, &book->row);
    return err ? err : store_adjust_author(s, book->author_row, (struct author_adjustment){.books = 1});
}

enum err store_update_book(struct store *s, const struct book *old, const struct book *book)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_BOOK_UPDATE);
    sql_bind_i64(q, 1, book->row);
    sql_bind_text(q, 2, book->title);
    sql_bind_text(q, 3, book->subtitle.p ? book->subtitle : STR(""));
    sql_bind_i64(q, 4, book->created_at);
    enum err err = sql_update(s->sql, q);
    const bool is_renamed = !str_eq(old->title, book->title);
    return err ? err
               : store_adjust_author(s, book->author_row, (struct author_adjustment){.feed = is_renamed});
}
