/* Builds, signs and sends the message of one event. */
#include "webhook/delivery.h"

#include "api/render.h"
#include "base/check.h"
#include "base/clock.h"
#include "net/retry_after.h"
#include "vault/webhook_secrets.h"
#include "webhook/webhook_signature.h"
#include "webhook/webhook_url.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODY_MAX = 256 * 1024, ARENA_BYTES = 2048, SCAN_EVENTS = 500 };

void delivery_free(struct delivery *d)
{
    if (d->call)
        http_client_cancel(d->call);
    list_remove(&d->link);
    buf_fini(&d->body);
    arena_fini(&d->arena);
    free(d->origin);
    free(d);
}

/* ---- body of the message ---- */

static void begin_body(struct delivery *d, const char *type, int64_t timestamp)
{
    json_open(&d->body, '{');
    JSON_STR(&d->body, "type", str_from_cstr(type));
    JSON_TIME(&d->body, "timestamp", timestamp);
    JSON_KEY(&d->body, "data");
}

/* Returns true if the event is to be sent: for DELIVERY_MANUAL, if it is the requested event; otherwise, if
 * the endpoint has subscribed to its type. If a requested event no longer exists, the read finds the next
 * event instead, which must not be sent under the id of the requested one. */
static bool is_to_be_sent(const struct delivery *d, const struct event *event)
{
    if (d->result.kind == DELIVERY_MANUAL)
        return event->id == d->result.event_id;
    return webhook_is_subscribed(&d->endpoint, event->type);
}

/* Writes the message of the first event that is to be sent. Returns true to continue with the next event. */
static bool on_event(void *ctx, const struct event *event, const struct video_ref *video,
                     const struct book_ref *book)
{
    struct delivery *d = ctx;
    if (!is_to_be_sent(d, event))
        return true;
    d->result.event_id = event->id;
    begin_body(d, render_event_types[event->type], event->occurred_at);
    render_event(&d->body, event, video, book);
    json_close(&d->body, '}');
    return false;
}

static void write_test(struct delivery *d, int64_t now_ms)
{
    begin_body(d, "webhook.test", now_ms);
    json_open(&d->body, '{');
    JSON_UUID(&d->body, "endpoint_id", &d->endpoint.id);
    JSON_STR(&d->body, "message", STR("This is a test. No video has reached a milestone."));
    json_close(&d->body, '}');
    json_close(&d->body, '}');
}

/* ---- preparing a delivery ---- */

static struct delivery *delivery_new(struct store *s, int64_t endpoint_row, enum delivery_kind kind,
                                     int64_t now_ms, enum err *err)
{
    struct delivery *d = xcalloc(1, sizeof *d);
    struct str origin, path;
    list_init(&d->link);
    arena_init(&d->arena, ARENA_BYTES);
    buf_init(&d->body, BODY_MAX);
    *err = store_get_webhook(s, &d->arena, endpoint_row, &d->endpoint);
    if (*err) {
        *err = *err == ERR_NOT_FOUND ? OK : *err; /* the endpoint was deleted after it was listed */
        delivery_free(d);
        return NULL;
    }
    webhook_url_split(d->endpoint.url, &origin, &path);
    d->origin = xcalloc(1, origin.len + 1);
    memcpy(d->origin, origin.p, origin.len);
    d->result = (struct delivery_result){.kind = kind, .position = d->endpoint.position, .at = now_ms};
    return d;
}

static bool is_waiting(const struct webhook_endpoint *e, int64_t now_ms)
{
    return e->next_attempt_at != TIME_NONE && e->next_attempt_at > now_ms &&
           e->next_attempt_at <= now_ms + 2 * (int64_t)DAY_MS;
}

static void fail(struct delivery *d, const char *reason)
{
    (void)snprintf(d->result.error, sizeof d->result.error, "not sent: %s", reason);
}

/* Reads at most `limit` events after the id `after`. Returns true if on_event() has written the message of
 * one of these events. If the message is too large, also sets result.error. */
static bool read_event(struct store *s, struct delivery *d, int64_t after, int limit,
                       struct events_progress *progress, enum err *err)
{
    struct store_read read = {.store = s};
    const struct events_query query = {.author_row = d->endpoint.author_row,
                                       .bound = after,
                                       .occurred_after = INT64_MIN,
                                       .limit = limit,
                                       .scan_limit = limit};
    const enum next next = store_list_events(&read, &query, on_event, d, progress);
    CHECK(next == NEXT_MORE);
    *err = read.err;
    if (d->body.failed)
        fail(d, "the message is too large");
    return !read.err && d->body.len > 0;
}

