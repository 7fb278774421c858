/* Replaces a database file; see replace.h for the steps. */
#include "store/replace.h"

#include "base/check.h"
#include "base/file_owner.h"
#include "base/file_sync.h"
#include "base/seam.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40, DRAFT_MODE = 0640, NAME_MAX_BYTES = DATABASE_PATH_MAX + 64, DIGITS_MAX = 18 };

const char *const replace_companions[REPLACE_COMPANIONS] = {"-wal", "-shm", "-journal"};

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void join(char out[NAME_MAX_BYTES], const char *path, const char *ending)
{
    int n = snprintf(out, NAME_MAX_BYTES, "%s%s", path, ending);
    CHECK(n > 0 && n < NAME_MAX_BYTES);
}

/* Sets the error of a failed system call from errno. */
static enum err failed(const char *what, const char *path, struct error *error)
{
    int code = errno;
    enum err err = code == ENOSPC || code == EDQUOT                   ? ERR_FULL
                   : code == EACCES || code == EPERM || code == EROFS ? ERR_READONLY
                                                                      : ERR_IO;
    return error_set(error, err, "%s %s: %s", path, what, strerror(code));
}

/* ---- paths ---- */

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
    if (n >= PATH_MAX)
        return false;
    memcpy(path, next, (size_t)n + 1);
    return true;
}

bool database_path_resolve(const char *path, char out[DATABASE_PATH_MAX])
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
    n = snprintf(out, DATABASE_PATH_MAX, "%s%s%s", real, strcmp(real, "/") ? "/" : "", basename(name));
    errno = ENAMETOOLONG;
    return n > 0 && n < DATABASE_PATH_MAX;
}

/* Returns TIME if `entry` is "<name>.before-TIME", the name of an old database. Returns 0 for any other
 * name, such as that of its log. */
static int64_t time_of_before(const char *entry, const char *name)
{
    static const char ending[] = ".before-";
    unsigned long long t = 0;
    size_t len = strlen(name);
    if (strncmp(entry, name, len) != 0 || strncmp(entry + len, ending, sizeof ending - 1) != 0 ||
        !str_to_u64(str_from_cstr(entry + len + sizeof ending - 1), INT64_MAX / 1000, &t))
        return 0;
    return (int64_t)t;
}

bool replace_find_before(const char *path, char *out, size_t size)
{
    char copy[PATH_MAX], name[PATH_MAX], resolved[DATABASE_PATH_MAX];
    const struct dirent *entry;
    int64_t newest = 0;
    if (!database_path_resolve(path, resolved))
        return false;
    (void)snprintf(copy, sizeof copy, "%s", resolved);
    (void)snprintf(name, sizeof name, "%s", strrchr(resolved, '/') + 1);
    DIR *dir = opendir(dirname(copy));
    if (!dir)
        return false;
    while ((entry = readdir(dir)) != NULL) {
        int64_t t = time_of_before(entry->d_name, name);
        newest = t > newest ? t : newest;
    }
    (void)closedir(dir);
    int n = snprintf(out, size, "%s.before-%lld", resolved, (long long)newest);
    return newest > 0 && n > 0 && (size_t)n < size;
}

bool replace_was_interrupted(const char *path)
{
    char resolved[DATABASE_PATH_MAX], draft[NAME_MAX_BYTES], before[NAME_MAX_BYTES];
    if (!database_path_resolve(path, resolved))
        return false;
    join(draft, resolved, "-restore");
    return !exists(resolved) && exists(draft) && replace_find_before(resolved, before, sizeof before);
}

/* ---- disk ---- */

static void remove_with_companions(const char *path)
{
    char name[NAME_MAX_BYTES];
    (void)unlink(path);
    for (int i = 0; i < REPLACE_COMPANIONS; i++) {
        join(name, path, replace_companions[i]);
        (void)unlink(name);
    }
}

static bool move_companion(struct replacement *r, int i)
{
    char from[NAME_MAX_BYTES], to[NAME_MAX_BYTES];
    join(from, r->path, replace_companions[i]);
    join(to, r->before, replace_companions[i]);
    if (!exists(from))
        return true;
    errno = EEXIST;
    if (exists(to))
        return false;
    r->moved[1 + i] = rename(from, to) == 0;
    seam_kill_point();
    return r->moved[1 + i];
}

