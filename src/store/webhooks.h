/* Webhooks in the database: endpoints, their newest attempts, and requests to send one event. The rules of
 * write.h apply to all functions, except those whose comment refers to read.h. */
#ifndef VT_STORE_WEBHOOKS_H
#define VT_STORE_WEBHOOKS_H

#include "base/arena.h"
#include "store/audit.h"
#include "store/model.h"
#include "store/read.h"

enum {
    WEBHOOKS_PER_AUTHOR = 10, /* endpoints that an author may create; endpoints of apps do not count */
    WEBHOOK_URL_MAX = 1000,
    WEBHOOK_ATTEMPTS_KEPT = 50,
    WEBHOOK_REQUESTS_MAX = 100, /* waiting requests per endpoint */
    WEBHOOK_ERROR_MAX = 200,
};

enum webhook_state {
    WEBHOOK_ACTIVE,
    WEBHOOK_PAUSED, /* the author or the operator has paused deliveries */
    WEBHOOK_FAILED, /* deliveries are paused because all attempts to deliver an event have failed */
    WEBHOOK_GONE,   /* the receiver has responded with status 410; deliveries have ended */
};

struct webhook_endpoint {
    int64_t row, author_row;
    int64_t app_row; /* 0: created by the author */
    struct uuid id, author_id;
    struct str url;
    int64_t types;                 /* one bit per enum event_type; 0: all types */
    struct str secret, old_secret; /* sealed; the secrets of the app if the endpoint belongs to an app */
    int64_t old_secret_until;      /* TIME_NONE: there is no old secret */
    int64_t created_at;
    enum webhook_state state;
    int64_t state_at;
    /* The next event to deliver is the first one after this id that has a type in `types`. Initially the id
     * of the author's newest event. */
    int64_t position;
    int64_t failures;        /* number of failed attempts to deliver the first event after the position */
    int64_t next_attempt_at; /* TIME_NONE: immediately */
    int64_t attempts;        /* number of the newest attempt */
    struct str app_name;     /* p == NULL: created by the author */
    struct str app_client_id;
    bool is_connected; /* false: the author has disconnected the app, or the app's webhook URL has changed
                          since the author's consent */
    bool plan_active;
    int64_t last_event_id; /* id of the author's newest event */
};

/* Called for each endpoint. The texts of the endpoint are valid until the function returns. */
typedef bool (*store_webhook_fn)(void *ctx, const struct webhook_endpoint *endpoint);

/* Inserts an endpoint and sets endpoint->row. Returns ERR_EXISTS if the app already has an endpoint for this
 * author. */
MUST_USE enum err store_insert_webhook(struct store *s, struct webhook_endpoint *endpoint);
/* Deletes an endpoint with its attempts and requests. */
MUST_USE enum err store_delete_webhook(struct store *s, int64_t row);
/* Finds the endpoint that an app has for an author. The texts are copied into the arena. */
MUST_USE enum err store_find_app_webhook(struct store *s, struct arena *a, int64_t app_row,
                                         int64_t author_row, struct webhook_endpoint *out);
/* Find an endpoint by id or by row. The texts are copied into the arena. */
MUST_USE enum err store_find_webhook(struct store *s, struct arena *a, const struct uuid *id,
                                     struct webhook_endpoint *out);
MUST_USE enum err store_get_webhook(struct store *s, struct arena *a, int64_t row,
                                    struct webhook_endpoint *out);
/* Lists at most `limit` endpoints of any author in ascending order of their rows, beginning after row
 * `after`. */
MUST_USE enum err store_list_webhooks(struct store *s, int64_t after, int limit, store_webhook_fn fn,
                                      void *ctx);
/* Like store_list_webhooks(), but lists only due endpoints: those that are active, whose author has an active
 * plan and an event after the position, and whose next attempt is at or before `now`. An endpoint whose next
 * attempt is more than two days after `now` is due, too, because only a clock that was set back can have
 * caused this. Includes endpoints whose app is not connected. */
MUST_USE enum err store_list_due_webhooks(struct store *s, int64_t after, int64_t now, int limit,
                                          store_webhook_fn fn, void *ctx);
/* Sets `*at` to the earliest next_attempt_at of an active endpoint after `now`, or to INT64_MAX if no attempt
 * is scheduled. */
MUST_USE enum err store_next_webhook_attempt(struct store *s, int64_t now, int64_t *at);
/* Lists the author's endpoints in ascending order of their rows, including endpoints of apps. The rules of
 * read.h apply. */
enum next store_read_webhooks(struct store_read *read, int64_t author_row, int limit, store_webhook_fn fn,
                              void *ctx);
/* Finds an endpoint of the author by id. The texts are copied into the arena. The rules of read.h apply. */
enum next store_read_webhook(struct store_read *read, struct arena *a, int64_t author_row,
                             const struct uuid *id, struct webhook_endpoint *out);
