/* Runs another program and captures its output. */
#ifndef VT_DOCTOR_CHILD_PROCESS_H
#define VT_DOCTOR_CHILD_PROCESS_H

#include "base/buf.h"
#include "base/error.h"

/* Runs the program and appends its standard output to `out`. After ten seconds, kills it and stops reading
 * from processes that it started. `arguments` begins with the name of the program and ends with NULL. If the
 * program cannot be run or fails, returns ERR_IO with the first line of its standard error output. */
MUST_USE enum err child_process_run(const char *program, const char *const arguments[], struct buf *out,
                                    struct error *error);

#endif
