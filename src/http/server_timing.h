/* The Server-Timing field (W3C Server Timing): shows the operator where the time of a request went. A client
 * could use it to measure what other clients do, so it is sent only on request, and only to a client on this
 * machine. */
#ifndef VT_HTTP_SERVER_TIMING_H
#define VT_HTTP_SERVER_TIMING_H

#include "http/conn.h"

/* Returns true if http_options.timing is on, the request asks for the field (X-Viewtally-Timing: 1), and the
 * request comes directly from a loopback address or a Unix socket. A request with X-Forwarded-For came
 * through a proxy, so the function returns false for it. */
bool server_timing_is_requested(const struct conn *c);

/* Adds the field, with the times until `now_us` (clock_work_us()). Call just before the head of the response
 * is written, which is when the response is complete or its first part is to be sent. */
void server_timing_add(struct request *r, int64_t now_us);

#endif
