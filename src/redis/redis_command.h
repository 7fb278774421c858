/* Formats commands in the protocol of Redis, as arrays of bulk strings. */
#ifndef VT_REDIS_REDIS_COMMAND_H
#define VT_REDIS_REDIS_COMMAND_H

#include "base/buf.h"
#include "base/error.h"

/* Replaces the content of `b` by a command. Returns false if the command does not fit into `b`. */
MUST_USE bool redis_command_format(struct buf *b, const struct str *args, int count);

#endif
