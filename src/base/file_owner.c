/* Creates files and directories with the owner and group of an existing file or directory. */
#include "base/file_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_TRIES = 3 };

static bool stat_directory_of(const char *path, struct stat *st)
{
    char copy[PATH_MAX];
    int n = snprintf(copy, sizeof copy, "%s", path);
    if (n < 0 || (size_t)n >= sizeof copy) {
        errno = ENAMETOOLONG;
        return false;
    }
    return stat(dirname(copy), st) == 0;
}

bool file_owner_of(const char *model, struct file_owner *out)
{
    struct stat st;
    bool has_mode = stat(model, &st) == 0 && S_ISREG(st.st_mode);
    if (!has_mode && !stat_directory_of(model, &st))
        return false;
    *out = (struct file_owner){
        .uid = st.st_uid, .gid = st.st_gid, .has_mode = has_mode, .mode = st.st_mode & 0777};
    return true;
}

bool file_owner_apply(int fd, const struct file_owner *owner)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return false;
    if ((st.st_uid != owner->uid || st.st_gid != owner->gid) && fchown(fd, owner->uid, owner->gid) != 0 &&
        errno != EPERM)
        return false;
    return !owner->has_mode || (st.st_mode & 0777) == owner->mode || fchmod(fd, owner->mode) == 0;
}

static int create_like(const char *path, const char *model, mode_t mode)
{
    struct file_owner owner;
    if (!file_owner_of(model, &owner))
        return -1;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, owner.has_mode ? 0600 : mode);
    if (fd < 0 || file_owner_apply(fd, &owner))
        return fd;
    int why = errno;
    (void)unlink(path);
    (void)close(fd);
    errno = why;
    return -1;
}

/* Changes the owner only if this call has created the file. An existing file may be a hard link that the
 * owner of the directory has made to another user's file. */
int file_open_or_create_like(const char *path, const char *model, mode_t mode)
{
    int fd = -1;
    errno = ENOENT;
    for (int i = 0; i < NAME_TRIES && fd < 0 && (errno == ENOENT || errno == EEXIST); i++) {
        fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            fd = create_like(path, model, mode);
    }
    return fd;
}

bool file_owner_inherit(int fd, int at)
{
    struct stat st;
    return geteuid() != 0 || (fstat(at, &st) == 0 && fchown(fd, st.st_uid, st.st_gid) == 0);
}

int file_make_directory(int at, const char *path, mode_t mode)
{
    char parent[PATH_MAX];
    struct stat st;
    if (mkdirat(at, path, mode) != 0)
        return -1;
    if (geteuid() != 0)
        return 0;
    (void)snprintf(parent, sizeof parent, "%s", path);
    if (fstatat(at, dirname(parent), &st, 0) != 0)
        return -1;
    return fchownat(at, path, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW);
}

void file_owner_format(const char *path, char text[FILE_OWNER_TEXT_MAX])
{
    struct stat st;
    text[0] = '\0';
    if (stat(path, &st) != 0)
        return;
    const struct passwd *user = getpwuid(st.st_uid);
    const struct group *group = getgrgid(st.st_gid);
    (void)snprintf(text, FILE_OWNER_TEXT_MAX, "owner %.32s (%u), group %.32s (%u), mode %04o",
                   user ? user->pw_name : "unknown", (unsigned)st.st_uid, group ? group->gr_name : "unknown",
                   (unsigned)st.st_gid, (unsigned)st.st_mode & 07777);
}
