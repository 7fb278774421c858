/* The Server-Timing field (W3C Server Timing): shows the operator where the time of a request went. A client
 * could use it to measure what other clients do, so it is sent only on request, and only to a client on this
 * machine. */
#ifndef VT_HTTP_SERVER_TIMING_H
#define VT_HTTP_SERVER_TIMING_H

#include "http/conn.h"

/* Returns true if http_options.timing is on, the request asks for the field (X-Viewtally-Timing: 1), and it
 * comes directly from a loopback address or a Unix socket: a request with X-Forwarded-For came through a
 * proxy. */
bool server_timing_is_requested(const struct conn *c);

/* Adds the field, with the times until `now_us` (clock_work_us()). Call when the head of the response is
 * written: when the response is complete, or when its first part is to be sent. */
void server_timing_add(struct request *r, int64_t now_us);

#endif
