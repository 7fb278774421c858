/* Reads the nginx configuration from a file, or from the output of `nginx -T`. */
#ifndef VT_DOCTOR_NGINX_TEXT_H
#define VT_DOCTOR_NGINX_TEXT_H

#include "base/buf.h"
#include "base/error.h"

/* Appends the content of the file. */
MUST_USE enum err nginx_read_file(const char *path, struct buf *out, struct error *error);

/* Runs `nginx -T` for at most ten seconds and appends its standard output. Returns ERR_NOT_FOUND if nginx is
 * not installed, ERR_IO with the reason that nginx gave if it failed. */
MUST_USE enum err nginx_run_dump(struct buf *out, struct error *error);

#endif
