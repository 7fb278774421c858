/* The admin listener, which serves /metrics, /livez and /readyz. It is a second HTTP server on the same loop,
 * so a probe of /livez fails if the loop hangs. The listener has its own connection limit, so that API
 * clients cannot lock the operator out. */
#ifndef VT_ADMIN_ADMIN_H
#define VT_ADMIN_ADMIN_H

#include "admin/view.h"

struct admin;

/* Opens the listener: on the `passed_count` sockets in `passed` if there are any, otherwise on the addresses
 * of [admin] listen. `view` must outlive the listener. Returns ERR_BUSY if an address is in use, or another
 * error of http_server_open(). */
MUST_USE enum err admin_open(struct admin **out, uv_loop_t *loop, const struct admin_view *view,
                             const int *passed, size_t passed_count, struct error *error);

/* Prints a line `admin listening on ADDRESS` for each address. */
void admin_print_addresses(const struct admin *a);

/* Closes the listener. Requests in flight have a short time to complete. Calls `closed` on the loop when the
 * listener has closed. */
void admin_close(struct admin *a, void (*closed)(void *ctx), void *ctx);

#endif
