/* A server with the test application on a loop that the test turns, and clients that are plain sockets in the
 * same process. Nothing sleeps: a wait turns the loop until its condition holds and fails the test when that
 * takes seconds. */
#ifndef VT_TEST_HTTP_RIG_H
#define VT_TEST_HTTP_RIG_H

#include "base/clock.h"
#include "http/conn.h"
#include "lib/test_app.h"

struct rig {
    uv_loop_t loop;
    struct test_app app;
    struct http_server *server;
    bool closed; /* http_server_close() is through */
    char dir[64];
    int64_t *clock; /* wall, monotonic; 0: the real one */
};

/* One client. */
struct peer {
    struct rig *rig;
    int fd; /* -1: closed by the test */
    char *in;
    size_t len, cap;
    bool ended; /* the server has closed or reset */
    bool reset;
};

struct answer {
    int status;
    struct str head, body; /* chunks are still in their framing */
    bool complete, chunked;
};

/* What the server of most tests is limited by; a test changes a copy. */
struct http_limits rig_limits(void);

/* On 127.0.0.1, with `limits` (NULL: rig_limits()). The monotonic clock is the test's when `fake_clock`. */
void rig_init(struct rig *rig, const struct http_limits *limits, bool fake_clock);
/* The same with addresses of the test's own; the error of http_server_open(). */
enum err rig_open(struct rig *rig, const struct http_options *options, struct error *error);
void rig_options(struct rig *rig, const struct http_limits *limits, struct http_options *out);
/* Drains, and fails when a handle, a request or a connection is left. */
void rig_fini(struct rig *rig);

/* Begins http_server_close(). */
void rig_close(struct rig *rig);
void rig_advance(struct rig *rig, int64_t ms);
/* Turns the loop without blocking. */
void rig_turn(struct rig *rig);
void rig_turns(struct rig *rig, int n);
/* Blocks until the server's tick has come twice, so that whatever is due has happened. */
void rig_tick(struct rig *rig);

/* Turns the loop until `condition`; fails the test after some seconds. */
#define rig_until(rig, condition)                                                                            \
    do {                                                                                                     \
        int64_t rig_limit = clock_work_us() + 60000000;                                                      \
        while (!(condition)) {                                                                               \
            rig_turn(rig);                                                                                   \
            if (clock_work_us() > rig_limit)                                                                 \
                fail_msg("waited in vain for: %s", #condition);                                              \
        }                                                                                                    \
    } while (0)

void peer_open(struct peer *p, struct rig *rig);
/* To the n-th listener in the order of the options. */
void peer_open_at(struct peer *p, struct rig *rig, int n);
/* A small receive buffer, so that the server soon has to wait. */
void peer_open_narrow(struct peer *p, struct rig *rig);
void peer_fini(struct peer *p);

/* All of it; turns the loop while the socket takes no more. False: the server has closed. */
bool peer_send(struct peer *p, struct str bytes);
bool peer_send_text(struct peer *p, const char *text);
/* As much as the socket takes at once. */
size_t peer_send_some(struct peer *p, struct str bytes);
void peer_shut(struct peer *p);  /* half-close */
void peer_reset(struct peer *p); /* closes with RST */
/* Takes what has arrived. */
void peer_read(struct peer *p);
void peer_read_some(struct peer *p, size_t max);

/* The whole and the begun answers so far. heads[i] == 'H': answer i is to a HEAD. */
size_t peer_answers(const struct peer *p, const char *heads, struct answer *out, size_t max);
/* The number of complete ones. */
size_t peer_complete(struct peer *p, const char *heads);

/* Sends, waits for `n` complete answers, and gives the last one. */
struct answer peer_ask(struct peer *p, const char *request, size_t n);

/* The answers so far have these statuses: "200 400". */
void peer_expect(const struct peer *p, const char *statuses);

/* How many bytes there are in the chunks of a complete answer. */
size_t answer_chunk_bytes(const struct answer *a);

/* Setup and teardown of cmocka: a rig with the real clock or with the test's own. */
int rig_setup(void **state);
int rig_setup_with_clock(void **state);
int rig_teardown(void **state);

/* The value of a field of the answer's head, p == NULL: none. */
struct str answer_field(const struct answer *a, const char *name);

#endif
