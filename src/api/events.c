/* GET /events: the feed of events, also as a long poll. */
#include "api/api.h"
#include "api/longpoll.h"
#include "api/params.h"
#include "api/render.h"
#include "base/clock.h"

enum { LIMIT_MAX = 100, LIMIT_DEFAULT = 50, WAIT_MAX_S = 55, SCAN_PER_SLICE = 2000 };
enum {
    FACT_AFTER,
    FACT_SENT,
    FACT_LAG
}; /* indexes of the facts stored with a response; FACT_LAG is -1 if the lag is unknown */
enum { P_AFTER, P_LIMIT, P_TYPE, P_OCCURRED_AFTER, P_ORDER, P_BEFORE, P_WAIT };

struct feed {
    struct events_query query;
    struct events_progress progress;
    struct longpoll_wait poll;
    int64_t wait_until_ms; /* deadline of a long poll, monotonic time; 0 if the request is not a long poll */
    int64_t slice_start_us;
    int limit, rendered;
    bool latest, has_more;
    int64_t after; /* the position in the parameter `after`; only for ascending order */
    int64_t last_id, newest_id;
    int lag; /* number of events that the poll had not read yet; see finish() */
};

/* ---- query parameters ---- */

static bool reject(struct request *r, int param, const char *message)
{
    (void)envelope_param_error(r, API_INVALID_PARAMETER, endpoint_of(r)->params[param], "%s", message);
    return false;
}

/* Parses `evt_(0|[1-9][0-9]{0,18})`. A number above 2^63-1 is a position after all events. */
static bool parse_event_id(struct str s, int64_t *out)
{
    unsigned long long v;
    if (!str_starts_with(s, STR("evt_")))
        return false;
    struct str digits = str_make(s.p + 4, s.len - 4);
    if (digits.len == 0 || digits.len > 19 || (digits.p[0] == '0' && digits.len > 1) ||
        !str_to_u64(digits, UINT64_MAX, &v))
        return false;
    *out = v > INT64_MAX ? INT64_MAX : (int64_t)v;
    return true;
}

static bool read_after(struct request *r, struct feed *feed)
{
    struct str after = endpoint_call_of(r)->params[P_AFTER];
    feed->latest = param_is_given(r, P_AFTER) && str_eq(after, STR("latest"));
    if (feed->latest)
        feed->query.bound = endpoint_call_of(r)->owner.last_event_id;
    else if (param_is_given(r, P_AFTER) && !parse_event_id(after, &feed->query.bound))
        return reject(r, P_AFTER,
                      "\"after\" must be the next_cursor of a page (evt_<number>) or \"latest\".");
    return true;
}

static bool read_order(struct request *r, struct feed *feed)
{
    static const char *const words[] = {"asc", "desc", NULL};
    int order = 0;
    if (!param_word(r, P_ORDER, words, &order))
        return false;
    feed->query.descending = order == 1;
    if (feed->query.descending)
        feed->query.bound = INT64_MAX;
    if (param_is_given(r, P_BEFORE) &&
        !parse_event_id(endpoint_call_of(r)->params[P_BEFORE], &feed->query.bound))
        return reject(r, P_BEFORE, "\"before\" must be the next_cursor of a page (evt_<number>).");
    if (param_is_given(r, P_BEFORE) && !feed->query.descending)
        return reject(r, P_BEFORE, "\"before\" is allowed only with order=desc.");
    if (feed->query.descending && param_is_given(r, P_AFTER))
        return reject(r, P_AFTER, "\"after\" is not allowed with order=desc; use \"before\" instead.");
    return true;
}

static bool read_query(struct request *r, struct feed *feed)
{
    int64_t limit = LIMIT_DEFAULT, wait_s = 0;
    feed->query.author_row = endpoint_call_of(r)->owner.author_row;
    feed->query.occurred_after = INT64_MIN;
    if (!read_after(r, feed) || !param_integer(r, P_LIMIT, 1, LIMIT_MAX, &limit) ||
        !param_words(r, P_TYPE, render_event_types, &feed->query.types) ||
        !param_time(r, P_OCCURRED_AFTER, &feed->query.occurred_after) || !read_order(r, feed) ||
        !param_integer(r, P_WAIT, 1, WAIT_MAX_S, &wait_s))
        return false;
    if (wait_s && feed->query.descending)
        return reject(r, P_WAIT, "\"wait\" is not allowed with order=desc.");
    feed->query.scan_limit = SCAN_PER_SLICE;
    feed->limit = (int)limit;
    feed->wait_until_ms = wait_s ? r->started_ms + wait_s * SECOND_MS : 0;
    return true;
}

