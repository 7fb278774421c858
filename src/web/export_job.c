/* One job per export.
 *
 *   exports_start() → RUNNING → on_exported(): the waiter completes, the job is freed
 *   RUNNING → the waiter is canceled → on_exported(): the file is closed, the job is freed */
#include "web/export_job.h"

#include "base/check.h"
#include "http/shared_body.h"
#include "import/author_export.h"
#include "import/tempfile.h"
#include "store/database_files.h"
#include "store/store_config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct exports {
    uv_loop_t *loop;
    const struct config *config;
    int64_t bytes_max;
    int running;
};

struct export_job {
    uv_work_t work;
    struct exports *owner;
    struct waiter *waiter; /* NULL if canceled */
    struct export_call *call;
    struct uuid author_id;
    struct temp_file file;
    bool is_too_large;
    enum err err;
    int fd; /* -1: none */
    int64_t size;
};

/* Returns the maximum size of an export. */
static int64_t bytes_max(void)
{
#ifdef VT_TEST_SEAMS
    const char *bytes = getenv("VIEWTALLY_TEST_EXPORT_BYTES_MAX");
    if (bytes)
        return strtoll(bytes, NULL, 10);
#endif
    return SHARED_BODY_MAX_BYTES;
}

struct exports *exports_new(uv_loop_t *loop, const struct config *config)
{
    struct exports *e = xcalloc(1, sizeof *e);
    *e = (struct exports){.loop = loop, .config = config, .bytes_max = bytes_max()};
    return e;
}

void exports_free(struct exports *e)
{
    if (!e)
        return;
    CHECK(e->running == 0);
    free(e);
}

/* ---- writing the export on a pool thread ---- */

static enum err write_part(void *ctx, struct str bytes)
{
    struct export_job *job = ctx;
    if (job->file.size + (int64_t)bytes.len > job->owner->bytes_max) {
        job->is_too_large = true;
        return ERR_FULL;
    }
    return temp_file_write(&job->file, bytes.p, bytes.len);
}

static enum err write_export(struct export_job *job)
{
    const struct store_options options = store_options_from_config(job->owner->config, STORE_READ);
    struct export_summary summary;
    struct store *store;
    struct error error;
    enum err err = store_open(&store, &options, &error);
    if (err)
        return err;
    err = export_author(store, &job->author_id, write_part, job, &summary);
    store_close(store);
    return err ? err : temp_file_flush(&job->file);
}

static void on_work(uv_work_t *work)
{
    struct export_job *job = (struct export_job *)work;
    char copy[DATABASE_FILE_PATH_MAX];
    job->err = temp_file_open(&job->file, database_directory(copy, job->owner->config->store.path));
    if (job->err)
        return;
    job->err = write_export(job);
    job->size = job->file.size;
    if (!job->err)
        job->fd = fcntl(job->file.fd, F_DUPFD_CLOEXEC, 0);
    if (!job->err && job->fd < 0)
        job->err = ERR_IO;
    temp_file_close(&job->file);
}

/* ---- starting and canceling exports on the loop thread ---- */

static void on_exported(uv_work_t *work, int status)
{
    struct export_job *job = (struct export_job *)work;
    struct waiter *waiter = job->waiter;
    CHECK(status == 0);
    job->owner->running--;
    if (waiter) {
        job->call->body = job->err ? NULL : shared_body_from_file(job->fd, (size_t)job->size);
        job->call->is_too_large = job->is_too_large;
        job->call->err = job->err ? job->err : job->call->body ? OK : ERR_NOMEM;
    } else if (job->fd >= 0) {
        (void)close(job->fd);
    }
    free(job);
    if (waiter)
        waiter_complete(waiter);
}

static void cancel(struct waiter *waiter)
{
    struct export_job *job = waiter->call;
    job->waiter = NULL;
}

enum next exports_start(struct exports *e, struct waiter *waiter, struct export_call *call,
                        const struct uuid *author_id)
{
    CHECK(!waiter_is_armed(waiter));
    *call = (struct export_call){.is_busy = e->running == EXPORT_JOBS_MAX};
    if (call->is_busy)
        return NEXT_MORE;
    struct export_job *job = xcalloc(1, sizeof *job);
    job->owner = e;
    job->waiter = waiter;
    job->call = call;
    job->author_id = *author_id;
    job->fd = -1;
    e->running++;
    waiter->call = job;
    waiter->cancel = cancel;
    CHECK(uv_queue_work(e->loop, &job->work, on_work, on_exported) == 0);
    return NEXT_WAIT;
}
