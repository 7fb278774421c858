/* Each query is a struct on the heap that points to its waiter. Canceling a query in flight only clears this
 * pointer; the struct is freed when the result arrives. */
#include "pg/pg_queue.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    QUERY_MAGIC = 0x50675175,
    /* The maximum number of queries in flight. PostgreSQL answers the barrier of the link only after them.
     * After an outage, many held queries are sent, and PostgreSQL is slow while its cache is empty. So with a
     * higher limit, they could delay the barrier until the link is considered stale. */
    IN_FLIGHT_MAX = 128
};
enum item_kind { ITEM_QUERY, ITEM_INTERNAL, ITEM_SYNC };

struct pg_query {
    struct list link;
    unsigned magic;
    enum item_kind kind;
    bool is_read;
    bool is_alone;      /* was sent again, in a batch without other queries */
    bool was_skipped;   /* the server has not executed it (PG_GOT_ABORTED) */
    bool was_decoded;   /* the caller has the result: do not send the query again */
    bool was_discarded; /* the result was not trusted */
    int statement;      /* index of the statement, or id of an internal command */
    struct pg_queue *queue;
    struct waiter *waiter; /* NULL if canceled */
    struct pg_reply *reply;
    struct pg_params params;
    int64_t started_ms, sent_ms; /* monotonic; for deadlines */
    uint64_t sent_ns;            /* for the metrics */
    enum err err;
    char sqlstate[6];
    pg_internal_fn *done;
    void *ctx;
};

static struct pg_query *entry(struct list *link)
{
    struct pg_query *query = LIST_ENTRY(link, struct pg_query, link);
    CHECK(query->magic == QUERY_MAGIC);
    return query;
}

static struct pg_query *first(const struct list *list)
{
    return list_is_empty(list) ? NULL : entry(list->next);
}

static void query_free(struct pg_query *query)
{
    list_remove(&query->link);
    pg_params_fini(&query->params);
    query->magic = 0;
    free(query);
}

void pg_queue_init(struct pg_queue *q, const struct pg_statement *statements)
{
    *q = (struct pg_queue){.statements = statements};
    list_init(&q->held);
    list_init(&q->alone);
    list_init(&q->in_flight);
}

/* ---- completing and canceling queries ---- */

static void complete(struct pg_query *query, enum err err)
{
    struct waiter *w = query->waiter;
    struct pg_queue *q = query->queue;
    q->counts.failed += err != OK;
    if (w) {
        query->reply->err = err;
        (void)snprintf(query->reply->sqlstate, sizeof query->reply->sqlstate, "%s", query->sqlstate);
    }
    query_free(query);
    if (w)
        waiter_complete(w);
}

/* Frees the query now, unless it is in flight. */
static void cancel(struct waiter *w)
{
    struct pg_query *query = w->call;
    CHECK(query->magic == QUERY_MAGIC);
    query->waiter = NULL;
    query->reply = NULL;
    if (query->sent_ms)
        return;
    query->queue->held_count--;
    query_free(query);
}

void pg_queue_expire(struct pg_queue *q, int hold_ms)
{
    struct list *lists[] = {&q->alone, &q->held};
    const int64_t now_ms = clock_connection_ms();
    for (int i = 0; i < 2; i++) {
        struct pg_query *query;
        while ((query = first(lists[i])) && now_ms - query->started_ms >= hold_ms) {
            q->held_count--;
            complete(query, ERR_BUSY);
        }
    }
}

void pg_queue_fini(struct pg_queue *q)
{
    struct list *lists[] = {&q->alone, &q->held, &q->in_flight};
    for (int i = 0; i < 3; i++) {
        struct pg_query *query;
        while ((query = first(lists[i]))) {
            CHECK(!query->waiter);
            query_free(query);
        }
    }
    if (q->unsynced)
        query_free(q->unsynced);
}

/* ---- adding and sending ---- */

static struct pg_query *query_new(struct pg_queue *q, enum item_kind kind)
{
    struct pg_query *query = try_calloc(1, sizeof *query);
    if (!query)
        return NULL;
    list_init(&query->link);
    query->magic = QUERY_MAGIC;
    query->kind = kind;
    query->queue = q;
    return query;
}

static enum err reason_to_refuse(const struct pg_queue *q, int max, const struct pg_params *params)
{
    if (q->held_count + q->in_flight_count >= max)
        return ERR_BUSY;
    if (params->bytes.failed)
        return params->bytes.lacks_memory ? ERR_NOMEM : ERR_FULL;
    return OK;
}

enum next pg_queue_add(struct pg_queue *q, int max, int statement, struct pg_params *params, struct waiter *w,
                       struct pg_reply *reply)
{
    struct pg_query *query = NULL;
    reply->err = reason_to_refuse(q, max, params);
    reply->sqlstate[0] = 0;
    if (!reply->err && !(query = query_new(q, ITEM_QUERY)))
        reply->err = ERR_NOMEM;
    q->counts.queries++;
    if (!query) {
        q->counts.failed++;
        pg_params_fini(params);
        return NEXT_MORE;
    }
    query->is_read = q->statements[statement].is_read;
    query->statement = statement;
    query->waiter = w;
    query->reply = reply;
    query->params = *params;
    query->started_ms = clock_connection_ms();
    list_add_last(&q->held, &query->link);
    q->held_count++;
    w->cancel = cancel;
    w->call = query;
    return NEXT_WAIT;
}

