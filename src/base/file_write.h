/* Writes files with write(2) and close(2). The functions return false with errno set on failure. */
#ifndef VT_BASE_FILE_WRITE_H
#define VT_BASE_FILE_WRITE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all bytes. */
bool file_write_all(int fd, const char *p, size_t len);

/* Closes `fd` unless it is -1. `ok` is whether the calls so far have succeeded; if not, errno is left
 * unchanged. Returns true if they and close(2) have succeeded. */
bool file_close(int fd, bool ok);

#endif
