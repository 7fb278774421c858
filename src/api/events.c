/* GET /events: the pollable feed (decision 6), with long polling. */
#include "api/api.h"
#include "api/longpoll.h"
#include "api/params.h"
#include "api/render.h"
#include "base/clock.h"

enum { LIMIT_MAX = 100, LIMIT_DEFAULT = 50, WAIT_MAX_S = 55, SCAN_A_SLICE = 2000 };
enum { FACT_AFTER, FACT_SENT, FACT_BEHIND }; /* stored with a response */
enum { P_AFTER, P_LIMIT, P_TYPE, P_OCCURRED_AFTER, P_ORDER, P_BEFORE, P_WAIT };

static const char *const type_words[] = {
    [EVENT_WENT_VIRAL] = "video.went_viral", [EVENT_MILESTONE_REACHED] = "video.milestone_reached", NULL};

struct feed {
    struct events_query query;
    struct events_progress progress;
    struct longpoll_wait poll;
    int64_t wait_until_ms; /* monotonic; 0: no long poll */
    int64_t slice_start_us;
    int limit, shown;
    bool latest, has_more;
    int64_t after; /* ascending: the position that was asked for */
    int64_t last_id, newest_id;
    int behind, behind_page;
};

/* ---- parameters ---- */

static bool refuse(struct request *r, const char *message)
{
    (void)envelope_error(r, API_INVALID_PARAMETER, "%s", message);
    return false;
}

/* `evt_(0|[1-9][0-9]{0,18})`; a number above 2^63-1 stands behind every event. */
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
    struct str after = api_call_of(r)->params[P_AFTER];
    feed->latest = param_is_given(r, P_AFTER) && str_eq(after, STR("latest"));
    if (feed->latest)
        feed->query.bound = api_call_of(r)->owner.last_event_id;
    else if (param_is_given(r, P_AFTER) && !parse_event_id(after, &feed->query.bound))
        return refuse(r, "after must be the next_cursor of a page (evt_<number>), or latest.");
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
    if (param_is_given(r, P_BEFORE) && !parse_event_id(api_call_of(r)->params[P_BEFORE], &feed->query.bound))
        return refuse(r, "before must be the next_cursor of a page (evt_<number>).");
    if (param_is_given(r, P_BEFORE) && !feed->query.descending)
        return refuse(r, "before goes with order=desc only.");
    if (feed->query.descending && param_is_given(r, P_AFTER))
        return refuse(r, "after does not go with order=desc: use before.");
    return true;
}

static bool read_query(struct request *r, struct feed *feed)
{
    int64_t limit = LIMIT_DEFAULT, wait_s = 0;
    int type = -1;
    feed->query.author_row = api_call_of(r)->owner.author_row;
    feed->query.occurred_after = INT64_MIN;
    if (!read_after(r, feed) || !param_integer(r, P_LIMIT, 1, LIMIT_MAX, &limit) ||
        !param_word(r, P_TYPE, type_words, &type) ||
        !param_time(r, P_OCCURRED_AFTER, &feed->query.occurred_after) || !read_order(r, feed) ||
        !param_integer(r, P_WAIT, 1, WAIT_MAX_S, &wait_s))
        return false;
    if (wait_s && feed->query.descending)
        return refuse(r, "wait does not go with order=desc.");
    feed->query.has_type = type >= 0;
    feed->query.type = type >= 0 ? (enum event_type)type : EVENT_WENT_VIRAL;
    feed->query.scan_limit = SCAN_A_SLICE;
    feed->limit = (int)limit;
    feed->wait_until_ms = wait_s ? r->started_ms + wait_s * SECOND_MS : 0;
    return true;
}

/* ---- the answer ---- */

static void write_event(struct buf *b, const struct event *event, const struct video_ref *video,
                        const struct book_ref *book)
{
    json_open(b, '{');
    json_key(b, STR("id"));
    render_event_id(b, event->id);
    JSON_STR(b, "type", str_from_cstr(type_words[event->type]));
    JSON_TIME(b, "occurred_at", event->occurred_at);
    json_key(b, STR("video"));
    render_event_video(b, video, book);
    if (event->type == EVENT_WENT_VIRAL) {
        JSON_I64(b, "views", event->value);
        JSON_I64(b, "threshold", event->threshold);
        JSON_I64_OR_NULL(b, "author_median_views", event->median != COUNT_NONE, event->median);
    } else {
        JSON_I64(b, "milestone", event->value);
    }
    json_close(b, '}');
}

static bool on_event(void *ctx, const struct event *event, const struct video_ref *video,
                     const struct book_ref *book)
{
    struct request *r = ctx;
    struct feed *feed = api_call_of(r)->endpoint;
    if (feed->shown == feed->limit) {
        feed->has_more = true;
        return false;
    }
    write_event(&r->res.body, event, video, book);
    feed->last_id = event->id;
    feed->newest_id = event->id > feed->newest_id ? event->id : feed->newest_id;
    feed->shown++;
    return true;
}

/* ---- where the key stands (limit/poll_positions.h): nothing of it shows in an answer ---- */

static void note_position(struct request *r, const struct feed *feed)
{
    const struct api_call *call = api_call_of(r);
    const struct poll_update note = {.after = feed->query.descending ? POSITION_UNCHANGED : feed->after,
                                     .at_ms = clock_wall_ms(),
                                     .polls = 1};
    poll_positions_record(call->api->positions, &call->owner.key_id, &note);
}

