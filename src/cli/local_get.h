/* One blocking GET of the server that runs with this configuration, for the health check. */
#ifndef VT_CLI_LOCAL_GET_H
#define VT_CLI_LOCAL_GET_H

#include "base/buf.h"
#include "base/error.h"

/* `address` is an address of [server] listen; a wildcard address stands for the loopback address. Appends the
 * body of the response to `body`; a larger one than its maximum is ERR_IO. ERR_INVALID: `address` is not an
 * address, or its port is 0; ERR_TIMEOUT, ERR_IO. */
MUST_USE enum err local_get(const char *address, const char *path, int timeout_ms, int *status,
                            struct buf *body, struct error *error);

#endif
