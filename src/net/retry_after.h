/* The response header Retry-After (RFC 9110, 10.2.3). */
#ifndef VT_NET_RETRY_AFTER_H
#define VT_NET_RETRY_AFTER_H

#include "net/http_message.h"

#include <stdint.h>

/* Returns the requested wait in ms, or 0 if the header is absent, repeated or invalid. The value is a number
 * of seconds, at most UINT32_MAX, or a date. `now_ms` is the wall clock. A date that is not in the future is
 * ignored; if `now_ms` is 0, every date is ignored. The caller must limit the wait. */
int64_t http_retry_after_ms(const struct http_response *r, int64_t now_ms);

#endif
