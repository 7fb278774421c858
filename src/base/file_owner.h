/* Ownership of the files that a command creates beside existing ones.
 *
 * Commands are often run by the superuser, while the service runs as another user. A new file therefore
 * gets the owner and group of the file that it replaces or accompanies, or those of its directory if there is
 * no such file: otherwise the service could not open it. */
#ifndef VT_BASE_FILE_OWNER_H
#define VT_BASE_FILE_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct file_owner {
    uid_t uid;
    gid_t gid;
    bool has_mode; /* false: the umask decides */
    mode_t mode;   /* permission bits */
};

enum { FILE_OWNER_TEXT_MAX = 160 };

/* Reads owner, group and permissions of the regular file `model`, or owner and group of its directory if the
 * file does not exist. Returns false with errno set if the directory cannot be read either. */
bool file_owner_of(const char *model, struct file_owner *out);

/* Sets owner and permissions of an open file that this process has just created. A process that may not
 * change owners (EPERM) remains the owner, which is not a failure. Returns false with errno set on other
 * failures. */
bool file_owner_apply(int fd, const struct file_owner *owner);

/* Opens `path` for reading and writing. If it does not exist, creates it with the owner, group and
 * permissions of file_owner_of(model); if `model` does not exist, with the permissions `mode` less the umask.
 * Never follows a symbolic link. Returns -1 with errno set on failure. */
int file_open_as(const char *path, const char *model, mode_t mode);

/* Sets owner and group of a file that this process has just created to those of its directory, which is open
 * as `at`. Does nothing unless the process runs as the superuser. Returns false with errno set on failure. */
bool file_owner_of_directory(int fd, int at);

/* Like mkdirat(), but the new directory has the owner and group of its parent. */
int file_make_directory(int at, const char *path, mode_t mode);

/* Writes "owner viewtally (999), group viewtally (999), mode 0640", or an empty text if there is no such
 * file. */
void file_owner_format(const char *path, char text[FILE_OWNER_TEXT_MAX]);

#endif
