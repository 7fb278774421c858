/* Files for what does not fit in memory: nameless, so that nothing of them is left after a crash. Written
 * from front to back through a buffer, read back in pieces through buffers. */
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
    int64_t size; /* of what was written, the buffer included */
};

/* The directory of the file `path`: what is made beside a database is as large as what goes into it. `out`
 * has room for PATH_MAX bytes. */
void temp_dir_of(const char *path, char *out);

/* In directory `dir`. ERR_FULL, ERR_READONLY, ERR_IO: logged. */
MUST_USE enum err temp_file_open(struct temp_file *f, const char *dir);
void temp_file_close(struct temp_file *f); /* harmless when not open */

MUST_USE enum err temp_file_write(struct temp_file *f, const void *bytes, size_t n);

/* Before it is read. */
MUST_USE enum err temp_file_flush(struct temp_file *f);

/* Empties it and gives its space back. */
MUST_USE enum err temp_file_truncate(struct temp_file *f);

/* Reads [from, to) of a flushed file. Several readers of one file may be open at once. */
struct temp_reader {
    int fd;
    int64_t next, to; /* what is not in the buffer yet */
    char *buffer;
    size_t start, end;
};
void temp_reader_open(struct temp_reader *r, const struct temp_file *f, int64_t from, int64_t to);
void temp_reader_close(struct temp_reader *r);

static inline bool temp_reader_has_more(const struct temp_reader *r)
{
    return r->start < r->end || r->next < r->to;
}

/* Exactly n bytes, which must be there. */
MUST_USE enum err temp_reader_read(struct temp_reader *r, void *bytes, size_t n);

#endif
