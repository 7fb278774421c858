/* A server with the test application on a loop that the test runs, and clients on plain sockets in the same
 * process. Nothing sleeps: rig_until() runs the loop until a condition holds, and fails the test after a
 * timeout. */
#ifndef VT_TEST_HTTP_RIG_H
#define VT_TEST_HTTP_RIG_H

#include "base/clock.h"
#include "http/conn.h"
#include "lib/test_app.h"

struct rig {
    uv_loop_t loop;
    struct test_app app;
    struct http_server *server;
    bool closed; /* http_server_close() has completed */
    char dir[64];
    int64_t *clock; /* [0]: wall clock, [1]: monotonic clock, in ms; NULL if the real clock is used */
};

/* One client. */
struct peer {
    struct rig *rig;
    int fd; /* -1: closed by the test */
    char *in;
    size_t len, cap;
    bool ended; /* the server has closed or reset the connection */
    bool reset;
};

struct peer_response {
    int status;
    struct str head, body; /* `body` of a chunked response includes the framing */
    bool complete, chunked;
};

/* Returns the limits that most tests use. A test may change its copy. */
struct http_limits rig_limits(void);

/* Starts a server on 127.0.0.1 with `limits` (NULL: rig_limits()). If `fake_clock`, the monotonic clock moves
 * only with rig_advance(). If `limits` has max_connections 0, no server is started; the test then calls
 * rig_open(). */
void rig_init(struct rig *rig, const struct http_limits *limits, bool fake_clock);
/* Starts the server of a rig for which rig_init() has started none. Returns the result of
 * http_server_open(). rig_options() fills in the options that rig_init() uses; a test can change them. */
enum err rig_open(struct rig *rig, const struct http_options *options, struct error *error);
void rig_options(struct rig *rig, const struct http_limits *limits, struct http_options *out);
/* Drains the server, and fails the test if a handle, a request or a connection remains. */
void rig_fini(struct rig *rig);

/* Calls http_server_close(). */
void rig_close(struct rig *rig);
/* The callback for http_server_close() and http_server_drain(): sets rig->closed. */
void rig_on_closed(void *ctx);
/* Advances the fake monotonic clock. */
void rig_advance(struct rig *rig, int64_t ms);
/* Runs one loop iteration, or n, without blocking. */
void rig_iterate(struct rig *rig);
void rig_iterate_n(struct rig *rig, int n);
/* Runs the loop until the server has ticked twice, so that everything due has been processed. */
void rig_tick(struct rig *rig);

/* Runs the loop until `condition` holds; fails the test after 60 seconds. */
#define rig_until(rig, condition)                                                                            \
    do {                                                                                                     \
        int64_t rig_limit = clock_work_us() + 60000000;                                                      \
        while (!(condition)) {                                                                               \
            rig_iterate(rig);                                                                                \
            if (clock_work_us() > rig_limit)                                                                 \
                fail_msg("timed out waiting for: %s", #condition);                                           \
        }                                                                                                    \
    } while (0)

void peer_open(struct peer *p, struct rig *rig);
/* Connects to the listener with this index (from 0) in the options of the server. */
void peer_open_on_listener(struct peer *p, struct rig *rig, int listener);
/* Connects with a small receive buffer, so that the server soon has to wait for the client. */
void peer_open_narrow(struct peer *p, struct rig *rig);
void peer_fini(struct peer *p);

/* Sends all bytes, and runs the loop so that the server can read them. Returns false if the server has closed
 * the connection. Fails the test after 60 seconds. */
bool peer_send(struct peer *p, struct str bytes);
bool peer_send_text(struct peer *p, const char *text);
/* Sends as much as the socket accepts without waiting. Returns the number of bytes sent. */
size_t peer_send_some(struct peer *p, struct str bytes);
void peer_shut(struct peer *p);  /* half-close */
void peer_reset(struct peer *p); /* closes with RST */
/* Reads the bytes that have arrived; peer_read_some() reads at most `max` of them. */
void peer_read(struct peer *p);
void peer_read_some(struct peer *p, size_t max);

/* Parses the responses read so far, including an incomplete last one, and returns their number (at most
 * `max`). heads[i] is 'H' if response i is a response to HEAD; `heads` may be NULL. */
size_t peer_responses(const struct peer *p, const char *heads, struct peer_response *out, size_t max);
/* Reads the bytes that have arrived, and returns the number of complete responses. For `heads` see
 * peer_responses(). */
size_t peer_complete(struct peer *p, const char *heads);

/* Sends the request, waits until `n` complete responses have arrived, and returns the last one. */
struct peer_response peer_request(struct peer *p, const char *request, size_t n);

/* Asserts that the responses so far have these statuses, such as "200 400". */
void peer_expect(const struct peer *p, const char *statuses);

/* Returns the number of bytes in the chunks of a complete response. */
size_t peer_chunk_bytes(const struct peer_response *a);

/* Setup and teardown for cmocka: a rig with the real clock or with a fake one. */
int rig_setup(void **state);
int rig_setup_with_clock(void **state);
int rig_teardown(void **state);

/* Returns the value of a header field. p == NULL if the field is missing. */
struct str peer_response_field(const struct peer_response *a, const char *name);

#endif
