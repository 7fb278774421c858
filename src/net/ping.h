/* Sends requests to a dead man's switch: a service that alerts the operator if it no longer receives
 * requests. The caller sends a GET request after each success, for example of a backup. A failed request is
 * only logged and counted.
 *
 * The path or the query of the URL is usually a secret, so logs contain only its origin. */
#ifndef VT_NET_PING_H
#define VT_NET_PING_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct ping;

struct ping_counts {
    uint64_t succeeded, failed; /* requests; a response with a status other than 2xx counts as failed */
};

/* Creates a ping, which can send many requests. Its log lines begin with `name`, which must be a static
 * string, such as "backup". */
struct ping *ping_new(uv_loop_t *loop, const char *name);

/* Sends a request to `url`. Does nothing if `url` is "". The request ends after at most 15 seconds. If the
 * previous request is still in flight, sends nothing and counts a failure. Logs the first of several failures
 * in a row, and the next success. */
void ping_send(struct ping *p, const char *url);

const struct ping_counts *ping_get_counts(const struct ping *p);

/* Cancels a request in flight and frees the ping when the loop has closed its handles. */
void ping_close(struct ping *p);

/* For commands, which have no loop: sends one request on a new loop and blocks until the request has ended.
 * Returns true if the request succeeded or `url` is "". */
bool ping_send_blocking(const char *name, const char *url);

#endif
