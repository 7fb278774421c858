/* A batch consists of the keys that are resolved in one loop iteration. libuv calls the prepare handles in
 * reverse order of their start, so the batch is added to the link's queue just before the link sends its
 * queue. */
#include "store/pg/pg_heads.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "store/handle.h"
#include "store/pg/pg_cursor.h"
#include "store/pg/pg_reads.h"
#include "store/pg/pg_session.h"
#include "store/rows.h"

#include <stdlib.h>
#include <string.h>

enum { CHANGES_EVERY_US = 250000, NUMBER_COLUMN = 10 }; /* NUMBER_COLUMN: h.n in PG_KEY_OWNERS */

struct head_batch;

/* A request that waits for the owner of its key. */
struct head_read {
    struct list link; /* in pg_heads.waiting or head_batch.reads */
    struct pg_heads *heads;
    struct head_batch *batch; /* NULL: not sent yet */
    struct store_read *read;
    struct key_owner *owner;
    uint8_t hash[KEY_HASH_LEN];
    int number; /* position in the batch, from 1 */
    enum err err;
};

struct head_batch {
    struct list reads; /* by ascending number; canceled reads are removed */
    struct store *store;
    struct waiter wait;
    struct pg_reply reply;
    int count;
    struct head_read *by_number[]; /* index: number - 1; NULL: canceled */
};

/* The version of an author (version_of()), for store_find_changes(). */
struct author_version {
    int64_t author_row;
    uint64_t version;
};

struct changes_read {
    struct waiter wait;
    struct pg_reply reply;
    struct store_read *read; /* NULL: no read is running */
    struct list *waiting, *changed;
    struct author_version *versions; /* ascending author_row */
    int count;
    int64_t started_us;
};

struct pg_heads {
    struct store *store;
    struct pg_link *link;
    uv_prepare_t prepare;
    struct list waiting;
    int count, held_max; /* number of requests that wait for the owner of their key, and its limit while the
                            link is not up */
    struct changes_read changes;
};

/* The incarnation is a part of the version, because a revision can recur after commits were lost. */
static uint64_t version_of(int64_t author_rev, int64_t feed_rev, const struct pg_incarnation *incarnation)
{
    const struct {
        int64_t author_rev, feed_rev;
        uint64_t incarnation;
    } parts = {author_rev, feed_rev, pg_links_incarnation(incarnation)};
    return hash_64(str_make((const char *)&parts, sizeof parts), 0) | 1;
}

/* ---- looking up API keys ---- */

static void free_read(struct head_read *h)
{
    if (h->batch)
        h->batch->by_number[h->number - 1] = NULL;
    h->heads->count--;
    list_remove(&h->link);
    free(h);
}

static void cancel_read(struct waiter *w)
{
    struct head_read *h = w->call;
    struct head_batch *batch = h->batch;
    free_read(h);
    if (batch && list_is_empty(&batch->reads) && waiter_is_armed(&batch->wait)) {
        waiter_cancel(&batch->wait);
        free(batch);
    }
}

static void complete_read(struct head_read *h, const struct head_batch *batch)
{
    struct store_read *read = h->read;
    struct key_owner *owner = h->owner;
    const enum err err = batch->reply.err ? batch->reply.err : h->err;
    owner->incarnation = err ? 0 : pg_links_incarnation(&batch->reply.incarnation);
    owner->version = err ? 0 : version_of(owner->author_rev, owner->feed_rev, &batch->reply.incarnation);
    free_read(h);
    (void)store_read_end(read, err);
    waiter_complete(read->wait);
}

/* Starts at the first read each time, because a completed request may cancel other requests of the batch. */
static void end_batch(struct head_batch *batch)
{
    while (!list_is_empty(&batch->reads))
        complete_read(LIST_ENTRY(batch->reads.next, struct head_read, link), batch);
    free(batch);
}

static void on_batch_reply(struct waiter *w)
{
    end_batch(LIST_ENTRY(w, struct head_batch, wait));
}

static void decode_owner(struct head_batch *batch, struct sql_statement *q)
{
    const int64_t number = sql_i64(q, NUMBER_COLUMN);
    struct head_read *h = number >= 1 && number <= batch->count ? batch->by_number[number - 1] : NULL;
    if (h)
        h->err = row_to_key_owner(q, h->owner) ? OK : sql_report_damage(batch->store->sql, "key owner");
}

