/* Reads the free disk space every INTERVAL_MS. */
#include "admin/disk_space.h"

#include "base/check.h"

enum { INTERVAL_MS = 5000 };

static void on_timer(uv_timer_t *timer);

static void read_result(struct disk_space *d)
{
    const struct uv_statfs_s *s = d->request.ptr;
    d->is_known = d->request.result == 0;
    if (d->is_known) {
        d->free_bytes = (int64_t)(s->f_bavail * s->f_bsize);
        d->size_bytes = (int64_t)(s->f_blocks * s->f_bsize);
    }
    uv_fs_req_cleanup(&d->request);
}

static void on_statfs(uv_fs_t *request)
{
    struct disk_space *d = request->data;
    read_result(d);
    if (!uv_is_closing((uv_handle_t *)&d->timer))
        CHECK(uv_timer_start(&d->timer, on_timer, INTERVAL_MS, 0) == 0);
}

/* Starts statfs() on the thread pool. The timer is started again when statfs() has ended, so at most one
 * thread of the pool waits for a file system that hangs. */
static void on_timer(uv_timer_t *timer)
{
    struct disk_space *d = timer->data;
    if (uv_fs_statfs(timer->loop, &d->request, d->path, on_statfs) != 0)
        CHECK(uv_timer_start(timer, on_timer, INTERVAL_MS, 0) == 0);
}

void disk_space_open(struct disk_space *d, uv_loop_t *loop, const char *path)
{
    *d = (struct disk_space){.path = path};
    CHECK(uv_timer_init(loop, &d->timer) == 0);
    d->timer.data = d->request.data = d;
    uv_unref((uv_handle_t *)&d->timer);
    if (!path)
        return;
    /* Without a callback, this call blocks. */
    if (uv_fs_statfs(loop, &d->request, path, NULL) == 0)
        read_result(d);
    CHECK(uv_timer_start(&d->timer, on_timer, INTERVAL_MS, 0) == 0);
}

bool disk_space_is_low(const struct disk_space *d, int64_t min_bytes)
{
    return d->is_known && d->free_bytes < min_bytes;
}

void disk_space_close(struct disk_space *d)
{
    uv_close((uv_handle_t *)&d->timer, NULL);
}
