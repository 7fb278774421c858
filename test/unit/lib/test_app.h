/* A small application for tests of the HTTP layer: one path for each behavior of a request handler.
 *
 *   /plain          200 with a short text (also /v1/account, for external test drivers)
 *   /echo           POST: returns the body
 *   /empty          204
 *   /big?N          N bytes
 *   /fixed          64 KiB as a constant body
 *   /stream?N       N parts of 64 KiB, flushed one by one; /abort?N: aborted after N parts
 *   /yield?N        yields N times, then 200
 *   /more?N         N steps of a millisecond each, which do not yield
 *   /sleep?MS       sleeps; the body is "slept" after a timeout, "woken" after request_wake()
 *   /late           waits until the test calls test_app_complete_late()
 *   /busy           waits for a driver that completes in the next loop iteration
 *   /arena?N        allocates N KiB from the arena of the request
 *   /hold?N         allocates like /arena, and then waits until the client disconnects
 *   /error          500, and closes the connection
 *
 * Counts started and freed requests, so that a test can check that each is freed once. */
#ifndef VT_TEST_TEST_APP_H
#define VT_TEST_TEST_APP_H

#include "base/list.h"
#include "http/server.h"

enum { PART_BYTES = 64 << 10 };

struct test_app {
    struct http_app http;
    struct router router; /* for struct http_options */
    uv_loop_t *loop;
    int begun, freed, finished, canceled, iterations;
    struct list late; /* call records of /late, including canceled ones */
    char last_id[160], last_address[64], last_target[256];
    int last_status;
};

void test_app_init(struct test_app *app, uv_loop_t *loop);
void test_app_fini(struct test_app *app);

/* Completes all calls of /late, including canceled ones. Returns their number. */
int test_app_complete_late(struct test_app *app);

#endif
