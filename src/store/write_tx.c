/* Write transactions and the event ids that are given out in them. */
#include "base/check.h"
#include "store/handle.h"
#include "store/write.h"

enum err store_begin(struct store *s)
{
    CHECK(!db_in_transaction(&s->db));
    s->last_event_id = 0;
    /* IMMEDIATE: a transaction that began by reading could not wait for another writer, only fail. */
    return db_run(&s->db, db_use(&s->db, QUERY_BEGIN_WRITE));
}

static enum err save_last_event_id(struct store *s)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SET_LAST_EVENT_ID);
    db_bind_i64(q, 1, s->last_event_id);
    return db_run(&s->db, q);
}

enum err store_commit(struct store *s)
{
    CHECK(db_in_transaction(&s->db));
    enum err err = s->last_event_id ? save_last_event_id(s) : OK;
    if (!err)
        err = db_run(&s->db, db_use(&s->db, QUERY_COMMIT));
    if (err)
        store_rollback(s);
    return err;
}

void store_rollback(struct store *s)
{
    /* After a full disk and the like SQLite has rolled back by itself. */
    if (db_in_transaction(&s->db) && db_run(&s->db, db_use(&s->db, QUERY_ROLLBACK)))
        CHECK(!db_in_transaction(&s->db));
}

static enum err load_last_event_id(struct store *s)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LAST_EVENT_ID);
    enum err err = db_one(&s->db, q);
    if (err)
        return err == ERR_NOT_FOUND ? db_damaged(&s->db, "last_event_id") : err;
    s->last_event_id = db_i64(q, 0);
    db_reset(q);
    return OK;
}

static enum err set_head(struct store *s, int64_t author_row, int64_t event_id)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_AUTHOR_SET_HEAD);
    db_bind_i64(q, 1, author_row);
    db_bind_i64(q, 2, event_id);
    return db_run(&s->db, q);
}

enum err store_insert_event(struct store *s, struct event *event, int64_t now)
{
    CHECK(db_in_transaction(&s->db));
    enum err err = s->last_event_id ? OK : load_last_event_id(s);
    if (err)
        return err;
    event->id = s->last_event_id + 1 > now ? s->last_event_id + 1 : now;
    s->last_event_id = event->id;
    bool viral = event->type == EVENT_WENT_VIRAL;
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_EVENT_INSERT);
    db_bind_i64(q, 1, event->author_row);
    db_bind_i64(q, 2, event->id);
    db_bind_i64(q, 3, event->video_row);
    db_bind_i64(q, 4, event->type);
    db_bind_i64(q, 5, event->occurred_at);
    db_bind_i64(q, 6, event->value);
    db_bind_i64_or_null(q, 7, viral ? event->threshold : COUNT_NONE, COUNT_NONE);
    db_bind_i64_or_null(q, 8, viral ? event->median : COUNT_NONE, COUNT_NONE);
    err = db_run(&s->db, q);
    return err ? err : set_head(s, event->author_row, event->id);
}