/* Sends a query, perhaps for the second time, so it resets the state of the first attempt. */
static bool send_one(struct pg_queue *q, struct pg_connection *connection, struct pg_query *query,
                     bool is_alone)
{
    if (!pg_connection_query(connection, q->statements[query->statement].name, &query->params))
        return false;
    query->sent_ms = clock_connection_ms();
    query->sent_ns = uv_hrtime();
    query->is_alone = is_alone;
    query->was_skipped = query->was_decoded = query->was_discarded = false;
    query->err = OK;
    query->sqlstate[0] = '\0';
    list_remove(&query->link);
    list_add_last(&q->in_flight, &query->link);
    q->held_count--;
    q->in_flight_count++;
    return true;
}

static bool send_sync(struct pg_queue *q, struct pg_connection *connection)
{
    q->counts.batches++;
    return pg_connection_sync(connection) && pg_queue_add_sync(q);
}

static int send_alone(struct pg_queue *q, struct pg_connection *connection)
{
    int sent = 0;
    for (struct pg_query *query; (query = first(&q->alone)); sent++) {
        q->counts.resent++;
        if (!send_one(q, connection, query, true) || !send_sync(q, connection))
            return -1;
    }
    return sent;
}

/* Consecutive reads share a batch. A write is a batch of its own, because an error rolls back everything
 * since the last synchronization point. */
static int send_held(struct pg_queue *q, struct pg_connection *connection)
{
    int sent = 0;
    bool is_open = false;
    for (struct pg_query *query; q->in_flight_count < IN_FLIGHT_MAX && (query = first(&q->held)); sent++) {
        const bool is_read = query->is_read;
        if (!is_read && is_open && !send_sync(q, connection))
            return -1;
        if (!send_one(q, connection, query, false))
            return -1;
        is_open = is_read;
        if (!is_read && !send_sync(q, connection))
            return -1;
    }
    return is_open && !send_sync(q, connection) ? -1 : sent;
}

int pg_queue_send(struct pg_queue *q, struct pg_connection *connection)
{
    const int alone = send_alone(q, connection);
    const int held = alone < 0 ? -1 : send_held(q, connection);
    return held < 0 ? -1 : alone + held;
}

bool pg_queue_add_internal(struct pg_queue *q, bool is_read, int id, pg_internal_fn *done, void *ctx)
{
    struct pg_query *item = query_new(q, ITEM_INTERNAL);
    if (!item)
        return false;
    item->is_read = is_read;
    item->statement = id;
    item->done = done;
    item->ctx = ctx;
    item->sent_ms = clock_connection_ms();
    list_add_last(&q->in_flight, &item->link);
    return true;
}

bool pg_queue_add_sync(struct pg_queue *q)
{
    struct pg_query *item = query_new(q, ITEM_SYNC);
    if (!item)
        return false;
    list_add_last(&q->in_flight, &item->link);
    return true;
}

/* ---- handling results ---- */

/* Moves a query from `in_flight` to `list`, which is `held` or `alone`, because it was not executed or its
 * result was not trusted. In `held`, it is inserted before the other queries. Frees the query if it was
 * canceled. */
static void hold_again(struct pg_query *query, struct list *list)
{
    struct pg_queue *q = query->queue;
    list_remove(&query->link);
    q->in_flight_count--;
    if (!query->waiter) {
        query_free(query);
        return;
    }
    query->sent_ms = 0;
    q->held_count++;
    if (list == &q->alone)
        list_add_last(list, &query->link);
    else
        list_add_last(list->next, &query->link); /* inserts before the first link of the list */
}

static void decode(struct pg_query *query, const struct pg_result *result, bool is_trusted,
                   const struct pg_incarnation *incarnation)
{
    const int64_t took_us = (int64_t)((uv_hrtime() - query->sent_ns) / 1000);
    metrics_observe(&query->queue->counts.times, took_us);
    query->was_discarded = query->is_read && !is_trusted;
    if (!query->waiter || query->was_discarded)
        return;
    query->reply->incarnation = *incarnation;
    query->reply->took_us = took_us;
    query->was_decoded = true;
    if (query->reply->decode && !query->reply->decode(query->reply->ctx, result))
        query->err = ERR_CORRUPT;
}

/* `done` may drop the connection, which frees the item if it is still in flight. */
static void report_internal(struct pg_query *item, const struct pg_result *result,
                            const struct pg_error *error)
{
    if (error)
        item->err = ERR_INTERNAL;
    item->done(item->ctx, item->statement, result, error);
}

static void record_error(struct pg_query *query, const struct pg_error *error)
{
    query->err = pg_error_of(error->sqlstate);
    (void)snprintf(query->sqlstate, sizeof query->sqlstate, "%s", error->sqlstate);
    log_warn("postgresql: statement %s failed: %s (%s)", query->queue->statements[query->statement].name,
             error->text, error->sqlstate);
}

