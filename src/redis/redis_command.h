/* Commands in Redis' protocol: arrays of bulk strings. */
#ifndef VT_REDIS_REDIS_COMMAND_H
#define VT_REDIS_REDIS_COMMAND_H

#include "base/buf.h"

/* Replaces what `b` holds. False: it does not fit into it. */
bool redis_command_format(struct buf *b, const struct str *args, int count);

#endif
