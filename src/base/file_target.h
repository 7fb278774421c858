/* The file that a command writes. The operator names it, so it may be a symbolic link, a device or a
 * directory. A command that creates a temporary file and renames it to the target would replace the link or
 * the device: as root, `viewtally backup /dev/null` would replace the device. */
#ifndef VT_BASE_FILE_TARGET_H
#define VT_BASE_FILE_TARGET_H

#include "base/error.h"

#include <stdbool.h>

enum { FILE_PATH_MAX = 4096 - 64 /* leaves room for suffixes */ };

/* Resolves all symbolic links of `path`. The file need not exist. Returns false with errno set on failure. */
bool file_resolve_path(const char *path, char out[FILE_PATH_MAX]);

/* Resolves all symbolic links of `path` and checks that the resulting path is a regular file or does not
 * exist. Returns ERR_INVALID if it is something else, or if `path` is empty or ends with a slash. Returns
 * ERR_IO if `path` cannot be resolved. */
MUST_USE enum err file_target_resolve(const char *path, char out[FILE_PATH_MAX], struct error *error);

#endif
