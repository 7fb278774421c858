/* Watches the spool with inotify and two timers.
 *
 *   UNWATCHED --check(): the directory exists--> WATCHED --check(): removed or replaced--> UNWATCHED
 *
 * Files arrive in bursts: the first one starts a short timer, whose expiry reports all of them. */
#include "refresh/spool_watch.h"

#include "base/check.h"
#include "base/log.h"
#include "refresh/spool_dir.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { GATHER_MS = 50, CHECK_MS = 1000, CHECKS_AFTER = 2048, HANDLES = 3 };

struct spool_watch {
    char *path;
    const char *base; /* last component of path */
    uv_fs_event_t event;
    uv_timer_t gather, check;
    bool watching, failure_logged;
    int checks;   /* number of checks since the last file arrived; -1: report_again() does nothing */
    dev_t device; /* identity of the watched directory */
    ino_t inode;
    int open_handles;
    void (*changed)(void *ctx);
    void *ctx;
};

static void on_gathered(uv_timer_t *timer)
{
    struct spool_watch *w = timer->data;
    w->changed(w->ctx);
}

static void report_soon(struct spool_watch *w)
{
    if (!uv_is_active((uv_handle_t *)&w->gather))
        CHECK(uv_timer_start(&w->gather, on_gathered, GATHER_MS, 0) == 0);
}

static void stop_watching(struct spool_watch *w)
{
    CHECK(uv_fs_event_stop(&w->event) == 0);
    w->watching = false;
}

static void on_check(uv_timer_t *timer);

/* libuv also reports files that a run moves away; the additional call of `changed` is harmless, because a run
 * that finds no file writes nothing. If the directory itself is removed or renamed, `name` is the directory's
 * own name. on_check() cannot always detect this by the inode, because a new directory may get the same inode
 * number. */
static void on_event(uv_fs_event_t *event, const char *name, int events, int status)
{
    struct spool_watch *w = event->data;
    (void)events;
    if (status < 0 || !name || spool_dir_is_candidate(str_from_cstr(name))) {
        w->checks = 0;
        report_soon(w);
    }
    if (status < 0 || !name || strcmp(name, w->base) == 0) {
        stop_watching(w);
        CHECK(uv_timer_start(&w->check, on_check, GATHER_MS, CHECK_MS) == 0);
    }
}

static void log_failure(struct spool_watch *w, const char *why)
{
    if (!w->failure_logged)
        log_warn(
            "spool: %s cannot be watched (%s): new files are applied only by the next scheduled run or by "
            "viewtally refresh",
            w->path, why);
    w->failure_logged = true;
}

static void start_watching(struct spool_watch *w, const struct stat *st)
{
    int code = uv_fs_event_start(&w->event, on_event, w->path, 0);
    if (code < 0) {
        log_failure(w, uv_strerror(code));
        return;
    }
    if (w->failure_logged)
        log_info("spool: %s is watched again", w->path);
    w->watching = true;
    w->failure_logged = false;
    w->device = st->st_dev;
    w->inode = st->st_ino;
    w->checks = 0;
    report_soon(w); /* reports files that arrived while the directory was not watched */
}

static void check(struct spool_watch *w)
{
    struct stat st;
    const bool there = stat(w->path, &st) == 0;
    const int code = errno;
    if (w->watching && there && st.st_dev == w->device && st.st_ino == w->inode)
        return;
    if (w->watching)
        stop_watching(w);
    if (there)
        start_watching(w, &st);
    else
        log_failure(w, strerror(code));
}

/* A run skips a file that is still open for writing, and closing the file causes no event. So, while the
 * spool has files, this function reports them again 1, 2, 4 … CHECKS_AFTER checks after the last event. */
static void report_again(struct spool_watch *w)
{
    if (w->checks < 0)
        return;
    w->checks++;
    if ((w->checks & (w->checks - 1)) != 0)
        return;
    if (spool_dir_has_any(w->path))
        report_soon(w);
    else
        w->checks = -1;
    if (w->checks == CHECKS_AFTER)
        w->checks = -1;
}

static void on_check(uv_timer_t *timer)
{
    check(timer->data);
    report_again(timer->data);
}

/* Creates the spool directory before the first run would, so that it can be watched from the start. */
static void create_directory(const char *path)
{
    struct spool_dir dir;
    struct buf why;
    buf_init(&why, 4096);
    if (spool_dir_open(&dir, path, &why) == OK)
        spool_dir_close(&dir);
    buf_fini(&why);
}

struct spool_watch *spool_watch_open(uv_loop_t *loop, const char *path, void (*changed)(void *ctx), void *ctx)
{
    struct spool_watch *w = xcalloc(1, sizeof *w);
    const size_t size = strlen(path) + 1;
    w->path = xmalloc(size);
    memcpy(w->path, path, size);
    w->base = strrchr(w->path, '/') ? strrchr(w->path, '/') + 1 : w->path;
    w->changed = changed;
    w->ctx = ctx;
    w->event.data = w->gather.data = w->check.data = w;
    CHECK(uv_fs_event_init(loop, &w->event) == 0 && uv_timer_init(loop, &w->gather) == 0 &&
          uv_timer_init(loop, &w->check) == 0);
    w->open_handles = HANDLES;
    w->checks = -1;
    create_directory(path);
    check(w);
    CHECK(uv_timer_start(&w->check, on_check, CHECK_MS, CHECK_MS) == 0);
    return w;
}

static void on_closed(uv_handle_t *handle)
{
    struct spool_watch *w = handle->data;
    if (--w->open_handles)
        return;
    free(w->path);
    free(w);
}

void spool_watch_close(struct spool_watch *w)
{
    uv_close((uv_handle_t *)&w->event, on_closed);
    uv_close((uv_handle_t *)&w->gather, on_closed);
    uv_close((uv_handle_t *)&w->check, on_closed);
}