/* Whoever gets an empty page, or the newest events, stands at the head. */
static void note_answer(struct request *r, const struct feed *feed)
{
    struct api_call *call = api_call_of(r);
    struct poll_update note = {.after = POSITION_UNCHANGED, .at_ms = clock_wall_ms()};
    bool at_head = feed->query.descending ? !param_is_given(r, P_BEFORE) : !feed->shown;
    int64_t head = feed->progress.author_last_event_id > call->owner.last_event_id
                       ? feed->progress.author_last_event_id
                       : call->owner.last_event_id;
    if (at_head)
        note.after = !feed->query.descending && feed->after > head ? feed->after : head;
    if (r->method != METHOD_HEAD)
        note.sent = feed->newest_id;
    if (at_head || note.sent)
        poll_positions_record(call->api->positions, &call->owner.key_id, &note);
    if (!feed->query.descending)
        poll_positions_observe_lag(call->api->positions, feed->behind);
    call->facts[FACT_AFTER] = at_head                  ? note.after
                              : feed->query.descending ? POSITION_UNCHANGED
                                                       : feed->after;
    call->facts[FACT_SENT] = feed->newest_id;
    call->facts[FACT_BEHIND] = feed->query.descending ? -1 : feed->behind;
}

/* The same for a response from the cache. */
static void on_cache_hit(struct request *r, const int64_t facts[RESPONSE_FACTS])
{
    const struct api_call *call = api_call_of(r);
    const struct poll_update note = {.after = facts[FACT_AFTER],
                                     .sent = r->method == METHOD_HEAD ? 0 : facts[FACT_SENT],
                                     .at_ms = clock_wall_ms(),
                                     .polls = 1};
    poll_positions_record(call->api->positions, &call->owner.key_id, &note);
    if (facts[FACT_BEHIND] >= 0)
        poll_positions_observe_lag(call->api->positions, facts[FACT_BEHIND]);
}

/* ---- the end ---- */

static enum next finish_step(struct request *r)
{
    const struct feed *feed = api_call_of(r)->endpoint;
    struct buf *b = &r->res.body;
    note_answer(r, feed);
    json_close(b, ']');
    JSON_BOOL(b, "has_more", feed->has_more);
    json_key(b, STR("next_cursor"));
    if (feed->shown)
        render_event_id(b, feed->last_id);
    else if (feed->latest)
        render_event_id(b, feed->query.bound);
    else
        json_null(b);
    return envelope_end(r);
}

static enum next add_behind_step(struct request *r)
{
    struct feed *feed = api_call_of(r)->endpoint;
    feed->behind += feed->behind_page;
    return finish_step(r);
}

/* How far behind the poll was when it came: a whole page does not say. What it shows need not be counted
 * again, unless a filter has left some out. */
static enum next finish(struct request *r, struct feed *feed)
{
    struct api_call *call = api_call_of(r);
    bool has_waited = feed->poll.request != NULL;
    feed->behind = has_waited ? 0 : feed->shown;
    if (!feed->has_more || has_waited || feed->query.descending)
        return finish_step(r);
    bool filtered = feed->query.has_type || feed->query.occurred_after != INT64_MIN;
    feed->behind_page = filtered ? 0 : feed->shown;
    r->step = add_behind_step;
    return store_count_events(&call->read, call->owner.author_row, filtered ? feed->after : feed->last_id,
                              LAG_MAX + 1 - feed->behind_page, &feed->behind);
}

static enum next feed_slice_step(struct request *r);

/* A request may be held for 55 s. What it reads then is answered only if the key and the plan allow it then.
 */
static enum next woken_step(struct request *r)
{
    return api_authorize_again(r, feed_slice_step);
}

/* An empty page with time left waits for a commit; what is behind the rows already looked at is asked for
 * again then. */
static enum next finish_or_wait(struct request *r, struct feed *feed)
{
    struct longpoll *longpoll = api_call_of(r)->api->longpoll;
    if (feed->shown || !feed->wait_until_ms || clock_mono_ms() >= feed->wait_until_ms ||
        longpoll_is_draining(longpoll) || r->client_ended)
        return finish(r, feed);
    r->step = woken_step;
    return longpoll_wait(longpoll, &feed->poll, r, feed->wait_until_ms);
}

static enum next feed_slice_done_step(struct request *r)
{
    const struct api_call *call = api_call_of(r);
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
    struct api_call *call = api_call_of(r);
    struct feed *feed = call->endpoint;
    feed->query.limit = feed->limit - feed->shown + 1;
    r->step = feed_slice_done_step;
    return store_list_events(&call->read, &feed->query, on_event, r, &feed->progress);
}

static enum next events_step(struct request *r)
{
    struct api_call *call = api_call_of(r);
    struct feed *feed = arena_alloc(&r->arena, sizeof *feed);
    call->endpoint = feed;
    feed->slice_start_us = clock_work_us();
    if (!read_query(r, feed))
        return NEXT_DONE;
    feed->after = feed->query.bound;
    note_position(r, feed);
    if (feed->wait_until_ms)
        call->valid_until_ms = 0; /* an empty page is held each time */
    json_key(envelope_begin(r), STR("data"));
    json_open(&r->res.body, '[');
    /* At or beyond the head there is nothing to ask for: the owner's row said so. */
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