static bool decode_owners(void *ctx, const struct pg_result *result)
{
    const struct head_batch *batch = ctx;
    struct pg_cursor cursor;
    enum err err;
    pg_links_report_slow(PG_READ_KEY_OWNERS, &batch->reply);
    pg_received_begin(&cursor, result);
    while (sql_row(&pg_received, &cursor.statement, &err))
        decode_owner(ctx, &cursor.statement);
    return true;
}

static struct head_batch *batch_new(struct pg_heads *heads, struct pg_params *params)
{
    int count = 0;
    for (struct list *link = heads->waiting.next; link != &heads->waiting; link = link->next)
        count++;
    struct head_batch *batch = xcalloc(1, sizeof *batch + (size_t)count * sizeof batch->by_number[0]);
    struct str *hashes = xmalloc((size_t)count * sizeof *hashes);
    list_init(&batch->reads);
    batch->store = heads->store;
    batch->wait.wake = on_batch_reply;
    batch->reply = (struct pg_reply){.decode = decode_owners, .ctx = batch};
    while (!list_is_empty(&heads->waiting)) {
        struct head_read *h = LIST_ENTRY(heads->waiting.next, struct head_read, link);
        list_remove(&h->link);
        list_add_last(&batch->reads, &h->link);
        hashes[batch->count] = str_make((const char *)h->hash, KEY_HASH_LEN);
        batch->by_number[batch->count++] = h;
        h->number = batch->count;
        h->batch = batch;
    }
    pg_params_init(params);
    pg_params_add_bytes_array(params, hashes, count);
    free(hashes);
    return batch;
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct pg_heads *heads = prepare->data;
    struct pg_params params;
    pg_session_forbid_waits(true); /* not earlier, because the other subsystems may block at start */
    if (list_is_empty(&heads->waiting))
        return;
    struct head_batch *batch = batch_new(heads, &params);
    if (pg_links_query(heads->link, PG_READ_KEY_OWNERS, &params, &batch->wait, &batch->reply) == NEXT_MORE)
        end_batch(batch);
}

enum next pg_heads_resolve(struct pg_heads *heads, struct store_read *read, const uint8_t hash[KEY_HASH_LEN],
                           struct key_owner *owner)
{
    store_read_begin(read);
    /* The limit of the link does not suffice, because the link counts a batch as one query. */
    if (heads->count >= heads->held_max && pg_link_get_status(heads->link).state != PG_UP)
        return store_read_end(read, ERR_BUSY);
    struct head_read *h = xcalloc(1, sizeof *h);
    heads->count++;
    h->heads = heads;
    h->read = read;
    h->owner = owner;
    h->err = ERR_NOT_FOUND;
    memcpy(h->hash, hash, KEY_HASH_LEN);
    list_add_last(&heads->waiting, &h->link);
    read->wait->cancel = cancel_read;
    read->wait->call = h;
    return NEXT_WAIT;
}

/* ---- looking up changed authors ---- */

static int compare_versions(const void *a, const void *b)
{
    const struct author_version *x = a, *y = b;
    return (x->author_row > y->author_row) - (x->author_row < y->author_row);
}

static bool decode_heads(void *ctx, const struct pg_result *result)
{
    struct changes_read *c = ctx;
    struct pg_cursor cursor;
    enum err err;
    const int rows = pg_result_rows(result);
    pg_links_report_slow(PG_READ_HEADS, &c->reply);
    free(c->versions);
    c->versions = xmalloc((size_t)rows * sizeof c->versions[0]);
    c->count = 0;
    pg_received_begin(&cursor, result);
    struct sql_statement *q = &cursor.statement;
    while (sql_row(&pg_received, q, &err))
        c->versions[c->count++] = (struct author_version){
            .author_row = sql_i64(q, 0),
            .version = version_of(sql_i64(q, 1), sql_i64(q, 2), &c->reply.incarnation)};
    qsort(c->versions, (size_t)c->count, sizeof c->versions[0], compare_versions);
    return true;
}

/* Moves the requests whose author has changed. Also moves requests whose author is not in the result of the
 * read, for example because the request began to wait after the read was sent. */
