/* Resolves and checks the paths of files that commands write. */
#include "base/file_target.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

/* Follows one symbolic link. A relative target starts at the directory of the link. */
static bool follow(char path[PATH_MAX])
{
    char link[PATH_MAX], dir[PATH_MAX], next[2 * PATH_MAX];
    ssize_t len = readlink(path, link, sizeof link - 1);
    if (len <= 0)
        return false;
    link[len] = '\0';
    (void)snprintf(dir, sizeof dir, "%s", path);
    int n = link[0] == '/' ? snprintf(next, sizeof next, "%s", link)
                           : snprintf(next, sizeof next, "%s/%s", dirname(dir), link);
    if (n >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(path, next, (size_t)n + 1);
    return true;
}

bool file_resolve_path(const char *path, char out[FILE_PATH_MAX])
{
    char at[PATH_MAX], dir[PATH_MAX], name[PATH_MAX], real[PATH_MAX];
    struct stat st;
    int n = snprintf(at, sizeof at, "%s", path);
    errno = ENAMETOOLONG;
    if (n < 0 || (size_t)n >= sizeof at)
        return false;
    for (int i = 0; lstat(at, &st) == 0 && S_ISLNK(st.st_mode); i++) {
        errno = ELOOP;
        if (i == LINKS_MAX || !follow(at))
            return false;
    }
    (void)snprintf(dir, sizeof dir, "%s", at);
    (void)snprintf(name, sizeof name, "%s", at);
    if (!realpath(dirname(dir), real))
        return false;
    n = snprintf(out, FILE_PATH_MAX, "%s%s%s", real, strcmp(real, "/") ? "/" : "", basename(name));
    errno = ENAMETOOLONG;
    return n > 0 && n < FILE_PATH_MAX;
}

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR: return "a directory";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    case S_IFIFO: return "a named pipe";
    case S_IFSOCK: return "a socket";
    default: return "not a regular file";
    }
}

enum err file_target_resolve(const char *path, char out[FILE_PATH_MAX], struct error *error)
{
    struct stat st;
    const size_t len = strlen(path);
    if (!len || path[len - 1] == '/')
        return error_set(error, ERR_INVALID, "\"%s\" is not the path of a file: choose another path", path);
    if (!file_resolve_path(path, out))
        return error_set(error, ERR_IO, "cannot create %s: %s", path, strerror(errno));
    if (lstat(out, &st) != 0)
        return errno == ENOENT ? OK : error_set(error, ERR_IO, "cannot create %s: %s", path, strerror(errno));
    if (S_ISREG(st.st_mode))
        return OK;
    return error_set(error, ERR_INVALID, "%s is %s: choose a regular file or a new name", path,
                     kind_of(st.st_mode));
}
