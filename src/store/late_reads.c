/* Stores the bound values of a read, and runs the statement in the next loop iteration. */
#include "store/late_reads.h"

#ifdef VT_TEST_SEAMS

#include "base/check.h"
#include "store/handle.h"

#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 16 };

struct late_value {
    enum { LATE_UNBOUND, LATE_NULL, LATE_I64, LATE_TEXT, LATE_BLOB } kind;
    int64_t i64;
    char *bytes;
    size_t len;
};

struct late_reads {
    struct row_driver driver; /* first */
    uv_timer_t timer;
    struct list waiting;
};

struct late_read {
    struct sql_statement statement; /* first; records the values */
    struct list link;
    struct store_read *read;
    enum query query;
    struct late_value values[VALUES_MAX];
    const struct row_reader *reader;
    char ctx[ROW_READ_CTX_MAX];
};

/* ---- values of the statements ---- */

static struct late_value *value_of(struct sql_statement *q, int i)
{
    struct late_read *late = q->handle;
    CHECK(i >= 1 && i <= VALUES_MAX);
    return &late->values[i - 1];
}

static void bind_i64(struct sql_statement *q, int i, int64_t v)
{
    *value_of(q, i) = (struct late_value){.kind = LATE_I64, .i64 = v};
}

static void bind_null(struct sql_statement *q, int i)
{
    *value_of(q, i) = (struct late_value){.kind = LATE_NULL};
}

static void bind_blob(struct sql_statement *q, int i, const void *p, size_t len)
{
    struct late_value *v = value_of(q, i);
    *v = (struct late_value){.kind = LATE_BLOB, .bytes = xmalloc(len + 1), .len = len};
    if (len)
        memcpy(v->bytes, p, len);
}

static void bind_text(struct sql_statement *q, int i, struct str s)
{
    if (s.p)
        bind_blob(q, i, s.p, s.len);
    value_of(q, i)->kind = s.p ? LATE_TEXT : LATE_NULL;
}

static const struct sql_engine recording_sql = {
    .bind_i64 = bind_i64, .bind_null = bind_null, .bind_text = bind_text, .bind_blob = bind_blob};

static void bind_value(struct sql_statement *q, int i, const struct late_value *v)
{
    switch (v->kind) {
    case LATE_UNBOUND: break;
    case LATE_NULL: sql_bind_null(q, i); break;
    case LATE_I64: sql_bind_i64(q, i, v->i64); break;
    case LATE_TEXT: sql_bind_text(q, i, str_make(v->bytes, v->len)); break;
    case LATE_BLOB: sql_bind_blob(q, i, v->bytes, v->len); break;
    }
}

/* ---- running and completing reads ---- */

static void free_read(struct late_read *late)
{
    list_remove(&late->link);
    for (int i = 0; i < VALUES_MAX; i++)
        free(late->values[i].bytes);
    free(late);
}

static void cancel(struct waiter *w)
{
    free_read(w->call);
}

static struct sql_statement *use(struct store_read *read, enum query query)
{
    struct late_read *late = xcalloc(1, sizeof *late);
    late->statement = (struct sql_statement){.engine = &recording_sql, .handle = late};
    late->read = read;
    late->query = query;
    return &late->statement;
}

static void on_timer(uv_timer_t *timer);

static enum next run(struct store_read *read, struct sql_statement *q, const struct row_reader *reader,
                     const void *ctx, size_t size)
{
    struct late_reads *reads = (struct late_reads *)read->store->driver;
    struct late_read *late = q->handle;
    late->reader = reader;
    memcpy(late->ctx, ctx, size);
    list_add_last(&reads->waiting, &late->link);
    read->wait->cancel = cancel;
    read->wait->call = late;
    CHECK(uv_timer_start(&reads->timer, on_timer, 0, 0) == 0);
    return NEXT_WAIT;
}

static void complete(struct late_read *late)
{
    struct store_read *read = late->read;
    struct sql *sql = read->store->sql;
    struct sql_statement *q = sql_use(sql, late->query);
    for (int i = 0; i < VALUES_MAX; i++)
        bind_value(q, i + 1, &late->values[i]);
    (void)store_read_end(read, row_read_pass(read->store, sql, q, late->reader, late->ctx));
    free_read(late);
    waiter_complete(read->wait);
}

/* Completes all reads that are waiting. A read that starts during this call waits for the next iteration. */
static void on_timer(uv_timer_t *timer)
{
    struct late_reads *reads = timer->data;
    struct list due;
    list_init(&due);
    while (!list_is_empty(&reads->waiting)) {
        struct list *link = reads->waiting.next;
        list_remove(link);
        list_add_last(&due, link);
    }
    while (!list_is_empty(&due))
        complete(LIST_ENTRY(due.next, struct late_read, link));
}

/* ---- opening and closing ---- */

struct row_driver *late_reads_new(uv_loop_t *loop)
{
    if (!getenv("VIEWTALLY_TEST_LATE_READS"))
        return NULL;
    struct late_reads *reads = xcalloc(1, sizeof *reads);
    reads->driver = (struct row_driver){.use = use, .run = run};
    list_init(&reads->waiting);
    CHECK(uv_timer_init(loop, &reads->timer) == 0);
    reads->timer.data = reads;
    return &reads->driver;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void late_reads_close(struct row_driver *driver)
{
    struct late_reads *reads = (struct late_reads *)driver;
    if (!reads)
        return;
    CHECK(list_is_empty(&reads->waiting));
    uv_close((uv_handle_t *)&reads->timer, on_closed);
}

#endif
