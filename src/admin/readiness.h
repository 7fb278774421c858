/* Whether the process should get requests, and what is not as it should be. */
#ifndef VT_ADMIN_READINESS_H
#define VT_ADMIN_READINESS_H

#include "admin/view.h"
#include "base/buf.h"

enum readiness { READINESS_READY, READINESS_DEGRADED, READINESS_NOT_READY };

/* Looks, and appends one line that says it: `ready`, `degraded: …, …`, `not ready: …`. */
enum readiness readiness_check(const struct admin_view *v, struct buf *line);

#endif
