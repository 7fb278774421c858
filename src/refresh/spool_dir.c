/* Everything goes through descriptors of the three directories, so a directory that is renamed or replaced
 * meanwhile changes nothing under our hands. The names in it come from anybody: they are never joined to a
 * path, never opened through a link, and a FIFO is never waited for.
 *
 * renameat2(RENAME_NOREPLACE) takes a free name without a gap between looking and taking. Not every file
 * system has it: there the name is looked up first. */
#include "refresh/spool_dir.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/file_owner.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DIR_MODE = 0770, REPORT_MODE = 0660, NAME_TRIES = 1000, NAME_BYTES = 256, WRITER_SILENT_S = 10 };

static const char *const place_names[] = {[SPOOL_DONE] = "done", [SPOOL_BAD] = "bad"};
static const struct str suffix = {".ndjson", sizeof ".ndjson" - 1};

/* --- errors ----------------------------------------------------------------------------------------------
 */

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

/* A name as the system wants it. */
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

/* --- opening ---------------------------------------------------------------------------------------------
 */

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
    buf_printf(why, "the spool directory %s%s%s: %s", path, *part ? "/" : "", part, strerror(code));
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

/* --- what waits ------------------------------------------------------------------------------------------
 */

bool spool_dir_is_candidate(struct str name)
{
    return name.len > suffix.len && name.len <= SPOOL_NAME_MAX && name.p[0] != '.' &&
           memcmp(name.p + name.len - suffix.len, suffix.p, suffix.len) == 0;
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

/* A stream over the directory from its beginning; the descriptor stays the caller's. */
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

struct gathering {
    struct spool_entry *entries;
    size_t count, cap;
};

static void gather(struct gathering *g, const struct spool_dir *d, struct arena *a, const char *text,
                   struct spool_list *out)
{
    struct spool_entry e = {.name = str_from_cstr(text)};
    bool regular = false;
    if (!spool_dir_is_candidate(e.name) || !identify(d->fd, text, &e.identity, &regular))
        return;
    if (!regular) {
        log_warn("spool: %s is no regular file and is left alone", text);
        out->left_alone++;
        return;
    }
    if (g->count == g->cap) {
        g->cap = g->cap ? 2 * g->cap : 64;
        g->entries = xrealloc(g->entries, g->cap * sizeof g->entries[0]);
    }
    e.name = arena_copy(a, e.name);
    g->entries[g->count++] = e;
}

enum err spool_dir_list(const struct spool_dir *d, struct arena *a, struct spool_list *out)
{
    struct gathering g = {0};
    const struct dirent *entry = NULL;
    *out = (struct spool_list){0};
    DIR *dir = read_directory(d->fd);
    if (!dir)
        return failed("cannot be listed", "");
    while (g.count < SPOOL_FILES_MAX && (errno = 0, entry = readdir(dir)) != NULL)
        gather(&g, d, a, entry->d_name, out);
    const int code = entry ? 0 : errno;
    (void)closedir(dir);
    if (g.count > 1)
        qsort(g.entries, g.count, sizeof g.entries[0], oldest_first);
    if (g.count) {
        out->entries = arena_alloc(a, g.count * sizeof g.entries[0]);
        memcpy(out->entries, g.entries, g.count * sizeof g.entries[0]);
        out->count = g.count;
    }
    free(g.entries);
    errno = code;
    return code ? failed("cannot be listed", "") : OK;
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

/* --- one file --------------------------------------------------------------------------------------------
 */

enum err spool_file_identify(int fd, struct file_identity *out)
{
    bool regular;
    if (!identify(fd, "", out, &regular))
        return failed("fstat", "");
    return regular ? OK : ERR_NOT_FOUND;
}

/* By the clock that also gives files their times; never a test's. */
static bool was_touched_lately(int fd)
{
    struct timespec now;
    struct stat st;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0 || fstat(fd, &st) < 0)
        return false;
    const int64_t age_s = (int64_t)now.tv_sec - st.st_ctim.tv_sec;
    return age_s >= 0 && age_s < WRITER_SILENT_S;
}

/* A read lease is had only while nobody has the file open for writing. It is given back at once; who opens
 * the file for writing in between waits for that, and the signal that tells us so is one that nobody minds.
 * NFS gives no leases and says the same as if there were a writer. */
bool spool_file_has_writer(int fd)
{
    if (fcntl(fd, F_SETSIG, SIGURG) < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
        return errno == EAGAIN && was_touched_lately(fd);
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
    /* O_NONBLOCK: a FIFO of that name would be waited for. */
    *fd = openat(d->fd, n.p, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0)
        return err_of(errno) == ERR_NOT_FOUND ? ERR_NOT_FOUND : failed("cannot be read:", n.p);
    enum err err = spool_file_identify(*fd, identity);
    if (err)
        close_one(fd);
    return err;
}

/* --- moving away -----------------------------------------------------------------------------------------
 */

static bool is_taken(int at, const char *name)
{
    struct stat st;
    return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* rename(2) that takes only a free name; else EEXIST. */
static int rename_to_free(int from, const char *name, int to, const char *target)
{
    if (renameat2(from, name, to, target, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (is_taken(to, target)) {
        errno = EEXIST;
        return -1;
    }
    return renameat(from, name, to, target);
}

/* Not every file system can sync a directory; those that cannot say EINVAL. */
static enum err sync_directory(int fd)
{
    if (fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
        return failed("fsync of a directory", "");
    return OK;
}

/* NAME.ndjson, then NAME.TIME.ndjson with one millisecond more at each try. */
static struct c_name target_name(struct str name, int64_t now_ms, int try)
{
    struct c_name n = c_name(name);
    char time[TIME_TEXT_LEN];
    if (try == 0)
        return n;
    time_format(now_ms + try - 1, time);
    time[13] = time[16] = '-'; /* not every file system likes a colon */
    (void)snprintf(n.p, sizeof n.p, "%.*s.%.*s%s", (int)(name.len - suffix.len), name.p, (int)sizeof time,
                   time, suffix.p);
    return n;
}

static bool has_report(int at, const char *name)
{
    char report[NAME_BYTES + 16];
    (void)snprintf(report, sizeof report, "%s.errors", name);
    return is_taken(at, report);
}

/* What was moved is not what was applied: somebody put another file under the name in this very instant. It
 * goes back to where it came from, or beside it. */
static enum err put_back(const struct spool_dir *d, int place, const char *moved, struct str name,
                         int64_t now_ms)
{
    for (int try = 0; try < NAME_TRIES; try++) {
        const struct c_name n = target_name(name, now_ms, try);
        if (rename_to_free(place, moved, d->fd, n.p) == 0)
            return ERR_NOT_FOUND;
        if (errno != EEXIST)
            break;
    }
    return failed("cannot be put back:", moved);
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
        if (rename_to_free(d->fd, from.p, place, target->p) == 0) {
            if (identify(place, target->p, &moved, &regular) && file_identity_eq(&moved, identity))
                return OK;
            return put_back(d, place, target->p, name, now_ms);
        }
        if (errno == ENOENT)
            return ERR_NOT_FOUND;
        if (errno != EEXIST)
            break;
    }
    return failed("cannot be moved away:", from.p);
}

enum err spool_dir_move(const struct spool_dir *d, struct str name, const struct file_identity *identity,
                        enum spool_place place, int64_t now_ms, struct buf *as)
{
    struct file_identity now;
    struct c_name target;
    enum err err = spool_dir_identify(d, name, &now);
    if (!err && !file_identity_eq(&now, identity))
        err = ERR_NOT_FOUND;
    if (!err)
        err = move(d, name, identity, d->places[place], now_ms, &target);
    if (!err && as)
        buf_append(as, str_from_cstr(target.p));
    return err;
}

enum err spool_dir_sync(const struct spool_dir *d, enum spool_place place)
{
    /* First where the files are now: a crash between the two may leave both names, never none. */
    enum err err = sync_directory(d->places[place]);
    return err ? err : sync_directory(d->fd);
}

enum err spool_dir_find_bad(const struct spool_dir *d, const struct file_identity *identity, struct buf *name)
{
    const struct dirent *entry;
    bool found = false;
    DIR *dir = read_directory(d->places[SPOOL_BAD]);
    if (!dir)
        return failed("cannot be listed:", place_names[SPOOL_BAD]);
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

/* --- the report of bad lines -----------------------------------------------------------------------------
 */

static enum err write_report(int at, const char *name, bool (*write)(void *ctx, int fd), void *ctx)
{
    /* A crash may have left one of an earlier attempt. */
    (void)unlinkat(at, name, 0);
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, REPORT_MODE);
    if (fd < 0)
        return failed("cannot be written:", name);
    const bool ok = file_owner_of_directory(fd, at) && write(ctx, fd) && fsync(fd) == 0;
    enum err err = ok ? OK : failed("cannot be written:", name);
    if (close(fd) < 0 && !err)
        err = failed("cannot be written:", name);
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
    if (rename_to_free(at, temporary, at, report) < 0) {
        const bool there = errno == EEXIST;
        if (!there)
            return failed("cannot be named:", report);
        (void)unlinkat(at, temporary, 0);
    }
    return sync_directory(at);
}
