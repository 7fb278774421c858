/* Each body is compressed by one uv_work_t job. The job owns a reference to the body, so the cache may evict
 * the body while the job runs. */
#include "api/compressor.h"

#include "base/check.h"

#define ZLIB_CONST /* zlib.h then declares its input as const */

#include <stdlib.h>
#include <zlib.h>

enum {
    LEVEL = 6,
    WINDOW_BITS_GZIP = MAX_WBITS + 16, /* zlib.h: adding 16 selects the gzip format */
    MEMORY_LEVEL = 8,                  /* zlib's default */
};

struct compressor {
    uv_loop_t *loop;
    int running;
    unsigned long long compressed;
};

struct compress_job {
    uv_work_t work; /* must be the first member */
    struct compressor *owner;
    struct shared_body *body;
    size_t result_len; /* 0 if the body does not become smaller, or on an error */
    char result[];     /* as large as the body */
};

struct compressor *compressor_new(uv_loop_t *loop)
{
    struct compressor *c = xcalloc(1, sizeof *c);
    c->loop = loop;
    return c;
}

void compressor_free(struct compressor *c)
{
    CHECK(!c || !c->running);
    free(c);
}

/* Writes the compressed text to `to`, which has room for `text.len` bytes. Returns the length of the
 * compressed text, or 0 if it is not smaller than `text` or if out of memory. */
static size_t gzip(struct str text, char *to)
{
    z_stream z = {.next_in = (const Bytef *)text.p, .avail_in = (uInt)text.len};
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, WINDOW_BITS_GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    z.next_out = (Bytef *)to;
    z.avail_out = (uInt)text.len;
    const int code = deflate(&z, Z_FINISH);
    const size_t len = text.len - z.avail_out;
    (void)deflateEnd(&z);
    return code == Z_STREAM_END && len < text.len ? len : 0;
}

static void on_work(uv_work_t *work)
{
    struct compress_job *job = (struct compress_job *)work;
    job->result_len = gzip(shared_body_text(job->body), job->result);
}

static void on_worked(uv_work_t *work, int status)
{
    struct compress_job *job = (struct compress_job *)work;
    CHECK(status == 0);
    job->owner->running--;
    if (job->result_len) {
        job->owner->compressed++;
        shared_body_set_compressed(job->body, shared_body_new(str_make(job->result, job->result_len)));
    }
    shared_body_release(job->body);
    free(job);
}

static void start_job(struct compressor *c, struct shared_body *body)
{
    struct compress_job *job = xmalloc(sizeof *job + shared_body_text(body).len);
    *job = (struct compress_job){.owner = c, .body = shared_body_acquire(body)};
    c->running++;
    CHECK(uv_queue_work(c->loop, &job->work, on_work, on_worked) == 0);
}

struct shared_body *compressor_get(struct compressor *c, struct shared_body *body)
{
    struct shared_body *compressed = shared_body_compressed(body);
    if (compressed || shared_body_text(body).len < COMPRESSOR_MIN_BYTES)
        return compressed;
    if (c->running < COMPRESSOR_JOBS_MAX && shared_body_claim_compression(body))
        start_job(c, body);
    return NULL;
}

unsigned long long compressor_get_total(const struct compressor *c)
{
    return c->compressed;
}
