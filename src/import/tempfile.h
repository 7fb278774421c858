/* Temporary files. They have no name, so the system deletes them after a crash. They are written sequentially
 * through a buffer and read in ranges through one buffer per reader. */
#ifndef VT_IMPORT_TEMPFILE_H
#define VT_IMPORT_TEMPFILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEMP_BUFFER_BYTES = 64 * 1024 };

struct temp_file {
    int fd; /* -1 if not open */
    char *buffer;
    size_t used;  /* bytes in the buffer */
    int64_t size; /* bytes written, including those in the buffer */
};

/* Creates a file in the directory `dir`. Use database_directory(), because temporary files can be as large as
 * the database. Errors (ERR_FULL, ERR_READONLY, ERR_IO) are logged. */
MUST_USE enum err temp_file_open(struct temp_file *f, const char *dir);
void temp_file_close(struct temp_file *f); /* does nothing if not open */

/* Appends `n` bytes to the file. */
MUST_USE enum err temp_file_write(struct temp_file *f, const void *bytes, size_t n);

/* Writes the buffer to the file. Call before opening a reader. */
MUST_USE enum err temp_file_flush(struct temp_file *f);

/* Truncates the file to 0 bytes. */
MUST_USE enum err temp_file_truncate(struct temp_file *f);

/* Reads the range [from, to) of a flushed file. A file may have several open readers. */
struct temp_reader {
    int fd;
    int64_t next, to; /* the range that has not been read into the buffer */
    char *buffer;
    size_t start, end; /* range of the unread bytes in `buffer` */
};
void temp_reader_open(struct temp_reader *r, const struct temp_file *f, int64_t from, int64_t to);
void temp_reader_close(struct temp_reader *r);

static inline bool temp_reader_has_more(const struct temp_reader *r)
{
    return r->start < r->end || r->next < r->to;
}

/* Reads exactly `n` bytes. Precondition: the range has at least `n` more. */
MUST_USE enum err temp_reader_read(struct temp_reader *r, void *bytes, size_t n);

#endif