static void move_changed(const struct changes_read *c)
{
    for (struct list *link = c->waiting->next, *next; link != c->waiting; link = next) {
        const struct author_watch *watch = LIST_ENTRY(link, struct author_watch, link);
        const struct author_version key = {.author_row = watch->author_row};
        const struct author_version *found =
            c->count ? bsearch(&key, c->versions, (size_t)c->count, sizeof c->versions[0], compare_versions)
                     : NULL;
        next = link->next;
        if (found && found->version == watch->version)
            continue;
        list_remove(link);
        list_add_last(c->changed, link);
    }
}

static enum next end_changes(struct changes_read *c)
{
    struct store_read *read = c->read;
    if (!c->reply.err)
        move_changed(c);
    free(c->versions);
    c->versions = NULL;
    c->count = 0;
    c->read = NULL;
    return store_read_end(read, c->reply.err);
}

static void on_changes_reply(struct waiter *w)
{
    struct changes_read *c = LIST_ENTRY(w, struct changes_read, wait);
    struct waiter *waiter = c->read->wait;
    (void)end_changes(c);
    waiter_complete(waiter);
}

static void cancel_changes(struct waiter *w)
{
    struct changes_read *c = w->call;
    waiter_cancel(&c->wait);
    free(c->versions);
    c->versions = NULL;
    c->read = NULL;
}

static void encode_authors(struct list *waiting, struct pg_params *params)
{
    int count = 0;
    for (struct list *link = waiting->next; link != waiting; link = link->next)
        count++;
    int64_t *rows = xmalloc((size_t)count * sizeof *rows);
    count = 0;
    for (struct list *link = waiting->next; link != waiting; link = link->next)
        rows[count++] = LIST_ENTRY(link, struct author_watch, link)->author_row;
    pg_params_init(params);
    pg_params_add_i64s(params, rows, count);
    free(rows);
}

enum next pg_heads_find_changes(struct pg_heads *heads, struct store_read *read, struct list *waiting,
                                struct list *changed)
{
    struct changes_read *c = &heads->changes;
    struct pg_params params;
    CHECK(!c->read);
    read->err = OK;
    if (list_is_empty(waiting) || clock_work_us() - c->started_us < CHANGES_EVERY_US)
        return NEXT_MORE;
    *c = (struct changes_read){.wait.wake = on_changes_reply,
                               .reply = {.decode = decode_heads, .ctx = c},
                               .read = read,
                               .waiting = waiting,
                               .changed = changed,
                               .started_us = clock_work_us()};
    store_read_begin(read);
    encode_authors(waiting, &params);
    if (pg_links_query(heads->link, PG_READ_HEADS, &params, &c->wait, &c->reply) == NEXT_MORE)
        return end_changes(c);
    read->wait->cancel = cancel_changes;
    read->wait->call = c;
    return NEXT_WAIT;
}

/* ---- opening and closing ---- */

enum err pg_heads_open(struct pg_heads **out, struct store *s, const struct store_options *options,
                       struct error *error)
{
    struct pg_heads *heads = xcalloc(1, sizeof *heads);
    const enum err err = pg_links_open(&heads->link, options, PG_LINK_HEADS, 0, error);
    if (err) {
        free(heads);
        return err;
    }
    heads->store = s;
    heads->held_max = pg_links_held_max(options, PG_LINK_HEADS);
    list_init(&heads->waiting);
    CHECK(uv_prepare_init(options->loop, &heads->prepare) == 0);
    CHECK(uv_prepare_start(&heads->prepare, on_prepare) == 0);
    heads->prepare.data = heads;
    *out = heads;
    return OK;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

struct pg_status pg_heads_get_status(const struct pg_heads *heads)
{
    return pg_link_get_status(heads->link);
}

struct pg_counts pg_heads_get_counts(const struct pg_heads *heads)
{
    return pg_link_get_counts(heads->link);
}

void pg_heads_close(struct pg_heads *heads)
{
    if (!heads)
        return;
    CHECK(list_is_empty(&heads->waiting) && !heads->changes.read);
    pg_session_forbid_waits(false);
    pg_link_close(heads->link, NULL, NULL);
    uv_close((uv_handle_t *)&heads->prepare, on_closed);
}
