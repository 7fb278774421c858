/* The owner, group and permissions of new files.
 *
 * Commands are often run by the superuser, while the service runs as another user and must be able to open
 * the files. A file that a command creates therefore gets the owner and group of an existing file, the model:
 * the file that it replaces or belongs to. Without a model, it gets the owner and group of its directory. */
#ifndef VT_BASE_FILE_OWNER_H
#define VT_BASE_FILE_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct file_owner {
    uid_t uid;
    gid_t gid;
    bool has_mode; /* if false, the umask determines the permissions */
    mode_t mode;   /* permission bits */
};

enum { FILE_OWNER_TEXT_MAX = 160 };

/* Reads the owner, group and permissions of the regular file `model`. If there is no such regular file, reads
 * the owner and group of its directory. Returns false with errno set on failure. */
bool file_owner_of(const char *model, struct file_owner *out);

/* Sets the owner, group and permissions of an open file that this process has just created. If the process
 * may not change the owner (EPERM), the owner stays, and the function still succeeds. Returns false with
 * errno set on other failures. */
bool file_owner_apply(int fd, const struct file_owner *owner);

/* Opens `path` for reading and writing, and returns the file descriptor. If the file does not exist, creates
 * it with the owner, group and permissions of file_owner_of(model); without a model, the permissions are
 * `mode` less the umask. Never follows a symbolic link. Returns -1 with errno set on failure. */
int file_open_or_create_like(const char *path, const char *model, mode_t mode);

/* Gives the open file `fd`, which this process has just created, the owner and group of the open directory
 * `at`. Does nothing unless the process runs as the superuser. Returns false with errno set on failure. */
bool file_owner_inherit(int fd, int at);

/* Creates the directory `path` (relative to the open directory `at`) like mkdirat(). If the process runs as
 * the superuser, also gives it the owner and group of its parent directory. Returns 0, or -1 with errno
 * set. */
int file_make_directory(int at, const char *path, mode_t mode);

/* Describes a file for a message: "owner viewtally (999), group viewtally (999), mode 0640". The text is
 * empty if stat(2) fails, for example because the file does not exist. */
void file_owner_format(const char *path, char text[FILE_OWNER_TEXT_MAX]);

#endif
