/* All operations use descriptors of the three directories, so renaming or replacing a directory does no harm.
 * File names are untrusted: they are never joined to a path, links are not followed, and opening a FIFO does
 * not block.
 *
 * renameat2(RENAME_NOREPLACE) moves a file to an unused name atomically. On a file system that does not
 * support this flag, the file is renamed after checking that the name is unused. */
#include "refresh/spool_dir.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/file_owner.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DIR_MODE = 0770, REPORT_MODE = 0660, NAME_TRIES = 1000, NAME_BYTES = 256, RECENT_S = 10 };

static const char *const place_names[] = {[SPOOL_DONE] = "done", [SPOOL_BAD] = "bad"};
static const struct str suffix = {".ndjson", sizeof ".ndjson" - 1};

/* --- error messages --- */

static enum err err_of(int code)
{
    switch (code) {
    case ENOENT:
    case ELOOP:
    case ENOTDIR:
    case ENXIO: return ERR_NOT_FOUND;
    case EEXIST: return ERR_EXISTS;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return ERR_FULL;
    case EROFS:
    case EACCES:
    case EPERM: return ERR_READONLY;
    default: return ERR_IO;
    }
}

static enum err failed(const char *what, const char *name)
{
    const int code = errno;
    log_error("spool: %s%s%s: %s", what, *name ? " " : "", name, strerror(code));
    return err_of(code);
}

/* A NUL-terminated file name. */
struct c_name {
    char p[NAME_BYTES];
};

static struct c_name c_name(struct str name)
{
    struct c_name n;
    CHECK(name.len < sizeof n.p);
    memcpy(n.p, name.p, name.len);
    n.p[name.len] = '\0';
    return n;
}

/* --- opening and closing the directories --- */

static int open_directory(int at, const char *path)
{
    if (file_make_directory(at, path, DIR_MODE) < 0 && errno != EEXIST && errno != EROFS)
        return -1;
    return openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

enum err spool_dir_open(struct spool_dir *d, const char *path, struct buf *why)
{
    *d = (struct spool_dir){.fd = open_directory(AT_FDCWD, path), .places = {-1, -1}};
    const char *part = "";
    for (int i = 0; i < 2 && d->fd >= 0; i++) {
        d->places[i] = open_directory(d->fd, place_names[i]);
        if (d->places[i] >= 0)
            continue;
        part = place_names[i];
        break;
    }
    if (d->fd >= 0 && d->places[0] >= 0 && d->places[1] >= 0)
        return OK;
    const int code = errno;
    buf_printf(why, "cannot open the spool directory %s%s%s: %s", path, *part ? "/" : "", part,
               strerror(code));
    spool_dir_close(d);
    return err_of(code);
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void spool_dir_close(struct spool_dir *d)
{
    close_one(&d->fd);
    close_one(&d->places[0]);
    close_one(&d->places[1]);
}

/* --- listing the pending files --- */

/* Returns true if a file with this name in done/ was a pending file. The name can be longer than that of a
 * pending file, because spool_dir_move() may have added a time. */
static bool is_finished_name(struct str name)
{
    return name.len > suffix.len && name.p[0] != '.' &&
           memcmp(name.p + name.len - suffix.len, suffix.p, suffix.len) == 0;
}

bool spool_dir_is_candidate(struct str name)
{
    return name.len <= SPOOL_NAME_MAX && is_finished_name(name);
}

static bool identify(int at, const char *name, struct file_identity *out, bool *regular)
{
    struct stat st;
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH)) < 0)
        return false;
    *regular = S_ISREG(st.st_mode);
    *out = (struct file_identity){
        .size = st.st_size,
        .inode = (int64_t)st.st_ino,
        .modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
    };
    return true;
}

/* Opens a stream at the beginning of the directory. The caller still has to close `fd`. */
static DIR *read_directory(int fd)
{
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = own < 0 ? NULL : fdopendir(own);
    if (!dir && own >= 0)
        (void)close(own);
    return dir;
}

static int oldest_first(const void *a, const void *b)
{
    const struct spool_entry *x = a, *y = b;
    if (x->identity.modified_ns != y->identity.modified_ns)
        return x->identity.modified_ns < y->identity.modified_ns ? -1 : 1;
    return str_cmp(x->name, y->name);
}

