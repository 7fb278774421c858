/* A request and the engine that runs its steps.
 *
 * For every complete request (head and body) the server looks up its application and route (http/router.h)
 * and runs the application's first step. A step does a piece of work and RETURNS what comes next
 * (base/next.h); before NEXT_MORE, NEXT_WAIT and NEXT_YIELD it has set `r->step` to the function that goes
 * on. The response is built in r->res (http/response.h) and sent when a step returns NEXT_DONE.
 *
 * A request is never run after its client has gone, its deadline has passed or the server is forced to stop:
 * an armed wait is cancelled, on_free is called, and the memory goes back. Requests of one connection run one
 * after the other. */
#ifndef VT_HTTP_REQUEST_H
#define VT_HTTP_REQUEST_H

#include "base/arena.h"
#include "base/next.h"
#include "base/uuid.h"
#include "http/response.h"

enum http_method { METHOD_GET, METHOD_HEAD, METHOD_POST, METHOD_OPTIONS, METHOD_OTHER };

/* The header fields that anything here looks at; the parser keeps these and drops the others. A field given
 * several times is joined with ", " (RFC 9110, 5.3), and `field_count` says how often it came. */
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
    FIELD_EXTRA, /* the one that http_options.extra_field names */
    FIELD_COUNT
};

struct http_app;
struct route;
struct request;
typedef enum next request_step(struct request *r);

struct request {
    /* From the client; all of it lives in `arena`. */
    enum http_method method;
    struct str target; /* as sent; for the log */
    struct str path;   /* of the target, still percent-encoded; begins with '/' (absolute-form already
                          stripped), or "*" */
    struct str query;  /* behind '?', still encoded; p == NULL: none */
    struct str field[FIELD_COUNT]; /* p == NULL: not sent */
    unsigned char field_count[FIELD_COUNT];
    struct str body;

    /* Set by the server. */
    struct str id;             /* X-Request-Id: the client's when well formed, else ours */
    struct str client_address; /* numeric; of the peer, or from X-Forwarded-For of a trusted proxy; "unix" for
                                  a Unix socket */
    bool peer_is_trusted; /* the connection comes from a trusted proxy: what it says of the client holds */
    int64_t started_ms;   /* monotonic; the first byte */
    int64_t arrived_us;   /* clock_work_us(), of the last byte */
    /* Set by the router; see http/router.h. */
    const struct http_app *app;
    const struct route *route; /* NULL: no route matches the path */
    struct str path_parameter; /* the segment that "{…}" of the route matches, still percent-encoded */
    bool client_ended;         /* the client sends nothing more, and has most likely gone: an answer that may
                                  be given early should be. A sleeping request is woken when it happens */

    /* For counts and logs; the handler says what it knows. All of it static or in the arena. */
    const struct uuid *key_id, *author_id; /* NULL: not known */
    const char *limiter;                   /* who decided on the rate; NULL: nobody was asked */

    /* The handler's. */
    request_step *step;
    void *state;        /* the endpoint's own struct, in the arena */
    struct waiter wait; /* for starters; `wake` is the engine's */
    /* Optional: the request is over or given up; releases what is not in the arena. */
    void (*on_free)(struct request *r);
    void *on_free_ctx;
    struct arena arena;
    struct response res;
};

/* "GET"; "other" for METHOD_OTHER. */
const char *request_method_name(enum http_method m);

/* Arms r's wait on the server's tick: the next step runs when `deadline_ms` (monotonic) has come or when
 * request_wake() is called, whichever is first. Resolution: the server's tick. For long polls. The step may
 * also find that neither has happened: then it sleeps again. */
enum next request_sleep(struct request *r, int64_t deadline_ms);
/* Does nothing when the request does not sleep. The step runs in the next turn of the loop, not in here. */
void request_wake(struct request *r);

/* Sends what r->res.body holds so far and empties it. The first call fixes status and headers and switches to
 * chunked (HTTP/1.0: until close). NEXT_YIELD when the socket takes it, NEXT_WAIT when the client has to read
 * first: back-pressure. HEAD: NEXT_DONE, nothing more is wanted. Set r->step before. An ETag must have been
 * set by the handler. */
enum next request_flush(struct request *r);

/* The answer cannot be completed truthfully. When the client got a part of it, the connection is closed
 * without the last chunk; else it is a 500. Returns NEXT_DONE. */
enum next request_abort(struct request *r, const char *reason);

/* A slice of work is over: more than SLICE_US microseconds since `start_us` (clock_work_us). */
enum { SLICE_US = 1200 };
bool request_time_slice_ended(int64_t start_us);

#endif
