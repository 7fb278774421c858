/* Checks the file system of the database. */
#include "base/plural.h"
#include "doctor/file_systems.h"
#include "store/database_files.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

enum { FILES_MIN = 100 };

static void check_space(struct doctor *d)
{
    char copy[DATABASE_FILE_PATH_MAX], fix[PATH_MAX + 128];
    struct statvfs s;
    const char *path = d->config->store.path, *dir = database_directory(copy, path);
    if (statvfs(dir, &s) != 0) {
        doctor_skip(d, "%s: %s", dir, strerror(errno));
        return;
    }
    const long long free_bytes = (long long)(s.f_bavail * s.f_frsize);
    const long long database_bytes = database_file_size(path, "") + database_file_size(path, "-wal");
    (void)snprintf(fix, sizeof fix, "free some space, or enlarge the file system (df -h %s shows its usage)",
                   dir);
    if (free_bytes < d->config->store.min_free_bytes)
        doctor_error(d, fix, "only %lld MiB are free in %s, less than [store] min_free_bytes",
                     free_bytes >> 20, dir);
    else if (free_bytes < database_bytes)
        doctor_warn(d, fix, "only %lld MiB are free in %s; a migration or a restore needs at least %lld MiB",
                    free_bytes >> 20, dir, database_bytes >> 20);
    else
        doctor_ok(d, "%lld MiB are free in %s", free_bytes >> 20, dir);
}

static void check_inodes(struct doctor *d)
{
    char copy[DATABASE_FILE_PATH_MAX], fix[PATH_MAX + 64];
    struct statvfs s;
    const char *dir = database_directory(copy, d->config->store.path);
    (void)snprintf(fix, sizeof fix, "delete files (df -i %s shows how many there are)", dir);
    if (statvfs(dir, &s) != 0)
        doctor_skip(d, "%s: %s", dir, strerror(errno));
    else if (s.f_files == 0)
        doctor_skip(d, "the file system has no limit on the number of files");
    else if (s.f_favail < FILES_MIN)
        doctor_error(d, fix, "only %llu more file%s can be created in %s", (unsigned long long)s.f_favail,
                     plural((int64_t)s.f_favail, "", "s"), dir);
    else
        doctor_ok(d, "%llu more file%s can be created", (unsigned long long)s.f_favail,
                  plural((int64_t)s.f_favail, "", "s"));
}

void doctor_report_file_system(struct doctor *d, unsigned long type)
{
    static const char move[] = "move the database to a local file system (ext4, xfs) and set [store] path";
    switch (type) {
    case NFS_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case SMB2_SUPER_MAGIC:
    case CIFS_SUPER_MAGIC:
    case V9FS_MAGIC:
        doctor_error(d, move,
                     "the database is on a network file system, where SQLite's write-ahead log is not safe");
        break;
    case TMPFS_MAGIC:
        doctor_warn(d, move, "the database is in memory (tmpfs) and is lost at a restart");
        break;
    default: doctor_ok(d, "the database is on a local file system");
    }
}

static void check_file_system(struct doctor *d)
{
    char copy[DATABASE_FILE_PATH_MAX];
    struct statfs s;
    const char *dir = database_directory(copy, d->config->store.path);
    if (statfs(dir, &s) != 0)
        doctor_skip(d, "%s: %s", dir, strerror(errno));
    else
        doctor_report_file_system(d, (unsigned long)s.f_type & 0xFFFFFFFFUL);
}

static const struct doctor_check checks[] = {
    {"space", NEEDS_FILE, check_space},
    {"files", NEEDS_FILE, check_inodes},
    {"file_system", NEEDS_FILE, check_file_system},
};
const struct doctor_group doctor_disk = DOCTOR_GROUP("disk", checks);
