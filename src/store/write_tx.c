/* Begins and ends write transactions, and issues event ids. */
#include "base/check.h"
#include "base/log.h"
#include "store/author_archive.h"
#include "store/engine.h"
#include "store/write.h"

#include <sodium.h>
#include <time.h>

enum { SHORTEST_PAUSE_MS = 20 };

enum err store_begin(struct store *s)
{
    CHECK(!sql_in_transaction(s->sql));
    s->last_event_id = 0;
    return s->engine->begin(s);
}

enum err store_commit(struct store *s)
{
    CHECK(sql_in_transaction(s->sql));
    enum err err = OK;
    if (s->last_event_id) {
        struct sql_statement *q = sql_use(s->sql, QUERY_SET_LAST_EVENT_ID);
        sql_bind_i64(q, 1, s->last_event_id);
        err = sql_write_later(s->sql, q);
    }
    if (!err)
        err = s->engine->commit(s);
    if (err)
        store_rollback(s);
    return err;
}

void store_rollback(struct store *s)
{
    if (sql_in_transaction(s->sql))
        s->engine->rollback(s);
}

/* The random pause, which doubles, lets the other transaction end first. */
bool store_should_repeat(struct store *s, int *repeats)
{
    CHECK(!sql_in_transaction(s->sql));
    if (!s->engine->has_conflict || !s->engine->has_conflict(s) || *repeats >= STORE_REPEATS_MAX)
        return false;
    const uint32_t pause_ms = 1 + randombytes_uniform((uint32_t)SHORTEST_PAUSE_MS << *repeats);
    const struct timespec pause = {.tv_nsec = (long)pause_ms * 1000000};
    ++*repeats;
    log_warn("store: locks of another program have ended a transaction; it runs again (repetition %d of %d)",
             *repeats, STORE_REPEATS_MAX);
    (void)nanosleep(&pause, NULL);
    return true;
}

static enum err insert_event(struct store *s, const struct event *event)
{
    bool viral = event->type == EVENT_WENT_VIRAL;
    struct sql_statement *q = sql_use(s->sql, QUERY_EVENT_INSERT);
    sql_bind_i64(q, 1, event->author_row);
    sql_bind_i64(q, 2, event->id);
    sql_bind_i64(q, 3, event->video_row);
    sql_bind_i64(q, 4, event->type);
    sql_bind_i64(q, 5, event->occurred_at);
    sql_bind_i64(q, 6, event->value);
    sql_bind_i64_or_null(q, 7, viral ? event->threshold : COUNT_NONE, COUNT_NONE);
    sql_bind_i64_or_null(q, 8, viral ? event->median : COUNT_NONE, COUNT_NONE);
    return sql_write_later(s->sql, q);
}

static enum err set_author_last_event(struct store *s, const struct event *event)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_AUTHOR_SET_LAST_EVENT_ID);
    sql_bind_i64(q, 1, event->author_row);
    sql_bind_i64(q, 2, event->id);
    return sql_write_later(s->sql, q);
}

enum err store_insert_event(struct store *s, struct event *event, int64_t now)
{
    CHECK(sql_in_transaction(s->sql));
    enum err err = OK;
    if (!s->last_event_id)
        err = sql_one_i64(s->sql, sql_use(s->sql, QUERY_LAST_EVENT_ID), &s->last_event_id);
    if (err)
        return err == ERR_NOT_FOUND ? sql_report_damage(s->sql, "last_event_id") : err;
    event->id = s->last_event_id + 1 > now ? s->last_event_id + 1 : now;
    s->last_event_id = event->id;
    err = insert_event(s, event);
    return err ? err : set_author_last_event(s, event);
}

enum err store_restore_event(struct store *s, const struct event *event)
{
    CHECK(sql_in_transaction(s->sql));
    enum err err = OK;
    if (!s->last_event_id)
        err = sql_one_i64(s->sql, sql_use(s->sql, QUERY_LAST_EVENT_ID), &s->last_event_id);
    if (err)
        return err == ERR_NOT_FOUND ? sql_report_damage(s->sql, "last_event_id") : err;
    if (event->id > s->last_event_id)
        s->last_event_id = event->id;
    err = insert_event(s, event);
    return err ? err : set_author_last_event(s, event);
}
