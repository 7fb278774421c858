/* A read is a struct on the heap with the parameters, a copy of the reader's context, and a waiter. When the
 * link completes this waiter, the read sets its result and completes the waiter of the caller. */
#include "store/pg/pg_reads.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/pg/pg_cursor.h"
#include "store/pg/pg_translate.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct pg_read {
    struct pg_cursor cursor; /* first */
    struct waiter wait;      /* completed by the link */
    struct pg_reply reply;
    struct store_read *read;
    enum query query;
    const struct row_reader *reader;
    enum err err; /* error of decoding the result */
    _Alignas(max_align_t) char ctx[ROW_READ_CTX_MAX];
};

/* ---- received results ---- */

static bool row(struct sql *sql, struct sql_statement *q, enum err *err)
{
    (void)sql;
    *err = OK;
    return pg_cursor_advance(pg_cursor_of(q));
}

static void reset(struct sql_statement *q)
{
    (void)q;
}

static const struct sql_engine received_engine = {.bind_i64 = pg_cursor_bind_i64,
                                                  .bind_null = pg_cursor_bind_null,
                                                  .bind_text = pg_cursor_bind_text,
                                                  .bind_blob = pg_cursor_bind_blob,
                                                  .row = row,
                                                  .reset = reset,
                                                  .i64 = pg_cursor_i64,
                                                  .i64_or = pg_cursor_i64_or,
                                                  .text = pg_cursor_text};

struct sql pg_received = {.engine = &received_engine};

void pg_received_begin(struct pg_cursor *c, const struct pg_result *result)
{
    pg_cursor_init(c, &received_engine);
    c->result = result;
}

/* ---- running and completing reads ---- */

static struct sql_statement *use(struct store_read *read, enum query query)
{
    struct pg_read *p = xmalloc(sizeof *p);
    pg_cursor_init(&p->cursor, &received_engine);
    p->read = read;
    p->query = query;
    p->err = ERR_CORRUPT; /* remains if the reply has no result, which cannot happen for a read */
    return &p->cursor.statement;
}

static bool decode(void *ctx, const struct pg_result *result)
{
    struct pg_read *p = ctx;
    struct store *s = p->read->store;
    pg_links_report_slow((int)p->query, &p->reply);
    p->cursor.result = result;
    p->cursor.row = -1;
    p->err = row_read_pass(s, &pg_received, &p->cursor.statement, p->reader, p->ctx);
    return true;
}

static enum next finish(struct pg_read *p)
{
    struct store_read *read = p->read;
    const enum err err = p->reply.err ? p->reply.err : p->err;
    free(p);
    return store_read_end(read, err);
}

static void on_reply(struct waiter *w)
{
    struct pg_read *p = LIST_ENTRY(w, struct pg_read, wait);
    struct waiter *waiter = p->read->wait;
    (void)finish(p);
    waiter_complete(waiter);
}

static void cancel(struct waiter *w)
{
    struct pg_read *p = w->call;
    waiter_cancel(&p->wait);
    free(p);
}

/* Returns the link on which the fewest reads wait. Prefers links that are up, and uses equal links in turn.
 */
static struct pg_link *choose_link(struct pg_reads *reads)
{
    enum { IS_DOWN = 2 * PG_QUEUE_MAX }; /* outweighs any number of waiting reads */
    int best = 0, least = INT_MAX;
    for (int i = 1; i <= reads->count; i++) {
        const int next = (reads->last + i) % reads->count;
        const struct pg_status link = pg_link_get_status(reads->links[next]);
        const int load = link.held + link.in_flight + (link.state == PG_UP ? 0 : IS_DOWN);
        if (load < least) {
            least = load;
            best = next;
        }
    }
    reads->last = best;
    return reads->links[best];
}

static enum next run(struct store_read *read, struct sql_statement *q, const struct row_reader *reader,
                     const void *ctx, size_t size)
{
    struct pg_reads *reads = (struct pg_reads *)read->store->driver;
    struct pg_read *p = (struct pg_read *)pg_cursor_of(q);
    struct pg_params params;
    p->reader = reader;
    memcpy(p->ctx, ctx, size);
    p->wait = (struct waiter){.wake = on_reply};
    p->reply = (struct pg_reply){.decode = decode, .ctx = p};
    pg_cursor_encode(&p->cursor, pg_translate(p->query)->param_count, &params);
    if (pg_links_query(choose_link(reads), (int)p->query, &params, &p->wait, &p->reply) == NEXT_MORE)
        return finish(p);
    read->wait->cancel = cancel;
    read->wait->call = p;
    return NEXT_WAIT;
}

/* ---- status ---- */

struct pg_status pg_reads_get_status(const struct pg_reads *reads)
{
    struct pg_status shown = pg_link_get_status(reads->links[0]);
    for (int i = 1; i < reads->count; i++) {
        const struct pg_status before = shown, link = pg_link_get_status(reads->links[i]);
        if (before.state != PG_UP && link.state == PG_UP)
            shown = link;
        shown.held = before.held + link.held;
        shown.in_flight = before.in_flight + link.in_flight;
    }
    return shown;
}

unsigned long long pg_reads_count_batches(const struct pg_reads *reads)
{
    unsigned long long count = 0;
    for (int i = 0; i < reads->count; i++)
        count += pg_link_get_counts(reads->links[i]).batches;
    return count;
}

/* ---- opening and closing ---- */

enum err pg_reads_open(struct pg_reads *reads, const struct store_options *options, struct error *error)
{
    reads->driver = (struct row_driver){.use = use, .run = run};
    CHECK(options->connections >= 1 && options->connections <= STORE_CONNECTIONS_MAX);
    while (reads->count < options->connections) {
        const enum err err =
            pg_links_open(&reads->links[reads->count], options, PG_LINK_PAGES, reads->count, error);
        if (err)
            return err;
        reads->count++;
    }
    return OK;
}

void pg_reads_close(struct pg_reads *reads)
{
    while (reads->count > 0)
        pg_link_close(reads->links[--reads->count], NULL, NULL);
}
