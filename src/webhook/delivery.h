/* One delivery: signs the message of an event and sends it to an endpoint. */
#ifndef VT_WEBHOOK_DELIVERY_H
#define VT_WEBHOOK_DELIVERY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "net/http_client.h"
#include "vault/seal.h"
#include "webhook/webhook_rules.h"

struct delivery {
    struct list link;                 /* link in a list of the dispatcher */
    struct webhook_endpoint endpoint; /* as stored when the delivery was prepared; its texts are in `arena` */
    struct delivery_result result;
    char *origin;           /* origin of the endpoint's URL */
    uint64_t origin_hash;   /* send_queue_origin() of `origin`; set by the dispatcher */
    struct http_call *call; /* NULL if the delivery is not in flight */
    void (*done)(struct delivery *d);
    void *ctx;

    /* private */
    struct arena arena;
    struct buf body;
};

/* Prepares the delivery of the endpoint's next event. Returns NULL and sets `*err` if there is nothing to
 * send: OK if the endpoint was deleted, is not active, has no further event, or waits for its next attempt,
 * if its app is disconnected, or if the author's plan is inactive. If the endpoint has not subscribed to the
 * types of the next events, the result has the kind DELIVERY_SKIP; if the message is too large, result.error
 * contains this reason. In both cases, the caller must store the result without calling delivery_send(). */
struct delivery *delivery_prepare(struct store *s, int64_t endpoint_row, int64_t now_ms, enum err *err);

/* Like delivery_prepare(), but for the event that a person has requested; `event_id` 0 requests a test
 * message. Also delivers to an endpoint in the state "paused" or "failed", so that an author can test the
 * receiver before resuming the endpoint. If the message must not be sent, for example because the plan is
 * inactive or the event no longer exists, result.error contains the reason, and the caller must store the
 * result without calling delivery_send(). */
struct delivery *delivery_prepare_manual(struct store *s, int64_t endpoint_row, int64_t event_id,
                                         int64_t now_ms, enum err *err);

/* Signs and sends the message. Stores `ctx` in d->ctx. Calls `done` once when d->result is complete, never
 * before delivery_send() has returned. If the secret cannot be decrypted, returns an error and never calls
 * `done`. Precondition: d->result.error is empty. */
MUST_USE enum err delivery_send(struct delivery *d, struct http_client *http, struct seal_keys *keys,
                                void (*done)(struct delivery *d), void *ctx);

/* Cancels the call if it is in flight, and frees the delivery. */
void delivery_free(struct delivery *d);

#endif