static void end_query(struct pg_query *query)
{
    struct pg_queue *q = query->queue;
    if (query->was_skipped && !query->is_alone) {
        hold_again(query, &q->alone);
    } else if (query->was_discarded && !query->err) {
        hold_again(query, &q->held);
    } else if (!query->is_read && !query->err) {
        list_remove(&query->link);
        q->unsynced = query;
    } else {
        q->in_flight_count--;
        complete(query, query->was_skipped ? ERR_INTERNAL : query->err);
    }
}

static void end_item(struct pg_queue *q, struct pg_query *item)
{
    if (item->kind == ITEM_QUERY) {
        end_query(item);
    } else if (!item->is_read && !item->err && !item->was_skipped) {
        list_remove(&item->link);
        q->unsynced = item;
    } else {
        query_free(item);
    }
}

/* Completes the write before the synchronization point. */
static void end_sync(struct pg_queue *q, struct pg_query *sync)
{
    struct pg_query *write = q->unsynced;
    query_free(sync);
    q->unsynced = NULL;
    if (!write)
        return;
    if (write->kind == ITEM_QUERY) {
        q->in_flight_count--;
        complete(write, write->err); /* the error of the commit, if there was one */
    } else {
        report_internal(write, NULL, NULL);
        query_free(write);
    }
}

static void got_error(struct pg_queue *q, struct pg_query *item, const struct pg_error *error)
{
    /* An error at a synchronization point means that the commit of the write has failed. */
    struct pg_query *failed = item->kind == ITEM_SYNC ? q->unsynced : item;
    if (!failed)
        return;
    if (failed->kind == ITEM_QUERY)
        record_error(failed, error);
    else
        report_internal(failed, NULL, error);
}

bool pg_queue_got(struct pg_queue *q, enum pg_got got, const struct pg_result *result,
                  const struct pg_error *error, bool is_trusted, const struct pg_incarnation *incarnation)
{
    struct pg_query *item = first(&q->in_flight);
    /* Only a synchronization point gets PG_GOT_SYNC. Its other results are PG_GOT_ERROR and PG_GOT_END. */
    if (!item ||
        (got == PG_GOT_SYNC) != (item->kind == ITEM_SYNC && got != PG_GOT_ERROR && got != PG_GOT_END))
        return false;
    switch (got) {
    case PG_GOT_RESULT:
        if (item->kind == ITEM_QUERY)
            decode(item, result, is_trusted, incarnation);
        else
            report_internal(item, result, NULL);
        break;
    case PG_GOT_ERROR: got_error(q, item, error); break;
    case PG_GOT_ABORTED: item->was_skipped = true; break;
    case PG_GOT_END:
        if (item->kind != ITEM_SYNC)
            end_item(q, item);
        break;
    case PG_GOT_SYNC: end_sync(q, item); break;
    }
    return true;
}

/* Begins with the last query in flight, so that the held queries keep their order. */
void pg_queue_lost(struct pg_queue *q)
{
    struct list ended;
    list_init(&ended);
    if (q->unsynced)
        list_add_last(&ended, &q->unsynced->link);
    q->unsynced = NULL;
    while (!list_is_empty(&q->in_flight)) {
        struct pg_query *item = entry(q->in_flight.prev);
        list_remove(&item->link);
        if (item->kind != ITEM_QUERY)
            query_free(item);
        else if (item->is_read && !item->was_decoded)
            hold_again(item, &q->held);
        else
            list_add_last(&ended, &item->link);
    }
    for (struct pg_query *query; (query = first(&ended));) {
        if (query->kind != ITEM_QUERY) {
            query_free(query);
            continue;
        }
        q->in_flight_count--;
        complete(query, query->is_read ? query->err : ERR_IO);
    }
}

int64_t pg_queue_oldest_ms(const struct pg_queue *q)
{
    const struct pg_query *item = q->unsynced ? q->unsynced : first(&q->in_flight);
    return item && item->kind == ITEM_QUERY ? clock_connection_ms() - item->sent_ms : 0;
}

/* A statement that an operator cancels (57014) is not ERR_CANCELED: that error means that this process is
 * stopping, or that another process has acquired its lease. */
enum err pg_error_of(const char *sqlstate)
{
    static const struct {
        char prefix[6];
        enum err err;
    } meanings[] = {
        {"23505", ERR_EXISTS},   {"23", ERR_INVALID},    {"22", ERR_INVALID},     {"25006", ERR_READONLY},
        {"42501", ERR_READONLY}, {"40", ERR_BUSY},       {"53100", ERR_FULL},     {"53200", ERR_NOMEM},
        {"53", ERR_BUSY},        {"55P03", ERR_BUSY},    {"57014", ERR_INTERNAL}, {"57", ERR_BUSY},
        {"XX001", ERR_CORRUPT},  {"XX002", ERR_CORRUPT}, {"58", ERR_IO},
    };
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strncmp(sqlstate, meanings[i].prefix, strlen(meanings[i].prefix)) == 0)
            return meanings[i].err;
    return ERR_INTERNAL;
}
