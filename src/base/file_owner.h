/* Ownership of the files that a command creates beside existing ones.
 *
 * Commands are often run by the superuser, while the service runs as a user of its own. A new file therefore
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
    bool has_mode; /* copied from a file; otherwise the umask decides */
    mode_t mode;   /* permission bits */
};

enum { FILE_OWNER_TEXT_MAX = 160 };

/* Owner, group and permissions of the regular file `model`. If there is none: owner and group of its
 * directory. Returns false with errno set if the directory cannot be read either. */
bool file_owner_of(const char *model, struct file_owner *out);

/* Gives the open file, which this process has just created, to that owner. A process that may not change
 * owners (EPERM) keeps the file as its own, because that is the best it can do. Returns false with errno set
 * on any other failure. */
bool file_owner_apply(int fd, const struct file_owner *owner);

/* Opens `path` for reading and writing. Creates it if it does not exist, with the owner, group and
 * permissions of file_owner_of(model); `mode` and the umask decide the permissions if there is no such file.
 * Never follows a symbolic link. Returns -1 with errno set on failure. */
int file_open_as(const char *path, const char *model, mode_t mode);

/* Gives a file that this process has just created in the open directory `at` to the owner and group of that
 * directory. Only the superuser does that; for others it does nothing. Returns false with errno set on
 * failure. */
bool file_owner_of_directory(int fd, int at);

/* As mkdirat(), with owner and group of the directory that contains the new one. 0, or -1 with errno set. */
int file_make_directory(int at, const char *path, mode_t mode);

/* Formats "owner viewtally (999), group viewtally (999), mode 0640" of an existing file. */
void file_owner_format(const char *path, char text[FILE_OWNER_TEXT_MAX]);

#endif
