/* Runs reads of the event loop, or passes them to the store's driver. */
#include "store/row_read.h"

#include "base/check.h"
#include "store/handle.h"

enum err row_read_pass(struct store *s, struct sql *sql, struct sql_statement *q,
                       const struct row_reader *reader, void *ctx)
{
    bool has_row = false;
    enum err err = OK;
    while (sql_row(sql, q, &err)) {
        has_row = true;
        if (!reader->row(s, q, ctx, &err)) {
            sql_reset(q);
            break;
        }
    }
    if (!err && !has_row && reader->needs_row)
        err = ERR_NOT_FOUND;
    return reader->end ? reader->end(s, ctx, err) : err;
}

/* A caller without a waiter, such as a command, cannot wait. Its reads block. */
static struct row_driver *driver_of(const struct store_read *read)
{
    return read->wait ? read->store->driver : NULL;
}

struct sql_statement *row_read_use(struct store_read *read, enum query query)
{
    struct row_driver *driver = driver_of(read);
    store_read_begin(read);
    return driver ? driver->use(read, query) : sql_use(read->store->sql, query);
}

enum next row_read_run(struct store_read *read, struct sql_statement *q, const struct row_reader *reader,
                       void *ctx, size_t size)
{
    struct row_driver *driver = driver_of(read);
    CHECK(size <= ROW_READ_CTX_MAX);
    if (driver)
        return driver->run(read, q, reader, ctx, size);
    return store_read_end(read, row_read_pass(read->store, read->store->sql, q, reader, ctx));
}
