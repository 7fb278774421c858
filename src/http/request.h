/* A request and the engine that runs its steps.
 *
 * For every complete request (head and body) the server looks up its application and route (http/router.h)
 * and runs the application's first step. A step does a piece of work and RETURNS what comes next
 * (base/next.h); before NEXT_MORE, NEXT_WAIT and NEXT_YIELD it has set `r->step` to the function that
 * continues. The response is built in r->res (http/response.h) and sent when a step returns NEXT_DONE.
 *
 * When the client disconnects, the deadline expires or the server is forced to stop, the request is canceled:
 * its waiter is canceled, on_free is called, the memory is released, and no further step runs. The requests
 * of one connection run one after the other. */
#ifndef VT_HTTP_REQUEST_H
#define VT_HTTP_REQUEST_H

#include "base/arena.h"
#include "base/next.h"
#include "base/uuid.h"
#include "http/response.h"

enum http_method { METHOD_GET, METHOD_HEAD, METHOD_POST, METHOD_OPTIONS, METHOD_OTHER };

/* The header fields that the parser stores; it ignores all others. A field sent several times is joined with
 * ", " (RFC 9110, 5.3), and `field_count` has the number of its lines. */
enum http_field {
    FIELD_HOST,
    FIELD_AUTHORIZATION,
    FIELD_IF_NONE_MATCH,
    FIELD_ACCEPT,
    FIELD_CONTENT_TYPE,
    FIELD_COOKIE,
    FIELD_ORIGIN,
    FIELD_SEC_FETCH_SITE,
    FIELD_X_REQUEST_ID,
    FIELD_X_FORWARDED_FOR,
    FIELD_X_FORWARDED_PROTO,
    FIELD_ACCESS_CONTROL_REQUEST_METHOD,
    FIELD_EXTRA, /* the field named by http_options.extra_field */
    FIELD_COUNT
};

struct http_app;
struct route;
struct request;
typedef enum next request_step(struct request *r);

struct request {
    /* From the client; in `arena`. */
    enum http_method method;
    struct str target; /* as sent, for the log */
    struct str path;   /* percent-encoded; begins with '/' (an absolute-form without its origin), or is "*" */
    struct str query;  /* after '?', percent-encoded; p == NULL: none */
    struct str field[FIELD_COUNT]; /* p == NULL: not sent */
    unsigned char field_count[FIELD_COUNT];
    struct str body;

    /* Set by the server. */
    struct str id;             /* the client's X-Request-Id if it is well-formed, else a generated one */
    struct str client_address; /* numeric, of the peer or from X-Forwarded-For of a trusted proxy; "unix" for
                                  a Unix socket */
    bool peer_is_trusted;      /* the peer is a trusted proxy */
    int64_t started_ms;        /* monotonic time of the first byte */
    int64_t arrived_us;        /* clock_work_us() when the request was complete */
    bool client_ended;         /* The client has shut down its side and has most likely disconnected: respond
                                  soon. Setting it wakes a sleeping request. */
    /* Set by the router; see http/router.h. */
    const struct http_app *app;
    const struct route *route; /* NULL: no route matches the path */
    struct str path_parameter; /* the segment that "{…}" of the route matches, still percent-encoded */

    /* Set by the request handler for metrics and the access log; static or in the arena. */
    const struct uuid *key_id, *author_id; /* NULL: unknown */
    const char *limiter;                   /* name of the limiter that decided; NULL: not rate-limited */

    /* The request handler's. */
    request_step *step;
    void *state;        /* the endpoint's struct, in the arena */
    struct waiter wait; /* passed to drivers; the engine sets `wake` */
    /* Called when the request ends or is canceled, to release what is not in the arena. May be NULL. */
    void (*on_free)(struct request *r);
    void *on_free_ctx;
    struct arena arena;
    struct response res;
};

/* "GET"; "other" for METHOD_OTHER. */
const char *request_method_name(enum http_method m);

/* For long polls: the next step runs at `deadline_ms` (monotonic, with the resolution of the server's tick),
 * or after request_wake(). The step must check for spurious wake-ups and sleep again. Returns NEXT_WAIT. */
enum next request_sleep(struct request *r, int64_t deadline_ms);
/* Wakes a sleeping request: its step runs in the next loop iteration. Does nothing if it is not sleeping. */
void request_wake(struct request *r);

/* Sends the content of r->res.body and empties it. The first call sends status and header fields and switches
 * to chunked transfer (HTTP/1.0: until close); the ETag must be set before. Set r->step first. Returns
 * NEXT_YIELD, or NEXT_WAIT if the socket is full and the client has to read first, or NEXT_DONE for HEAD,
 * which needs no body. */
enum next request_flush(struct request *r);

/* Reports that the response cannot be completed: a 500, or if part of it was sent, the connection is closed
 * without the last chunk. `reason` is static, for the log. Returns NEXT_DONE. */
enum next request_abort(struct request *r, const char *reason);

/* True if the time slice that began at `start_us` (clock_work_us()) is used up. */
enum { SLICE_US = 1200 };
bool request_time_slice_ended(int64_t start_us);

#endif