/* ---- the page of events ---- */

static bool on_event(void *ctx, const struct event *event, const struct video_ref *video,
                     const struct book_ref *book)
{
    struct request *r = ctx;
    struct feed *feed = endpoint_call_of(r)->endpoint;
    if (feed->rendered == feed->limit) {
        feed->has_more = true;
        return false;
    }
    render_event(&r->res.body, event, video, book);
    feed->last_id = event->id;
    feed->newest_id = event->id > feed->newest_id ? event->id : feed->newest_id;
    feed->rendered++;
    return true;
}

/* ---- the key's poll position (limit/poll_positions.h), which no response contains ---- */

static void record_poll(struct request *r, const struct feed *feed)
{
    const struct endpoint_call *call = endpoint_call_of(r);
    const struct poll_update update = {.after = feed->query.descending ? POSITION_UNCHANGED : feed->after,
                                       .at_ms = clock_wall_ms(),
                                       .polls = 1};
    poll_positions_record(call->api->positions, &call->owner.key_id, &update);
}

/* Updates the key's poll position. An empty page, or a page of the newest events in descending order, sets
 * the position to the newest event. */
static void record_page(struct request *r, const struct feed *feed)
{
    struct endpoint_call *call = endpoint_call_of(r);
    struct poll_update update = {.after = POSITION_UNCHANGED, .at_ms = clock_wall_ms()};
    bool at_head = feed->query.descending ? !param_is_given(r, P_BEFORE) : !feed->rendered;
    int64_t head = feed->progress.author_last_event_id > call->owner.last_event_id
                       ? feed->progress.author_last_event_id
                       : call->owner.last_event_id;
    if (at_head)
        update.after = !feed->query.descending && feed->after > head ? feed->after : head;
    if (r->method != METHOD_HEAD)
        update.sent = feed->newest_id;
    if (at_head || update.sent)
        poll_positions_record(call->api->positions, &call->owner.key_id, &update);
    if (!feed->query.descending)
        poll_positions_observe_lag(call->api->positions, feed->lag);
    call->facts[FACT_AFTER] = at_head                  ? update.after
                              : feed->query.descending ? POSITION_UNCHANGED
                                                       : feed->after;
    call->facts[FACT_SENT] = feed->newest_id;
    call->facts[FACT_LAG] = feed->query.descending ? -1 : feed->lag;
}

/* Updates the key's poll position. Called for a response from the cache, in place of record_poll() and
 * record_page(). */
static void on_cache_hit(struct request *r, const int64_t facts[RESPONSE_FACTS])
{
    const struct endpoint_call *call = endpoint_call_of(r);
    const struct poll_update update = {.after = facts[FACT_AFTER],
                                       .sent = r->method == METHOD_HEAD ? 0 : facts[FACT_SENT],
                                       .at_ms = clock_wall_ms(),
                                       .polls = 1};
    poll_positions_record(call->api->positions, &call->owner.key_id, &update);
    if (facts[FACT_LAG] >= 0)
        poll_positions_observe_lag(call->api->positions, facts[FACT_LAG]);
}

/* ---- finishing or waiting for events ---- */

static enum next finish_step(struct request *r)
{
    const struct feed *feed = endpoint_call_of(r)->endpoint;
    struct buf *b = &r->res.body;
    record_page(r, feed);
    if (feed->has_more)
        params_link_next_page(r, feed->query.descending ? P_BEFORE : P_AFTER,
                              arena_printf(&r->arena, "evt_%lld", (long long)feed->last_id));
    json_close(b, ']');
    JSON_BOOL(b, "has_more", feed->has_more);
    JSON_KEY(b, "next_cursor");
    if (feed->rendered)
        render_event_id(b, feed->last_id);
    else if (feed->latest)
        render_event_id(b, feed->query.bound);
    else
        json_null(b);
    return envelope_end(r);
}

