/* Readiness: whether the process should receive requests. A degraded process can handle requests, but the
 * operator should check it. A process that is not ready should be removed from load balancing. */
#ifndef VT_ADMIN_READINESS_H
#define VT_ADMIN_READINESS_H

#include "admin/view.h"
#include "base/buf.h"

enum readiness { READINESS_READY, READINESS_DEGRADED, READINESS_NOT_READY };

/* Checks all subsystems and appends one line: `ready`, `degraded: REASON, REASON` or `not ready: REASON`. */
enum readiness readiness_check(const struct admin_view *v, struct buf *line);

#endif
