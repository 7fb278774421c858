/* Makes backups in drafts. The draft of a backup NAME has the name ".NAME.draft-XXXXXX". */
#include "backup/backup_file.h"

#include "base/file_owner.h"
#include "base/file_sync.h"
#include "base/seam.h"
#include "store/database_files.h"
#include "store/move.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Endings of the names of a draft and of the files that SQLite creates beside it. */
static const char *const endings[] = {"", "-journal", "-wal", "-shm"};
static const struct str draft_mark = {".draft-", sizeof ".draft-" - 1};
enum { RANDOM_LEN = 6, SPARE_BYTES = 16 << 20 };
#define LOCKED_BYTE (INT64_MAX - 1)

static enum err failed(const char *what, const char *path, struct error *error)
{
    const int code = errno;
    const enum err err = code == ENOSPC || code == EDQUOT                   ? ERR_FULL
                         : code == EACCES || code == EPERM || code == EROFS ? ERR_READONLY
                         : code == EEXIST                                   ? ERR_EXISTS
                                                                            : ERR_IO;
    return error_set(error, err, "%s: %s: %s", path, what, strerror(code));
}

/* Returns the length of the directory part of a resolved path, including the slash. */
static int directory_len(const char *path)
{
    return (int)(strrchr(path, '/') - path) + 1;
}

/* Gives the new file the owner and permissions of the target, if the target exists. */
static void adopt_owner(int fd, const char *target)
{
    struct file_owner owner;
    if (access(target, F_OK) == 0 && file_owner_of(target, &owner) && owner.has_mode)
        (void)file_owner_apply(fd, &owner);
}

/* Locks a draft against backup_draft_delete_abandoned(). Returns false if another process has the lock, or if
 * the file system has no locks. Locks a byte that SQLite does not lock, and only for this descriptor, because
 * SQLite also opens and closes the file. */
static bool lock_draft(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKED_BYTE, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* Creates and locks the draft. If backup_draft_delete_abandoned() in another process locks the draft first,
 * it also deletes the draft, so this function then creates another one. */
static enum err create(struct backup_draft *d, const char *target, struct error *error)
{
    const int len = directory_len(target);
    struct stat st = {.st_nlink = 0};
    (void)snprintf(d->target, sizeof d->target, "%s", target);
    while (st.st_nlink == 0) {
        (void)snprintf(d->path, sizeof d->path, "%.*s.%s%sXXXXXX", len, target, target + len, draft_mark.p);
        d->fd = mkostemp(d->path, O_CLOEXEC);
        if (d->fd < 0)
            return failed("cannot create a file in its directory", target, error);
        if (!lock_draft(d->fd) && (errno == EAGAIN || errno == EACCES))
            (void)unlink(d->path);
        if (fstat(d->fd, &st) != 0) {
            const enum err err = failed("cannot be examined", d->path, error);
            backup_draft_discard(d);
            return err;
        }
        if (st.st_nlink == 0)
            (void)close(d->fd);
    }
    adopt_owner(d->fd, target);
    return OK;
}

enum err backup_draft_make(struct backup_draft *d, const struct store_options *from, const char *target,
                           const struct store_progress *progress, struct error *error)
{
    enum err err = create(d, target, error);
    if (err)
        return err;
    seam_kill_point();
    err = from->url && *from->url ? move_back_up(from, d->path, progress, error)
                                  : store_back_up(from->path, d->path, progress, error);
    if (err)
        backup_draft_discard(d);
    seam_kill_point();
    return err;
}

/* Renames a file without replacing an existing file. If the file system cannot do this in one operation,
 * checks first that the new name is unused. */
static bool rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    const bool exists = access(to, F_OK) == 0;
    if (exists)
        errno = EEXIST;
    return !exists && rename(from, to) == 0;
}

enum err backup_draft_publish(const struct backup_draft *d, bool replace, struct error *error)
{
    /* backup_draft_make() has synced the content, so after a crash the target is either complete or
     * unchanged. */
    if (!(replace ? rename(d->path, d->target) == 0 : rename_new(d->path, d->target))) {
        const enum err err = failed("cannot be created", d->target, error);
        backup_draft_discard(d);
        return err;
    }
    (void)close(d->fd);
    seam_kill_point();
    return file_sync_directory_of(d->target) ? OK : failed("cannot be synced", d->target, error);
}

/* Deletes the draft last, because backup_draft_delete_abandoned() finds the other files through it. */
static void delete_files(int directory, const char *draft)
{
    char path[FILE_PATH_MAX + 24];
    for (size_t i = sizeof endings / sizeof *endings; i-- > 0;) {
        (void)snprintf(path, sizeof path, "%s%s", draft, endings[i]);
        (void)unlinkat(directory, path, 0);
    }
}

void backup_draft_discard(const struct backup_draft *d)
{
    delete_files(AT_FDCWD, d->path);
    (void)close(d->fd);
}

static void delete_if_abandoned(int directory, const char *draft)
{
    const int fd = openat(directory, draft, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (lock_draft(fd))
        delete_files(directory, draft);
    (void)close(fd);
}

void backup_draft_delete_abandoned(const char *target)
{
    const int len = directory_len(target);
    const struct dirent *entry;
    char directory[FILE_PATH_MAX];
    (void)snprintf(directory, sizeof directory, "%.*s", len, target);
    DIR *dir = opendir(directory);
    while (dir && (entry = readdir(dir)) != NULL) {
        const struct str name = str_from_cstr(entry->d_name);
        struct str of;
        if (backup_draft_is_of(name, &of) && str_eq(of, str_from_cstr(target + len)) &&
            name.len == of.len + 1 + draft_mark.len + RANDOM_LEN)
            delete_if_abandoned(dirfd(dir), entry->d_name);
    }
    if (dir)
        (void)closedir(dir);
}

bool backup_draft_is_of(struct str name, struct str *target)
{
    const char *mark = name.len ? memmem(name.p, name.len, draft_mark.p, draft_mark.len) : NULL;
    if (!mark || mark == name.p || name.p[0] != '.')
        return false;
    *target = str_make(name.p + 1, (size_t)(mark - name.p) - 1);
    const struct str rest =
        str_make(mark + draft_mark.len, (size_t)(name.p + name.len - mark) - draft_mark.len);
    if (rest.len < RANDOM_LEN)
        return false;
    const struct str ending = str_make(rest.p + RANDOM_LEN, rest.len - RANDOM_LEN);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (str_eq(ending, str_from_cstr(endings[i])))
            return true;
    return false;
}

enum err backup_check_space(const char *database, const char *target, const char *advice, struct error *error)
{
    struct statvfs fs;
    char directory[FILE_PATH_MAX];
    const int64_t needed =
        database_file_size(database, "") + database_file_size(database, "-wal") + SPARE_BYTES;
    (void)snprintf(directory, sizeof directory, "%.*s", directory_len(target), target);
    if (statvfs(directory, &fs) != 0)
        return failed("cannot be examined", directory, error);
    const int64_t free_bytes = (int64_t)(fs.f_bavail * fs.f_frsize);
    if (free_bytes >= needed)
        return OK;
    return error_set(error, ERR_FULL,
                     "%s has %lld MiB of free space, but a copy of %s needs %lld MiB: free some space, or %s",
                     directory, (long long)(free_bytes >> 20), database, (long long)(needed >> 20), advice);
}
