/* Write transactions, and the event ids that they issue. */
#include "base/check.h"
#include "store/handle.h"
#include "store/write.h"

enum err store_begin(struct store *s)
{
    CHECK(!db_in_transaction(&s->db));
    s->last_event_id = 0;
    /* BEGIN IMMEDIATE, because a transaction that begins with a read fails instead of waiting for another
     * writer. */
    return db_run(&s->db, db_use(&s->db, QUERY_BEGIN_WRITE));
}

enum err store_commit(struct store *s)
{
    CHECK(db_in_transaction(&s->db));
    enum err err = OK;
    if (s->last_event_id) {
        struct sqlite3_stmt *q = db_use(&s->db, QUERY_SET_LAST_EVENT_ID);
        db_bind_i64(q, 1, s->last_event_id);
        err = db_write(&s->db, q);
    }
    if (!err)
        err = db_run(&s->db, db_use(&s->db, QUERY_COMMIT));
    if (err)
        store_rollback(s);
    return err;
}

void store_rollback(struct store *s)
{
    /* After some errors, such as a full disk, SQLite has rolled back already. */
    if (db_in_transaction(&s->db) && db_run(&s->db, db_use(&s->db, QUERY_ROLLBACK)))
        CHECK(!db_in_transaction(&s->db));
}

static enum err insert_event(struct store *s, const struct event *event)
{
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
    return db_write(&s->db, q);
}

enum err store_insert_event(struct store *s, struct event *event, int64_t now)
{
    CHECK(db_in_transaction(&s->db));
    enum err err = OK;
    if (!s->last_event_id)
        err = db_one_i64(&s->db, db_use(&s->db, QUERY_LAST_EVENT_ID), &s->last_event_id);
    if (err)
        return err == ERR_NOT_FOUND ? db_damaged(&s->db, "last_event_id") : err;
    event->id = s->last_event_id + 1 > now ? s->last_event_id + 1 : now;
    s->last_event_id = event->id;
    err = insert_event(s, event);
    if (err)
        return err;
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_AUTHOR_SET_LAST_EVENT_ID);
    db_bind_i64(q, 1, event->author_row);
    db_bind_i64(q, 2, event->id);
    return db_write(&s->db, q);
}
