/* Replaces a database file; see replace.h for the steps. */
#include "store/replace.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/file_owner.h"
#include "base/file_sync.h"
#include "base/file_target.h"
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

enum { DRAFT_MODE = 0640, NAME_MAX_BYTES = DATABASE_PATH_MAX + 64, DIGITS_MAX = 18 };
#define BEFORE_LAST_MS (INT64_C(10000000000) * SECOND_MS) /* in the year 2286 */

enum { SHM = 1 }; /* index in replace_companions */
const char *const replace_companions[REPLACE_COMPANIONS] = {"-wal", [SHM] = "-shm", "-journal"};

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

/* ---- paths of replaced databases ---- */

/* Returns TIME in ms if `entry` is "<name>.before-TIME", the name of an old database. Returns 0 for any other
 * name, such as "<name>.before-TIME-wal". Earlier releases wrote TIME in seconds since 1970. A greater
 * number, as in "<name>.before-20260710120000", is the date of a copy that an operator has made. */
static int64_t time_of_before(const char *entry, const char *name)
{
    static const char ending[] = ".before-";
    unsigned long long seconds = 0;
    int64_t t_ms;
    size_t len = strlen(name);
    if (strncmp(entry, name, len) != 0 || strncmp(entry + len, ending, sizeof ending - 1) != 0)
        return 0;
    const struct str time = str_from_cstr(entry + len + sizeof ending - 1);
    if (time_name_parse(time, &t_ms))
        return t_ms < BEFORE_LAST_MS ? t_ms : 0;
    return str_to_u64(time, BEFORE_LAST_MS / SECOND_MS - 1, &seconds) ? (int64_t)seconds * SECOND_MS : 0;
}

bool database_find_replaced(const char *path, char *out, size_t size)
{
    char copy[PATH_MAX], name[PATH_MAX], resolved[DATABASE_PATH_MAX];
    const struct dirent *entry;
    int64_t newest = 0;
    bool fits = false;
    if (!file_resolve_path(path, resolved))
        return false;
    (void)snprintf(copy, sizeof copy, "%s", resolved);
    (void)snprintf(name, sizeof name, "%s", strrchr(resolved, '/') + 1);
    DIR *dir = opendir(dirname(copy));
    if (!dir)
        return false;
    while ((entry = readdir(dir)) != NULL) {
        const int64_t t = time_of_before(entry->d_name, name);
        if (t <= newest)
            continue;
        newest = t;
        const int n = snprintf(out, size, "%s%s", resolved, entry->d_name + strlen(name));
        fits = n > 0 && (size_t)n < size;
    }
    (void)closedir(dir);
    return fits;
}

static void add_before(struct before_list *list, const char *resolved, const char *entry, size_t name_len)
{
    struct before_path found;
    (void)snprintf(found.path, sizeof found.path, "%s%s", resolved, entry + name_len);
    for (int i = 0; i < REPLACE_COMPANIONS; i++) {
        const size_t len = strlen(found.path), tail = strlen(replace_companions[i]);
        if (len > tail && strcmp(found.path + len - tail, replace_companions[i]) == 0)
            found.path[len - tail] = '\0';
    }
    if (!time_of_before(strrchr(found.path, '/') + 1, strrchr(resolved, '/') + 1))
        return;
    for (size_t i = 0; i < list->paths.count; i++)
        if (strcmp(list->paths.items[i].path, found.path) == 0)
            return;
    *VEC_ADD(&list->paths) = found;
}

bool database_list_replaced(const char *path, struct before_list *list)
{
    char copy[PATH_MAX], resolved[DATABASE_PATH_MAX];
    const struct dirent *entry;
    *list = (struct before_list){.paths = {.count = 0}};
    if (!file_resolve_path(path, resolved))
        return false;
    const char *name = strrchr(resolved, '/') + 1;
    (void)snprintf(copy, sizeof copy, "%s", resolved);
    DIR *dir = opendir(dirname(copy));
    if (!dir)
        return false;
    while ((entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, name, strlen(name)) == 0 && strlen(entry->d_name) < strlen(name) + 40)
            add_before(list, resolved, entry->d_name, strlen(name));
    (void)closedir(dir);
    return true;
}

