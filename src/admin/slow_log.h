/* Logs slow requests to the diagnostic log. */
#ifndef VT_ADMIN_SLOW_LOG_H
#define VT_ADMIN_SLOW_LOG_H

#include "http/router.h"

/* Logs a request that has ended, if it took at least `slow_ms`. `us` is the time since its arrival in
 * microseconds. The time in which the request slept (a long poll) or the client read the response does not
 * count. Logs nothing if `slow_ms` is 0. The line contains neither the URL nor the body of the request, and
 * of its header fields only the ids of the request and the trace, and the client address. */
void slow_log_append(const struct request *r, int64_t us, int64_t slow_ms);

#endif
