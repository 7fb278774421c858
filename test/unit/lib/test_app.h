/* A small application for tests of the HTTP layer: one address for each way in which a handler can behave.
 *
 *   /plain          200, a short text (also under /v1/account, where the outside drivers look)
 *   /echo           POST: the body comes back
 *   /empty          204
 *   /big?N          N bytes; /fixed: the same bytes as a fixed body
 *   /stream?N       N parts of 64 KiB, flushed one by one; /abort?N: broken off after N parts
 *   /yield?N        N turns of the loop, then 200
 *   /more?N         N steps without a yield, each a millisecond long
 *   /sleep?MS       sleeps; says "slept" when the time is over, "woken" when something woke it
 *   /late           waits for a driver that answers when the test says so (test_app_answer_late)
 *   /busy           waits in a driver that answers by itself at the next turn of the loop
 *   /arena?N        allocates N KiB from the arena of the request
 *   /hold?N         the same, and keeps it until the client leaves
 *   /error          500, and tells the connection to close
 *
 * Counts begun and freed requests, so that a test sees that each is freed once. */
#ifndef VT_TEST_TEST_APP_H
#define VT_TEST_TEST_APP_H

#include "base/list.h"
#include "http/server.h"

enum { PART_BYTES = 64 << 10 };

struct test_app {
    struct http_app http;
    struct router router; /* for struct http_options */
    uv_loop_t *loop;
    int begun, freed, finished, cancelled, turns;
    struct list late; /* call records of /late; those whose request has gone too */
    char last_id[160], last_address[64], last_target[256];
    int last_status;
};

void test_app_init(struct test_app *app, uv_loop_t *loop);
void test_app_fini(struct test_app *app);

/* The driver's answers to all that wait at /late, also to those that have left. How many there were. */
int test_app_answer_late(struct test_app *app);

#endif
