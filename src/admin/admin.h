/* The admin listener: /metrics, /livez and /readyz. It is a second HTTP server on the same loop, so that it
 * responds only while the loop runs. It has its own connection limit, so that API clients cannot lock the
 * operator out. */
#ifndef VT_ADMIN_ADMIN_H
#define VT_ADMIN_ADMIN_H

#include "admin/view.h"

struct admin;

/* Binds the addresses of [admin] listen. `view` must outlive the listener. ERR_BUSY: an address is in use. */
MUST_USE enum err admin_open(struct admin **out, uv_loop_t *loop, const struct admin_view *view,
                             struct error *error);

/* Prints `admin listening on ADDRESS` for each address. */
void admin_announce(const struct admin *a);

/* Closes the listener and gives requests in progress a short time to finish. Then calls `closed` on the loop.
 */
void admin_close(struct admin *a, void (*closed)(void *ctx), void *ctx);

#endif