struct gathered {
    VEC(struct spool_entry) entries;
    bool is_limited; /* the first SPOOL_FILES_MAX entries are sorted, and files newer than the last of these
                         are not added */
};

/* Sorts the entries and keeps only the oldest SPOOL_FILES_MAX. */
static void keep_oldest(struct gathered *g)
{
    if (g->entries.count)
        qsort(g->entries.items, g->entries.count, sizeof *g->entries.items, oldest_first);
    if (g->entries.count <= SPOOL_FILES_MAX)
        return;
    g->entries.count = SPOOL_FILES_MAX;
    g->is_limited = true;
}

static void gather(struct gathered *g, const struct spool_dir *d, struct arena *a, const char *text,
                   struct spool_list *out)
{
    struct spool_entry e = {.name = str_from_cstr(text)};
    bool regular = false;
    if (!spool_dir_is_candidate(e.name) || !identify(d->fd, text, &e.identity, &regular))
        return;
    if (!regular) {
        log_warn("spool: %s is not a regular file and is ignored", text);
        out->ignored++;
        return;
    }
    if (g->is_limited && oldest_first(&e, &g->entries.items[SPOOL_FILES_MAX - 1]) > 0)
        return;
    e.name = arena_copy(a, e.name);
    *VEC_ADD(&g->entries) = e;
    if (g->entries.count == 2 * SPOOL_FILES_MAX)
        keep_oldest(g);
}

enum err spool_dir_list(const struct spool_dir *d, struct arena *a, struct spool_list *out)
{
    struct gathered g = {0};
    const struct dirent *entry = NULL;
    *out = (struct spool_list){0};
    DIR *dir = read_directory(d->fd);
    if (!dir)
        return failed("cannot list the directory", "");
    while ((errno = 0, entry = readdir(dir)) != NULL)
        gather(&g, d, a, entry->d_name, out);
    const int code = errno;
    (void)closedir(dir);
    keep_oldest(&g);
    if (g.entries.count) {
        out->count = g.entries.count;
        out->entries = arena_alloc(a, out->count * sizeof *out->entries);
        memcpy(out->entries, g.entries.items, out->count * sizeof *out->entries);
    }
    VEC_FREE(&g.entries);
    errno = code;
    return code ? failed("cannot list the directory", "") : OK;
}

bool spool_dir_scan(const char *path, struct arena *a, struct spool_list *out)
{
    const struct spool_dir d = {.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .places = {-1, -1}};
    if (d.fd < 0)
        return false;
    const bool listed = spool_dir_list(&d, a, out) == OK;
    (void)close(d.fd);
    return listed;
}

bool spool_dir_has_any(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    bool any = false;
    if (!dir)
        return false;
    while (!any && (entry = readdir(dir)) != NULL) {
        struct file_identity identity;
        bool regular = false;
        any = spool_dir_is_candidate(str_from_cstr(entry->d_name)) &&
              identify(dirfd(dir), entry->d_name, &identity, &regular) && regular;
    }
    (void)closedir(dir);
    return any;
}

/* --- identifying and opening a file --- */

enum err spool_file_identify(int fd, struct file_identity *out)
{
    bool regular;
    if (!identify(fd, "", out, &regular))
        return failed("fstat", "");
    return regular ? OK : ERR_NOT_FOUND;
}

/* Uses the system clock, which also sets file times, instead of the clock that tests can change. */
static bool was_changed_recently(int fd)
{
    struct timespec now;
    struct stat st;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0 || fstat(fd, &st) < 0)
        return false;
    const int64_t age_s = (int64_t)now.tv_sec - st.st_ctim.tv_sec;
    return age_s >= 0 && age_s < RECENT_S;
}

/* The kernel grants a read lease only if no process has the file open for writing. We release it at once. A
 * process that opens the file for writing before the release is blocked until then, and this process gets a
 * SIGURG, which is ignored by default. NFS grants no leases and fails as if there were a writer, so the
 * change time is checked, too. */