static bool move_companions(struct replacement *r)
{
    for (int i = 0; i < REPLACE_COMPANIONS; i++)
        if (!move_companion(r, i))
            return false;
    return true;
}

/* ---- begin ---- */

/* Creates the file under another name and renames it to the draft's name. An existing draft marks an
 * interrupted restore, so it must be replaced atomically. */
static enum err make_draft(const struct replacement *r, struct error *error)
{
    char fresh[NAME_MAX_BYTES], companion[NAME_MAX_BYTES];
    const char *model = !r->is_missing || !r->before[0] ? r->path : r->before;
    join(fresh, r->draft, "-new");
    (void)unlink(fresh);
    int fd = file_open_as(fresh, model, DRAFT_MODE);
    if (fd < 0)
        return failed("cannot be created", fresh, error);
    (void)close(fd);
    for (int i = 0; i < REPLACE_COMPANIONS; i++) {
        join(companion, r->draft, replace_companions[i]);
        (void)unlink(companion);
    }
    if (rename(fresh, r->draft) == 0)
        return OK;
    enum err err = failed("cannot be created", r->draft, error);
    (void)unlink(fresh);
    return err;
}

enum err replace_begin(struct replacement *r, const char *path, struct error *error)
{
    *r = (struct replacement){.is_missing = false};
    if (!database_path_resolve(path, r->path))
        return failed("cannot be replaced", path, error);
    (void)snprintf(r->draft, sizeof r->draft, "%s-restore", r->path);
    r->is_missing = !exists(r->path);
    r->resumes = replace_was_interrupted(r->path);
    if (!replace_find_before(r->path, r->before, sizeof r->before))
        r->before[0] = '\0';
    /* Rename the companions of the old database before it is inspected. */
    if (r->resumes && !move_companions(r))
        return failed("cannot be renamed", r->path, error);
    const enum err err = make_draft(r, error);
    if (err)
        return err;
    seam_kill_point();
    return OK;
}

void replace_abort(const struct replacement *r)
{
    bool is_torn = r->moved[0] && !exists(r->path); /* move_back() failed to undo the rename */
    if (!r->resumes && !is_torn)
        remove_with_companions(r->draft);
}

/* ---- publish ---- */

static bool move_aside(struct replacement *r)
{
    if (!r->is_missing) {
        r->moved[0] = rename(r->path, r->before) == 0;
        if (!r->moved[0])
            return false;
        seam_kill_point();
    }
    return move_companions(r) && file_sync_directory_of(r->path);
}

/* Renames in reverse order: first the log, so that the database never exists without it. */
static void move_back(const struct replacement *r)
{
    char from[NAME_MAX_BYTES], to[NAME_MAX_BYTES];
    for (int i = REPLACE_COMPANIONS - 1; i >= 0; i--) {
        join(from, r->before, replace_companions[i]);
        join(to, r->path, replace_companions[i]);
        if (r->moved[1 + i])
            (void)rename(from, to);
    }
    if (r->moved[0])
        (void)rename(r->before, r->path);
}

/* Selects an unused name, because there may be two restores within a second. */
static void choose_before(struct replacement *r, int64_t now_s)
{
    bool taken = true;
    while (taken) {
        (void)snprintf(r->before, sizeof r->before, "%s.before-%lld", r->path, (long long)now_s++);
        taken = exists(r->before);
        for (int i = 0; i < REPLACE_COMPANIONS && !taken; i++) {
            char name[NAME_MAX_BYTES];
            join(name, r->before, replace_companions[i]);
            taken = exists(name);
        }
    }
}

enum err replace_publish(struct replacement *r, int64_t now_s, struct error *error)
{
    if (!file_sync(r->draft))
        return failed("cannot be written", r->draft, error);
    if (!r->resumes)
        choose_before(r, now_s);
    if (!move_aside(r)) {
        enum err err = failed("cannot be renamed", r->path, error);
        move_back(r);
        return err;
    }
    seam_kill_point();
    if (rename(r->draft, r->path) != 0) {
        enum err err = failed("cannot be replaced", r->path, error);
        move_back(r);
        return err;
    }
    seam_kill_point();
    return file_sync_directory_of(r->path) ? OK : failed("cannot be synced", r->path, error);
}
