/* Creates temporary files with Linux's O_TMPFILE, or with mkostemp and unlink on a file system that does not
 * support O_TMPFILE. */
#include "import/tempfile.h"

#include "base/check.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, PRIVATE = 0600 };

/* Translates errno and logs it. */
static enum err failed(const char *what)
{
    const int code = errno;
    log_error("temporary file: %s: %s", what, strerror(code));
    switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return ERR_FULL;
    case EROFS:
    case EACCES:
    case EPERM: return ERR_READONLY;
    default: return ERR_IO;
    }
}

static int open_named(const char *dir)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/.viewtally-XXXXXX", dir);
    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

enum err temp_file_open(struct temp_file *f, const char *dir)
{
    *f = (struct temp_file){.fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, PRIVATE)};
    if (f->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT))
        f->fd = open_named(dir);
    if (f->fd < 0)
        return failed(dir);
    f->buffer = xmalloc(TEMP_BUFFER_BYTES);
    return OK;
}

void temp_file_close(struct temp_file *f)
{
    if (f->fd < 0)
        return;
    (void)close(f->fd);
    free(f->buffer);
    *f = (struct temp_file){.fd = -1};
}

enum err temp_file_flush(struct temp_file *f)
{
    for (size_t done = 0; done < f->used;) {
        ssize_t n = write(f->fd, f->buffer + done, f->used - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failed("write");
        done += (size_t)n;
    }
    f->used = 0;
    return OK;
}

enum err temp_file_write(struct temp_file *f, const void *bytes, size_t n)
{
    const char *from = bytes;
    while (n > 0) {
        size_t part = TEMP_BUFFER_BYTES - f->used < n ? TEMP_BUFFER_BYTES - f->used : n;
        memcpy(f->buffer + f->used, from, part);
        f->used += part;
        f->size += (int64_t)part;
        from += part;
        n -= part;
        if (f->used == TEMP_BUFFER_BYTES) {
            enum err err = temp_file_flush(f);
            if (err)
                return err;
        }
    }
    return OK;
}

enum err temp_file_truncate(struct temp_file *f)
{
    f->used = 0;
    f->size = 0;
    if (ftruncate(f->fd, 0) < 0 || lseek(f->fd, 0, SEEK_SET) < 0)
        return failed("truncate");
    return OK;
}

void temp_reader_open(struct temp_reader *r, const struct temp_file *f, int64_t from, int64_t to)
{
    CHECK(f->used == 0 && from >= 0 && from <= to && to <= f->size);
    *r = (struct temp_reader){.fd = f->fd, .next = from, .to = to, .buffer = xmalloc(TEMP_BUFFER_BYTES)};
}

void temp_reader_close(struct temp_reader *r)
{
    free(r->buffer);
    *r = (struct temp_reader){.fd = -1};
}

static enum err refill(struct temp_reader *r)
{
    int64_t left = r->to - r->next;
    size_t want = left < TEMP_BUFFER_BYTES ? (size_t)left : TEMP_BUFFER_BYTES;
    ssize_t n;
    do
        n = pread(r->fd, r->buffer, want, r->next);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return failed("read");
    if (n == 0) {
        errno = EIO; /* the file is shorter than written: a disk error */
        return failed("read");
    }
    r->start = 0;
    r->end = (size_t)n;
    r->next += n;
    return OK;
}

enum err temp_reader_read(struct temp_reader *r, void *bytes, size_t n)
{
    char *to = bytes;
    while (n > 0) {
        if (r->start == r->end) {
            CHECK(r->next < r->to);
            enum err err = refill(r);
            if (err)
                return err;
        }
        size_t part = r->end - r->start < n ? r->end - r->start : n;
        memcpy(to, r->buffer + r->start, part);
        r->start += part;
        to += part;
        n -= part;
    }
    return OK;
}
