/* Listening sockets that the service manager passes to the process: the protocol of sd_listen_fds(3). */
#ifndef VT_APP_PASSED_SOCKETS_H
#define VT_APP_PASSED_SOCKETS_H

#include "base/error.h"

#include <stddef.h>

enum { PASSED_SOCKETS_MAX = 32 };

struct passed_sockets {
    int server[PASSED_SOCKETS_MAX]; /* replace [server] listen */
    int admin[PASSED_SOCKETS_MAX];  /* sockets named "admin", which replace [admin] listen */
    size_t server_count, admin_count;
};

/* Reads $LISTEN_PID, $LISTEN_FDS and $LISTEN_FDNAMES and removes them from the environment. Sets both counts
 * to 0 and returns OK if the variables are missing or meant for another process. Returns ERR_INVALID if they
 * are malformed. */
MUST_USE enum err passed_sockets_take(struct passed_sockets *out, struct error *error);

#endif
