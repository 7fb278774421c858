/* The operator's listener: /metrics, /livez, /readyz. A second HTTP server on the same loop, so that it
 * answers exactly as long as the loop turns, with connections of its own, so that clients cannot keep the
 * operator out. */
#ifndef VT_ADMIN_ADMIN_H
#define VT_ADMIN_ADMIN_H

#include "admin/view.h"

struct admin;

/* Binds [admin] listen, which is not empty. `view` must outlive it. */
MUST_USE enum err admin_open(struct admin **out, uv_loop_t *loop, const struct admin_view *view,
                             struct error *error);

/* Prints `admin listening on ADDRESS` for each address. */
void admin_announce(const struct admin *a);

/* Lets a request under way finish for a moment; then `closed` is called on the loop. */
void admin_close(struct admin *a, void (*closed)(void *ctx), void *ctx);

#endif