bool spool_file_has_writer(int fd)
{
    if (fcntl(fd, F_SETSIG, SIGURG) < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
        return errno == EAGAIN && was_changed_recently(fd);
    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    return false;
}

enum err spool_dir_identify(const struct spool_dir *d, struct str name, struct file_identity *out)
{
    const struct c_name n = c_name(name);
    bool regular = false;
    if (!identify(d->fd, n.p, out, &regular))
        return errno == ENOENT ? ERR_NOT_FOUND : failed("stat", n.p);
    return regular ? OK : ERR_NOT_FOUND;
}

enum err spool_dir_open_file(const struct spool_dir *d, struct str name, int *fd,
                             struct file_identity *identity)
{
    const struct c_name n = c_name(name);
    /* O_NONBLOCK: opening a FIFO must not block. */
    *fd = openat(d->fd, n.p, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0)
        return err_of(errno) == ERR_NOT_FOUND ? ERR_NOT_FOUND : failed("cannot read", n.p);
    enum err err = spool_file_identify(*fd, identity);
    if (err)
        close_one(fd);
    return err;
}

/* --- moving a file to another directory --- */

static bool exists(int at, const char *name)
{
    struct stat st;
    return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Like rename(2), but fails with EEXIST if the target exists. */
static int rename_to_unused(int from, const char *name, int to, const char *target)
{
    if (renameat2(from, name, to, target, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (exists(to, target)) {
        errno = EEXIST;
        return -1;
    }
    return renameat(from, name, to, target);
}

/* Syncs a directory. Ignores EINVAL and EROFS, the errors of file systems that cannot sync a directory. */
static enum err sync_directory(int fd)
{
    if (fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
        return failed("fsync of a directory", "");
    return OK;
}

/* Tries NAME.ndjson, then NAME.TIME.ndjson, and adds a millisecond to TIME at each further attempt. */
static struct c_name target_name(struct str name, int64_t now_ms, int try)
{
    struct c_name n = c_name(name);
    char time[TIME_TEXT_LEN];
    if (try == 0)
        return n;
    time_format(now_ms + try - 1, time);
    time[13] = time[16] = '-'; /* some file systems do not allow a colon */
    (void)snprintf(n.p, sizeof n.p, "%.*s.%.*s%s", (int)(name.len - suffix.len), name.p, (int)sizeof time,
                   time, suffix.p);
    return n;
}

static bool has_report(int at, const char *name)
{
    char report[NAME_BYTES + 16];
    (void)snprintf(report, sizeof report, "%s.errors", name);
    return exists(at, report);
}

/* Call if the moved file is not the one that was applied, because another file replaced it just before the
 * move. Moves that file back to its name, or to a similar name, and then returns ERR_NOT_FOUND. */
static enum err move_back(const struct spool_dir *d, int place, const char *moved, struct str name,
                          int64_t now_ms)
{
    for (int try = 0; try < NAME_TRIES; try++) {
        const struct c_name n = target_name(name, now_ms, try);
        if (rename_to_unused(place, moved, d->fd, n.p) == 0)
            return ERR_NOT_FOUND;
        if (errno != EEXIST)
            break;
    }
    return failed("cannot move back", moved);
}

static enum err move(const struct spool_dir *d, struct str name, const struct file_identity *identity,
                     int place, int64_t now_ms, struct c_name *target)
{
    const struct c_name from = c_name(name);
    struct file_identity moved;
    bool regular = false;
    for (int try = 0; try < NAME_TRIES; try++) {
        *target = target_name(name, now_ms, try);
        if (has_report(place, target->p))
            continue;
        if (rename_to_unused(d->fd, from.p, place, target->p) == 0) {
            if (identify(place, target->p, &moved, &regular) && file_identity_eq(&moved, identity))
                return OK;
            return move_back(d, place, target->p, name, now_ms);
        }
        if (errno == ENOENT)
            return ERR_NOT_FOUND;
        if (errno != EEXIST)
            break;
    }
    return failed("cannot move", from.p);
}

enum err spool_dir_move(const struct spool_dir *d, struct str name, const struct file_identity *identity,
                        enum spool_place place, int64_t now_ms, struct buf *as)
{
    struct file_identity now;
    struct c_name target;
    enum err err = spool_dir_identify(d, name, &now);
    if (err)
        return err;
    if (!file_identity_eq(&now, identity))
        return ERR_NOT_FOUND;
    err = move(d, name, identity, d->places[place], now_ms, &target);
    if (err)
        return err;
    if (as)
        buf_append(as, str_from_cstr(target.p));
    return OK;
}

/* Returns true if the file was moved to done/ before `before_ms`. Moving sets the change time of the file.
 * The modification time cannot be used, because the producer of the file sets it. */
static bool was_moved_before(int at, const char *name, int64_t before_ms)
{
    struct stat st;
    return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           (int64_t)st.st_ctim.tv_sec * SECOND_MS < before_ms;
}

void spool_dir_prune_finished(const struct spool_dir *d, int64_t before_ms)
{
    const int at = d->places[SPOOL_DONE];
    const struct dirent *entry;
    int deleted = 0;
    DIR *dir = read_directory(at);
    if (!dir) {
        (void)failed("cannot list", "done/");
        return;
    }
    while (deleted < SPOOL_FILES_MAX && (entry = readdir(dir)) != NULL) {
        if (!is_finished_name(str_from_cstr(entry->d_name)) ||
            !was_moved_before(at, entry->d_name, before_ms))
            continue;
        if (unlinkat(at, entry->d_name, 0) == 0)
            deleted++;
        else if (errno != ENOENT && failed("cannot delete done/", entry->d_name))
            break; /* the other files would fail for the same reason */
    }
    (void)closedir(dir);
    if (deleted)
        log_info("spool: deleted %d file%s from done/ ([refresh] keep_done_days)", deleted,
                 plural(deleted, "", "s"));
}

enum err spool_dir_sync(const struct spool_dir *d, enum spool_place place)
{
    /* Sync the target directory first: after a crash between the two syncs, a file may have both names, but
     * never none. */
    enum err err = sync_directory(d->places[place]);
    return err ? err : sync_directory(d->fd);
}

enum err spool_dir_find_bad(const struct spool_dir *d, const struct file_identity *identity, struct buf *name)
{
    const struct dirent *entry;
    bool found = false;
    DIR *dir = read_directory(d->places[SPOOL_BAD]);
    if (!dir)
        return failed("cannot list", place_names[SPOOL_BAD]);
    while (!found && (entry = readdir(dir)) != NULL) {
        struct file_identity at;
        bool regular = false;
        found = identify(dirfd(dir), entry->d_name, &at, &regular) && file_identity_eq(&at, identity);
        if (found)
            buf_append(name, str_from_cstr(entry->d_name));
    }
    (void)closedir(dir);
    return found ? OK : ERR_NOT_FOUND;
}

/* --- writing reports of rejected lines --- */

static enum err write_report(int at, const char *name, bool (*write)(void *ctx, int fd), void *ctx)
{
    /* The temporary file exists if an earlier attempt crashed. */
    (void)unlinkat(at, name, 0);
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, REPORT_MODE);
    if (fd < 0)
        return failed("cannot write", name);
    const bool ok = file_owner_inherit(fd, at) && write(ctx, fd) && fsync(fd) == 0;
    enum err err = ok ? OK : failed("cannot write", name);
    if (close(fd) < 0 && !err)
        err = failed("cannot write", name);
    return err;
}

enum err spool_dir_report(const struct spool_dir *d, struct str name, bool (*write)(void *ctx, int fd),
                          void *ctx)
{
    char report[NAME_BYTES + 16], temporary[NAME_BYTES + 16];
    const struct c_name n = c_name(name);
    const int at = d->places[SPOOL_BAD];
    (void)snprintf(report, sizeof report, "%s.errors", n.p);
    (void)snprintf(temporary, sizeof temporary, ".%s.errors", n.p);
    enum err err = write_report(at, temporary, write, ctx);
    if (err) {
        (void)unlinkat(at, temporary, 0);
        return err;
    }
    if (rename_to_unused(at, temporary, at, report) < 0) {
        const bool there = errno == EEXIST;
        if (!there)
            return failed("cannot rename", report);
        (void)unlinkat(at, temporary, 0);
    }
    return sync_directory(at);
}