static enum next add_lag_step(struct request *r)
{
    struct feed *feed = endpoint_call_of(r)->endpoint;
    feed->lag += feed->rendered;
    return finish_step(r);
}

/* Determines the lag of the poll, then finishes the response. The lag is the number of events on the page
 * and, if the page is full, of all events after the page. Events that a filter has excluded before the end of
 * the page are not counted, because the key has not missed them. Events after the page are counted without
 * the filter, because the filter needs a scan. */
static enum next finish(struct request *r, struct feed *feed)
{
    struct endpoint_call *call = endpoint_call_of(r);
    bool has_waited = feed->poll.request != NULL;
    feed->lag = has_waited ? 0 : feed->rendered;
    if (!feed->has_more || has_waited || feed->query.descending)
        return finish_step(r);
    r->step = add_lag_step;
    return store_count_events(&call->read, call->owner.author_row, feed->last_id,
                              LAG_MAX + 1 - feed->rendered, &feed->lag);
}

static enum next feed_slice_step(struct request *r);

/* Checks the key and the plan again: the key may have been revoked and the plan may have ended while the
 * request waited. */
static enum next woken_step(struct request *r)
{
    return api_authorize_again(r, feed_slice_step);
}

/* Finishes the response. But if it is an empty page of a long poll, waits for a change of the author instead,
 * at most until the deadline. After the wait, reading continues after the rows that have been scanned. */
static enum next finish_or_wait(struct request *r, struct feed *feed)
{
    struct longpoll *longpoll = endpoint_call_of(r)->api->longpoll;
    if (feed->rendered || !feed->wait_until_ms || clock_mono_ms() >= feed->wait_until_ms ||
        longpoll_is_draining(longpoll) || r->client_ended)
        return finish(r, feed);
    r->step = woken_step;
    return longpoll_wait(longpoll, &feed->poll, &endpoint_call_of(r)->owner, r, feed->wait_until_ms);
}

static enum next feed_slice_done_step(struct request *r)
{
    const struct endpoint_call *call = endpoint_call_of(r);
    struct feed *feed = call->endpoint;
    if (call->read.err)
        return envelope_store_error(r, call->read.err);
    if (feed->has_more || !feed->progress.more)
        return finish_or_wait(r, feed);
    feed->query.bound = feed->progress.scanned_to;
    r->step = feed_slice_step;
    if (!request_time_slice_ended(feed->slice_start_us))
        return NEXT_MORE;
    feed->slice_start_us = clock_work_us();
    return NEXT_YIELD;
}

static enum next feed_slice_step(struct request *r)
{
    struct endpoint_call *call = endpoint_call_of(r);
    struct feed *feed = call->endpoint;
    feed->query.limit = feed->limit - feed->rendered + 1;
    r->step = feed_slice_done_step;
    return store_list_events(&call->read, &feed->query, on_event, r, &feed->progress);
}

static enum next events_step(struct request *r)
{
    struct endpoint_call *call = endpoint_call_of(r);
    struct feed *feed = arena_alloc(&r->arena, sizeof *feed);
    call->endpoint = feed;
    feed->slice_start_us = clock_work_us();
    if (!read_query(r, feed))
        return NEXT_DONE;
    feed->after = feed->query.bound;
    record_poll(r, feed);
    if (feed->wait_until_ms)
        call->valid_until_ms = 0; /* a cached empty page would end a long poll immediately */
    JSON_KEY(envelope_begin(r), "data");
    json_open(&r->res.body, '[');
    /* The lookup of the key has shown that no event is newer than the position, so the read can be skipped.
     */
    if (!feed->query.descending && feed->query.bound >= call->owner.last_event_id)
        return finish_or_wait(r, feed);
    return feed_slice_step(r);
}

const struct endpoint events_endpoint = {
    .route = {.path = "/events",
              .name = "/v1/events",
              .methods = ROUTE_GET,
              .flags = ENDPOINT_BY_FEED,
              .start = events_step},
    .on_cache_hit = on_cache_hit,
    .params = {"after", "limit", "type", "occurred_after", "order", "before", "wait"},
};
