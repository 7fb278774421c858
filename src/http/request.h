/* A request and the engine that runs its steps.
 *
 * For every complete request (head and body) the server looks up its application and route (http/router.h)
 * and runs the application's first step. A step does a piece of work and returns an enum next (base/next.h).
 * Unless it returns NEXT_DONE, it must set `r->step` to the next step before it returns. The steps build the
 * response in r->res (http/response.h). The server sends the response when a step returns NEXT_DONE.
 *
 * If the client disconnects, the deadline expires or the server is forced to stop, the request is canceled:
 * its waiter is canceled, on_free is called, its memory is freed, and no further step runs. The requests of
 * one connection run one after another. */
#ifndef VT_HTTP_REQUEST_H
#define VT_HTTP_REQUEST_H

#include "base/arena.h"
#include "base/next.h"
#include "base/uuid.h"
#include "http/response.h"

enum http_method { METHOD_GET, METHOD_HEAD, METHOD_POST, METHOD_OPTIONS, METHOD_OTHER };

/* The header fields that the parser stores; it ignores all others. If a field is sent several times, the
 * values are joined with ", " (RFC 9110, 5.3), and request.field_count contains their number. */
enum http_field {
    FIELD_HOST,
    FIELD_AUTHORIZATION,
    FIELD_IF_NONE_MATCH,
    FIELD_ACCEPT,
    FIELD_ACCEPT_ENCODING,
    FIELD_CONTENT_TYPE,
    FIELD_COOKIE,
    FIELD_ORIGIN,
    FIELD_SEC_FETCH_SITE,
    FIELD_X_REQUEST_ID,
    FIELD_X_FORWARDED_FOR,
    FIELD_X_FORWARDED_PROTO,
    FIELD_TRACEPARENT,
    FIELD_X_VIEWTALLY_TIMING,
    FIELD_ACCESS_CONTROL_REQUEST_METHOD,
    FIELD_EXTRA, /* the field named by http_options.extra_field */
    FIELD_COUNT
};

struct http_app;
struct route;
struct request;

/* How a request has spent its time, in microseconds. */
struct request_times {
    int64_t asleep_us;   /* sleeping in request_sleep(), for a long poll without events */
    int64_t sending_us;  /* waiting for the client to read the response */
    int64_t waiting_us;  /* waiting for anything else: Redis, jobs, the writer queue */
    int64_t database_us; /* reads on the event loop; set by the request handler before the response is sent */
    /* Private to the server: */
    int64_t wait_began_us;  /* 0 if the request does not wait */
    int64_t *wait_total_us; /* the member above to which the current wait will be added */
};

/* One step of the chain of functions that handles a request. */
typedef enum next request_step(struct request *r);

struct request {
    /* Sent by the client; allocated in `arena`. */
    enum http_method method;
    struct str target;             /* as sent, without secrets (http/router.h), for the log */
    struct str path;               /* percent-encoded, without scheme and host; begins with '/', or is "*" */
    struct str query;              /* the part after '?', percent-encoded; p == NULL if there is no '?' */
    struct str field[FIELD_COUNT]; /* p == NULL if not sent */
    unsigned char field_count[FIELD_COUNT];
    struct str body;

    /* Set by the server. */
    struct str id;                  /* the client's X-Request-Id if well-formed, else a generated id */
    struct str trace_id, parent_id; /* from the client's traceparent; p == NULL if there is no valid one */
    struct str client_address;      /* numeric: the peer's, or the one that a trusted proxy sent in
                                       X-Forwarded-For; or the other texts of conn.peer */
    bool peer_is_trusted;           /* the peer is a trusted proxy */
    int64_t started_ms;             /* monotonic time of the first byte */
    int64_t arrived_us;             /* clock_work_us() when the request was complete */
    struct request_times times;
    bool client_ended; /* the client has shut down its side and has most likely disconnected, so respond soon.
                          The server wakes a sleeping request when it sets this member */
    /* Set by the router; see http/router.h. */
    const struct http_app *app;
    const struct route *route; /* NULL if no route matches the path */
    struct str path_parameter; /* the path segment that matches "{…}" of the route, still percent-encoded */

    /* Set by the request handler, for metrics and the access log. The strings are static or in the arena. */
    const struct uuid *key_id, *author_id; /* NULL if unknown */
    const char *limiter; /* the result of limiter_source_name(); NULL if the request is not rate-limited */
    bool from_cache;     /* the response comes from the response cache */

    /* Used by the request handler. */
    request_step *step; /* the next step */
    void *state;        /* the data of the request handler, in the arena */
    struct waiter wait; /* the waiter for operations that the steps start; the engine has set `wake` */
    /* Called when the request ends or is canceled, to release resources that are not in the arena. May be
     * NULL. */
    void (*on_free)(struct request *r);
    void *on_free_ctx;
    struct arena arena;
    struct response res;
};

/* Returns "GET" and so on; "other" for METHOD_OTHER. The string is static. */
const char *request_method_name(enum http_method m);

/* For long polls: suspends the request until `deadline_ms` (monotonic, with the resolution of the server's
 * tick) or until request_wake() is called. Then the next step runs. A wake-up may be spurious, so the step
 * must check its condition and sleep again if necessary. Returns NEXT_WAIT. */
enum next request_sleep(struct request *r, int64_t deadline_ms);

/* Wakes a sleeping request: its next step runs in the next loop iteration. Does nothing if the request is not
 * sleeping. */
void request_wake(struct request *r);

/* Sends the content of r->res.body and empties it. Before each call, set r->step to the next step. Before the
 * first call, also set the status and the header fields, including the ETag. The first call also sends the
 * status and the header fields, and switches to chunked transfer. For HTTP/1.0, the end of the connection
 * ends the body instead. Returns NEXT_YIELD if the content was sent, NEXT_WAIT if the socket's buffer is
 * full, or NEXT_DONE if the response needs no body (HEAD) or was aborted because of an error. */
enum next request_flush(struct request *r);

/* Gives up the response. If no part of it was sent, sends a 500. Otherwise closes the connection without the
 * last chunk. `reason` is a static string for the log. Returns NEXT_DONE. */
enum next request_abort(struct request *r, const char *reason);

/* Returns true if the time slice that began at `start_us` (clock_work_us()) is used up. A time slice is the
 * time that a request may run before the server runs other requests. */
enum { SLICE_US = 1200 };
bool request_time_slice_ended(int64_t start_us);

#endif