struct delivery *delivery_prepare(struct store *s, int64_t endpoint_row, int64_t now_ms, enum err *err)
{
    struct events_progress progress;
    struct delivery *d = delivery_new(s, endpoint_row, DELIVERY_NEXT, now_ms, err);
    if (!d)
        return NULL;
    const struct webhook_endpoint *e = &d->endpoint;
    if (e->state == WEBHOOK_ACTIVE && e->plan_active && e->is_connected && !is_waiting(e, now_ms)) {
        if (read_event(s, d, e->position, SCAN_EVENTS, &progress, err))
            return d;
        if (!*err && progress.scanned_to > e->position) {
            d->result.kind = DELIVERY_SKIP;
            d->result.event_id = progress.scanned_to;
            return d;
        }
    }
    delivery_free(d);
    return NULL;
}

struct delivery *delivery_prepare_manual(struct store *s, int64_t endpoint_row, int64_t event_id,
                                         int64_t now_ms, enum err *err)
{
    struct events_progress progress;
    struct delivery *d = delivery_new(s, endpoint_row, DELIVERY_MANUAL, now_ms, err);
    if (!d)
        return NULL;
    d->result.event_id = event_id;
    if (d->endpoint.state != WEBHOOK_GONE && d->endpoint.plan_active && d->endpoint.is_connected) {
        if (!event_id)
            write_test(d, now_ms);
        else if (!read_event(s, d, event_id - 1, 1, &progress, err) && *err) {
            delivery_free(d);
            return NULL;
        }
    }
    if (!d->body.len)
        fail(d, "the webhook has ended (status 410), the plan is inactive, the app is disconnected, or the "
                "event no longer exists");
    return d;
}

/* ---- signing and sending a delivery ---- */

static void on_response(void *ctx, const struct http_result *http)
{
    struct delivery *d = ctx;
    struct delivery_result *r = &d->result;
    d->call = NULL;
    r->took_ms = http->took_ms;
    if (http->error == TRANSPORT_OK) {
        r->status = http->response.status;
        webhook_judge_status(r);
        if (r->status == 429 || r->status == 503)
            r->retry_after_ms = http_retry_after_ms(&http->response, clock_wall_ms());
    } else {
        (void)snprintf(r->error, sizeof r->error, "%s: %s", transport_error_name(http->error), http->why);
    }
    d->done(d);
}

static struct str message_id(struct delivery *d)
{
    char uuid[UUID_TEXT_LEN];
    const bool is_test = !d->result.event_id;
    uuid_format(&d->endpoint.id, uuid);
    return arena_printf(&d->arena, "%.*s.%s_%lld", UUID_TEXT_LEN, uuid, is_test ? "test" : "evt",
                        (long long)(is_test ? d->endpoint.attempts + 1 : d->result.event_id));
}

static enum err add_signature(struct delivery *d, struct seal_keys *keys, struct str sealed, struct str id,
                              struct buf *out)
{
    uint8_t secret[WEBHOOK_SECRET_LEN];
    char signature[WEBHOOK_SIGNATURE_ROOM];
    const struct webhook_secret_place place = webhook_secret_place_of(&d->endpoint);
    const enum err err = webhook_secret_open(keys, &place, sealed, secret);
    if (err)
        return err;
    webhook_sign(secret, sizeof secret, id, d->result.at / SECOND_MS, buf_str(&d->body), signature);
    sodium_memzero(secret, sizeof secret);
    buf_append(out, out->len ? STR(" ") : STR(""));
    buf_append(out, str_from_cstr(signature));
    return OK;
}

/* Signs with the current secret and, for a day after a rotation, also with the old one. */
static enum err sign(struct delivery *d, struct seal_keys *keys, struct str id, struct buf *out)
{
    const struct webhook_endpoint *e = &d->endpoint;
    const enum err err = add_signature(d, keys, e->secret, id, out);
    if (err || !e->old_secret.p || e->old_secret_until == TIME_NONE || e->old_secret_until <= d->result.at)
        return err;
    return add_signature(d, keys, e->old_secret, id, out);
}

enum err delivery_send(struct delivery *d, struct http_client *http, struct seal_keys *keys,
                       void (*done)(struct delivery *d), void *ctx)
{
    char room[2 * WEBHOOK_SIGNATURE_ROOM];
    struct buf signature = buf_on(room, sizeof room);
    const struct str id = message_id(d);
    struct str origin, path;
    CHECK(d->result.kind != DELIVERY_SKIP && d->body.len && !*d->result.error);
    const enum err err = sign(d, keys, id, &signature);
    if (err)
        return err;
    webhook_url_split(d->endpoint.url, &origin, &path);
    const struct http_request request = {
        .origin = d->origin,
        .method = "POST",
        .path = path,
        .content_type = STR("application/json"),
        .body = buf_str(&d->body),
        .headers = {{STR("webhook-id"), id},
                    {STR("webhook-timestamp"),
                     arena_printf(&d->arena, "%lld", (long long)(d->result.at / SECOND_MS))},
                    {STR("webhook-signature"), buf_str(&signature)}},
        .header_count = 3,
    };
    d->done = done;
    d->ctx = ctx;
    d->call = http_client_send(http, &request, on_response, d);
    return OK;
}
