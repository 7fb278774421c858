/* GET /books: all books of the author, newest first. The list is not paginated, so the response is written in
 * slices (stream.h).
 */
#include "api/api.h"
#include "api/stream.h"

enum { BOOKS_PER_SLICE = 200 };

static const struct str BOOKS_VARIANT = {"books", 5};

struct books {
    struct stream stream;
    struct book_position last;
    bool has_last;
    int rendered;       /* number of books written in this slice */
    int64_t author_rev; /* the author's revision when this slice was read */
};

static bool on_book(void *ctx, const struct book *book, struct str author_name)
{
    struct request *r = ctx;
    struct books *books = endpoint_call_of(r)->endpoint;
    struct buf *b = &r->res.body;
    json_open(b, '{');
    JSON_UUID(b, "id", &book->id);
    JSON_STR(b, "title", book->title);
    JSON_STR(b, "subtitle", book->subtitle);
    JSON_STR(b, "author", author_name);
    JSON_I64(b, "videos_posted", book->videos_posted);
    JSON_TIME(b, "created_at", book->created_at);
    json_close(b, '}');
    books->last = (struct book_position){.created_at = book->created_at, .id = book->id};
    books->has_last = true;
    books->rendered++;
    return true;
}

static enum next books_slice_step(struct request *r);

static enum next start_body(struct request *r)
{
    struct books *books = endpoint_call_of(r)->endpoint;
    books->has_last = false;
    JSON_KEY(envelope_begin(r), "data");
    json_open(&r->res.body, '[');
    return books_slice_step(r);
}

static enum next books_slice_done_step(struct request *r)
{
    struct endpoint_call *call = endpoint_call_of(r);
    struct books *books = call->endpoint;
    if (call->read.err)
        return envelope_store_error(r, call->read.err);
    switch (stream_check(r, &books->stream, books->author_rev, BOOKS_VARIANT)) {
    case STREAM_UNCHANGED: break;
    case STREAM_RESTART: return start_body(r);
    case STREAM_ABORT: return envelope_data_changed(r);
    }
    if (books->rendered < BOOKS_PER_SLICE) {
        json_close(&r->res.body, ']');
        return envelope_end(r);
    }
    return stream_next_slice(r, &books->stream, books_slice_step);
}

static enum next books_slice_step(struct request *r)
{
    struct endpoint_call *call = endpoint_call_of(r);
    struct books *books = call->endpoint;
    books->rendered = 0;
    r->step = books_slice_done_step;
    return store_list_books(&call->read, call->owner.author_row, books->has_last ? &books->last : NULL,
                            BOOKS_PER_SLICE, on_book, r, &books->author_rev);
}

static enum next books_step(struct request *r)
{
    struct endpoint_call *call = endpoint_call_of(r);
    struct books *books = arena_alloc(&r->arena, sizeof *books);
    call->endpoint = books;
    return stream_begin(r, &books->stream, BOOKS_VARIANT) ? start_body(r) : NEXT_DONE;
}

const struct endpoint books_endpoint = {
    .route = {.path = "/books", .name = "/v1/books", .methods = ROUTE_GET, .start = books_step},
};
