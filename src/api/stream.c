/* Computes the ETag of long responses, sends completed parts, and restarts responses whose data has
 * changed. */
#include "api/stream.h"

#include "base/build_info.h"
#include "base/clock.h"

enum {
    FLUSH_BYTES = 256 << 10, /* a smaller response is sent as a whole, with a Content-Length */
    RESTARTS_MAX = 5,
};

/* Other ETags are hashes of the body. This one is computed before the body exists, from the author's
 * revision. So it also contains what can change the body while the revision stays the same: the version of
 * the program, which may write the same data in another form, and the incarnation, because after PostgreSQL
 * has lost commits, a revision can recur with other data. */
static struct str make_etag(struct request *r, int64_t author_rev, struct str variant)
{
    const struct endpoint_call *call = endpoint_call_of(r);
    char author[UUID_TEXT_LEN], store[UUID_TEXT_LEN];
    struct uuid id;
    memcpy(id.b, store_id(call->api->store), sizeof id.b);
    uuid_format(&call->owner.author_id, author);
    uuid_format(&id, store);
    return response_make_etag(r, arena_printf(&r->arena, "%s %.*s %llu %.*s %lld %.*s", build_version,
                                              UUID_TEXT_LEN, store,
                                              (unsigned long long)call->owner.incarnation, UUID_TEXT_LEN,
                                              author, (long long)author_rev, (int)variant.len, variant.p));
}

bool stream_begin(struct request *r, struct stream *s, struct str variant)
{
    s->slice_start_us = clock_work_us();
    s->author_rev = endpoint_call_of(r)->owner.author_rev;
    r->res.etag = make_etag(r, s->author_rev, variant);
    if (!response_is_not_modified(r, r->res.etag))
        return true;
    r->res.status = 304;
    return false;
}

enum next stream_next_slice(struct request *r, struct stream *s, request_step *step)
{
    r->step = step;
    bool over = request_time_slice_ended(s->slice_start_us);
    if (over)
        s->slice_start_us = clock_work_us();
    if (r->res.body.len >= FLUSH_BYTES)
        return request_flush(r);
    return over ? NEXT_YIELD : NEXT_MORE;
}

enum stream_change stream_check(struct request *r, struct stream *s, int64_t author_rev, struct str variant)
{
    if (author_rev == s->author_rev)
        return STREAM_UNCHANGED;
    if (r->res.streaming || s->restarts++ == RESTARTS_MAX)
        return STREAM_ABORT;
    response_reset(r);
    s->author_rev = author_rev;
    r->res.etag = make_etag(r, author_rev, variant);
    return STREAM_RESTART;
}
