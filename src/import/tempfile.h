/* Temporary files without a name, so that none is left after a crash. Written sequentially through a buffer,
 * read in ranges through buffers. */
#ifndef VT_IMPORT_TEMPFILE_H
#define VT_IMPORT_TEMPFILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEMP_BUFFER_BYTES = 64 * 1024 };

struct temp_file {
    int fd; /* -1: not open */
    char *buffer;
    size_t used;  /* in the buffer */
    int64_t size; /* bytes written, including the buffer */
};

/* Writes the directory of the file `path` to `out`, which has PATH_MAX bytes. Temporary files go beside the
 * database, because they are about as large. */
void temp_dir_of(const char *path, char *out);

/* Creates a file in directory `dir`. Errors (ERR_FULL, ERR_READONLY, ERR_IO) are logged. */
MUST_USE enum err temp_file_open(struct temp_file *f, const char *dir);
void temp_file_close(struct temp_file *f); /* harmless if not open */

MUST_USE enum err temp_file_write(struct temp_file *f, const void *bytes, size_t n);

/* Call before reading. */
MUST_USE enum err temp_file_flush(struct temp_file *f);

/* Truncates the file to 0 bytes. */
MUST_USE enum err temp_file_truncate(struct temp_file *f);

/* Reads [from, to) of a flushed file. Several readers of one file may be open at once. */
struct temp_reader {
    int fd;
    int64_t next, to; /* the range that is not in the buffer yet */
    char *buffer;
    size_t start, end;
};
void temp_reader_open(struct temp_reader *r, const struct temp_file *f, int64_t from, int64_t to);
void temp_reader_close(struct temp_reader *r);

static inline bool temp_reader_has_more(const struct temp_reader *r)
{
    return r->start < r->end || r->next < r->to;
}

/* Reads exactly `n` bytes, which must exist. */
MUST_USE enum err temp_reader_read(struct temp_reader *r, void *bytes, size_t n);

#endif
