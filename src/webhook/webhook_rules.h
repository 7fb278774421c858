/* The rules of delivery, without I/O: when to repeat a failed delivery, and how the result of an attempt
 * changes the state of the endpoint.
 *
 *   active --delivered--> active, the position advances
 *   active --failed--> active, the event is sent again after a pause; later events wait
 *   active --failed WEBHOOK_TRIES times in a row--> failed, until a person resumes the endpoint
 *   any state --status 410--> gone */
#ifndef VT_WEBHOOK_WEBHOOK_RULES_H
#define VT_WEBHOOK_WEBHOOK_RULES_H

#include "store/webhooks.h"

/* Maximum number of attempts to deliver one event. With the pauses between them, they take three days. */
enum { WEBHOOK_TRIES = 10 };

/* The reason for a delivery. */
enum delivery_kind {
    DELIVERY_NEXT,   /* the first event after the position */
    DELIVERY_MANUAL, /* an event or a test message that a person has requested; never repeated */
    DELIVERY_SKIP,   /* nothing is sent: the endpoint has not subscribed to the events up to `event_id` */
};

struct delivery_result {
    enum delivery_kind kind;
    int64_t position; /* the endpoint's position when the attempt began */
    int64_t event_id; /* 0: a test message */
    int64_t at, took_ms;
    int status;                        /* HTTP status; 0: no response */
    int64_t retry_after_ms;            /* the wait that the receiver requests; 0: none */
    char error[WEBHOOK_ERROR_MAX + 1]; /* "": delivered */
};

/* Returns the pause in ms after `failures` failed attempts in a row, or -1 if there is no further attempt.
 * The number `random` makes the pause up to 10 percent longer or shorter, so that endpoints that failed at
 * the same time are not retried at the same time. */
int64_t webhook_pause_ms(int64_t failures, uint32_t random);

/* Returns the pause in ms if the receiver requests `retry_after_ms` with Retry-After (0: it requests none)
 * and the normal pause is `pause_ms`. A receiver can extend a pause, but only to the longest normal pause (20
 * hours). It cannot shorten a pause, because otherwise the attempts would be used up in less than three days.
 * Requests for more than three days are ignored. The number `random` makes an extended pause up to 10 percent
 * longer. */
int64_t webhook_extend_pause_ms(int64_t pause_ms, int64_t retry_after_ms, uint32_t random);

/* Sets result->error according to result->status: only 2xx is success. */
void webhook_judge_status(struct delivery_result *result);

/* Applies the result to the endpoint, which must have been read in the current transaction. Does not change
 * the position of the endpoint if a person has moved it back since the attempt began, so that old events are
 * sent again. */
void webhook_apply(struct webhook_endpoint *endpoint, const struct delivery_result *result, int64_t now_ms,
                   uint32_t random);

/* Returns true if the endpoint has subscribed to events of this type. */
bool webhook_is_subscribed(const struct webhook_endpoint *endpoint, enum event_type type);

/* Returns the name of the state: "active", "paused", "failed" or "gone". The text is static. */
const char *webhook_state_name(enum webhook_state state);

#endif