/* Counts the endpoints that the author has created. Endpoints of apps do not count. */
MUST_USE enum err store_count_webhooks(struct store *s, int64_t author_row, int64_t *count);

/* Writes the members of an endpoint that a delivery changes: state, state_at, position, failures,
 * next_attempt_at and attempts. */
MUST_USE enum err store_save_webhook(struct store *s, const struct webhook_endpoint *endpoint);
/* Writes secret, old_secret and old_secret_until of an endpoint that belongs to no app. */
MUST_USE enum err store_set_webhook_secret(struct store *s, int64_t row, struct str secret,
                                           struct str old_secret, int64_t old_secret_until);

/* Writes an entry of the audit log about the endpoint. The entry contains only the origin of the endpoint's
 * URL, because the path or query can contain a secret of the receiver, and the entry stays when the endpoint
 * is deleted. */
MUST_USE enum err store_note_webhook(struct store *s, const struct webhook_endpoint *endpoint, int64_t at,
                                     enum audit_action action, const struct actor *by);

/* --- the webhook of an app --- */

struct app_webhook {
    struct str url; /* p == NULL: the app has no webhook */
    struct str secret, old_secret;
    int64_t old_secret_until;
};
/* Writes the webhook URL and secrets of an app. */
MUST_USE enum err store_set_app_webhook(struct store *s, int64_t app_row, const struct app_webhook *webhook);
/* Reads the webhook URL and secrets of an app. The texts are copied into the arena. */
MUST_USE enum err store_get_app_webhook(struct store *s, struct arena *a, int64_t app_row,
                                        struct app_webhook *out);

/* --- sealed secrets, for the key rotation and the check of the vault --- */

struct webhook_secrets {
    int64_t row;
    bool of_app;        /* true: `row` is the row of an app; false: of an endpoint */
    int64_t author_row; /* 0 for an app */
    struct str name;    /* client id of the app, or the 16 bytes of the endpoint's UUID */
    struct str secret, old_secret;
};
typedef bool (*store_webhook_secrets_fn)(void *ctx, const struct webhook_secrets *secrets);
/* Lists at most `limit` apps or endpoints that have a secret, in ascending order of their rows, beginning
 * after row `after`. */
MUST_USE enum err store_list_webhook_secrets(struct store *s, bool of_apps, int64_t after, int limit,
                                             store_webhook_secrets_fn fn, void *ctx);
/* Replaces the sealed secrets of an app or endpoint. `old_secret` may have p == NULL. */
MUST_USE enum err store_reseal_webhook(struct store *s, const struct webhook_secrets *secrets);

/* --- attempts to deliver --- */

struct webhook_attempt {
    int64_t number;   /* per endpoint, increasing */
    int64_t event_id; /* 0: a test message */
    int64_t at, took_ms;
    int status;       /* HTTP status; 0: no response */
    struct str error; /* p == NULL: delivered */
    bool is_manual;   /* made because of a request to send one event */
};
/* Inserts an attempt and deletes the oldest attempts beyond WEBHOOK_ATTEMPTS_KEPT. */
MUST_USE enum err store_insert_webhook_attempt(struct store *s, int64_t endpoint_row,
                                               const struct webhook_attempt *attempt);
typedef bool (*store_webhook_attempt_fn)(void *ctx, const struct webhook_attempt *attempt);
/* Lists the attempts of an endpoint, newest first. The rules of read.h apply. */
enum next store_read_webhook_attempts(struct store_read *read, int64_t endpoint_row, int limit,
                                      store_webhook_attempt_fn fn, void *ctx);

/* --- requests to send one event --- */

/* Adds a request to send the event, or a test message if `event_id` is 0. Does nothing if the same request is
 * already waiting. Returns ERR_FULL if WEBHOOK_REQUESTS_MAX requests of this endpoint are waiting. */
MUST_USE enum err store_request_webhook(struct store *s, int64_t endpoint_row, int64_t event_id, int64_t now);
/* Deletes the request to send this event, if there is one. */
MUST_USE enum err store_delete_webhook_request(struct store *s, int64_t endpoint_row, int64_t event_id);
typedef bool (*store_webhook_request_fn)(void *ctx, int64_t endpoint_row, int64_t event_id);
/* Lists at most `limit` endpoints that have requests, in ascending order of their rows, beginning after row
 * `after`. Passes the request with the lowest event id of each endpoint to `fn`. */
MUST_USE enum err store_list_webhook_requests(struct store *s, int64_t after, int limit,
                                              store_webhook_request_fn fn, void *ctx);

/* --- counts for metrics --- */

struct webhook_counts {
    int64_t by_state[4]; /* endpoints by enum webhook_state */
    int64_t failing;     /* active endpoints that wait for another attempt */
};
/* Counts the endpoints of all authors by state. */
MUST_USE enum err store_count_webhook_states(struct store *s, struct webhook_counts *out);

#endif