bool database_replace_was_interrupted(const char *path)
{
    char resolved[DATABASE_PATH_MAX], draft[NAME_MAX_BYTES], before[NAME_MAX_BYTES];
    if (!file_resolve_path(path, resolved))
        return false;
    join(draft, resolved, "-restore");
    return !exists(resolved) && exists(draft) && database_find_replaced(resolved, before, sizeof before);
}

/* ---- removing and moving companion files ---- */

static void remove_with_companions(const char *path)
{
    char name[NAME_MAX_BYTES];
    (void)unlink(path);
    for (int i = 0; i < REPLACE_COMPANIONS; i++) {
        join(name, path, replace_companions[i]);
        (void)unlink(name);
    }
}

/* Replaces only a -shm file: if a restore was interrupted before this step, a command that has read the old
 * database since then has created one. SQLite rebuilds its contents from the log. */
static bool move_companion(struct replacement *r, int i)
{
    char from[NAME_MAX_BYTES], to[NAME_MAX_BYTES];
    join(from, r->path, replace_companions[i]);
    join(to, r->before, replace_companions[i]);
    if (!exists(from))
        return true;
    errno = EEXIST;
    if (i != SHM && exists(to))
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

/* ---- creating and deleting the draft ---- */

/* Creates the draft under another name and then renames it. An existing draft marks an interrupted restore,
 * so it must be replaced atomically. */
static enum err make_draft(const struct replacement *r, struct error *error)
{
    char fresh[NAME_MAX_BYTES], companion[NAME_MAX_BYTES];
    const char *model = !r->is_missing || !r->before[0] ? r->path : r->before;
    join(fresh, r->draft, "-new");
    (void)unlink(fresh);
    int fd = file_open_or_create_like(fresh, model, DRAFT_MODE);
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

enum err database_replace_begin(struct replacement *r, const char *path, struct error *error)
{
    *r = (struct replacement){.is_missing = false};
    if (!file_resolve_path(path, r->path))
        return failed("cannot be replaced", path, error);
    (void)snprintf(r->draft, sizeof r->draft, "%s-restore", r->path);
    r->is_missing = !exists(r->path);
    r->resumes = database_replace_was_interrupted(r->path);
    if (!database_find_replaced(r->path, r->before, sizeof r->before))
        r->before[0] = '\0';
    /* Complete step 2 of the interrupted restore, so that the caller can read the old database with its
     * log. */
    if (r->resumes && !move_companions(r))
        return failed("cannot be renamed", r->path, error);
    const enum err err = make_draft(r, error);
    if (err)
        return err;
    seam_kill_point();
    return OK;
}

void database_replace_abort(const struct replacement *r)
{
    bool is_torn = r->moved[0] && !exists(r->path); /* move_back() failed to undo the rename */
    if (!r->resumes && !is_torn)
        remove_with_companions(r->draft);
}

/* ---- moving the draft into place ---- */

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

/* Undoes the renames in reverse order: renames the log before the database, so that the database never exists
 * without its log. */
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

/* Selects an unused name, because there may be two restores within a second. Its time is later than that of
 * the newest old database, even if the clock has been set back: if this restore is interrupted, the newest
 * name must be that of its old database. */
static void choose_before(struct replacement *r, int64_t now_ms)
{
    char time[TIME_NAME_LEN + 1];
    bool taken = true;
    const int64_t newest_ms =
        r->before[0] ? time_of_before(strrchr(r->before, '/') + 1, strrchr(r->path, '/') + 1) : 0;
    for (int64_t t_ms = newest_ms < now_ms ? now_ms : newest_ms + SECOND_MS; taken; t_ms += SECOND_MS) {
        time_name_format(t_ms, time);
        (void)snprintf(r->before, sizeof r->before, "%s.before-%s", r->path, time);
        taken = exists(r->before);
        for (int i = 0; i < REPLACE_COMPANIONS && !taken; i++) {
            char name[NAME_MAX_BYTES];
            join(name, r->before, replace_companions[i]);
            taken = exists(name);
        }
    }
}

enum err database_replace_publish(struct replacement *r, int64_t now_ms, struct error *error)
{
    if (!file_sync(r->draft))
        return failed("cannot be written", r->draft, error);
    if (!r->resumes)
        choose_before(r, now_ms);
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
    r->is_published = true;
    seam_kill_point();
    return file_sync_directory_of(r->path)
               ? OK
               : failed("has been restored, but its directory cannot be synced to disk", r->path, error);
}
