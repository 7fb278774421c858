/* One GET, blocking: for a command that asks the server of its own configuration. No host names, no TLS, no
 * redirects. */
#ifndef VT_HTTP_ASK_H
#define VT_HTTP_ASK_H

#include "base/buf.h"
#include "base/error.h"

/* `address` as in [server] listen; an address that means "all" is asked on the loopback. Fills status and
 * body (up to its maximum: beyond it the answer counts as broken). ERR_INVALID: no such address, or port 0;
 * ERR_TIMEOUT, ERR_IO. `*why` is then a sentence. */
MUST_USE enum err ask(const char *address, const char *path, int timeout_ms, int *status, struct buf *body,
                      const char **why);

#endif
