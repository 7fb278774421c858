/* A question is its route, whose data it is about, and the rest of its target as it was sent: two spellings
 * of one question are two, which costs room and is never wrong. An answer is kept with the author's revision
 * (an answer of the feed with the feed's) that the question met, which is that of before the answer was made
 * or an older one, never a newer. */
#include "api/kept.h"

#include "api/cache.h"
#include "api/router.h"
#include "base/clock.h"

static struct cache_key key_of(const struct request *r)
{
    const struct call *call = call_of(r);
    bool by_key = call->route->flags & ROUTE_BY_KEY;
    bool by_feed = call->route->flags & ROUTE_BY_FEED;
    int64_t revision = by_feed ? call->owner.feed_rev : call->owner.author_rev;
    struct cache_key key = {
        .route = call->route,
        .scope = by_key ? call->owner.key_row : call->owner.author_row,
        .path = call->path_tail,
        .query = r->query,
        /* What the account says of a key: only the time of its last use ever changes. */
        .revision = revision + (by_key ? call->owner.last_used_at : 0),
    };
    if (call->route->flags & ROUTE_BY_ACCEPT)
        key.accept = r->field[FIELD_ACCEPT];
    return key;
}

bool kept_answer(struct request *r)
{
    struct call *call = call_of(r);
    struct cache_key key = key_of(r);
    const struct cached *kept = cache_find(call->api->cache, &key, clock_wall_ms());
    if (!kept)
        return false;
    r->res.status = 200;
    r->res.content_type = kept->content_type;
    r->res.etag = kept->etag;
    if (call->route->on_kept)
        call->route->on_kept(r, kept->facts);
    response_lend_body(r, kept->body, kept->pages, cache_release, (void *)(uintptr_t)kept);
    return true;
}

void kept_offer(struct request *r)
{
    const struct call *call = call_of(r);
    const struct response *res = &r->res;
    bool whole =
        (res->status == 200 || res->status == 304) && !res->streaming && !res->fixed_body.p && res->body.len;
    if (!call->counted || !whole || res->field_count || !call->valid_until_ms)
        return;
    struct cache_key key = key_of(r);
    struct cached answer = {
        .body = buf_str(&res->body), .etag = res->etag, .content_type = res->content_type};
    memcpy(answer.facts, call->facts, sizeof answer.facts);
    cache_offer(call->api->cache, &key, &answer, clock_wall_ms(), call->valid_until_ms);
}
