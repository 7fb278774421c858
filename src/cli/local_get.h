/* Sends one blocking GET request to the local server, for `viewtally healthcheck` and `viewtally doctor`. */
#ifndef VT_CLI_LOCAL_GET_H
#define VT_CLI_LOCAL_GET_H

#include "base/buf.h"
#include "base/error.h"

/* Requests `path` from `address`, which has the form of [server] listen. For a wildcard address, connects
 * to the loopback address. Sets `*status` and appends the response body to `body`. Returns ERR_INVALID if
 * `address` is invalid or its port is 0, ERR_TIMEOUT after `timeout_ms`, and ERR_IO for other failures,
 * also if the response body exceeds the maximum size of `body`. */
MUST_USE enum err local_get(const char *address, const char *path, int timeout_ms, int *status,
                            struct buf *body, struct error *error);

#endif
