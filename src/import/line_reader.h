/* Lines of a file of any size, read in order with bounded memory. */
#ifndef VT_IMPORT_LINE_READER_H
#define VT_IMPORT_LINE_READER_H

#include "base/error.h"
#include "base/str.h"

#include <stdint.h>

struct line_reader {
    int fd; /* the caller's */
    char *buffer;
    size_t start, end;
    int64_t number;     /* of the line that was given out last, from 1 */
    int64_t bytes_read; /* from the file */
    bool at_end;
};

/* Longest line without its line end; the buffer is a little larger. */
enum { LINE_BYTES_MAX = 1024 * 1024 };

void line_reader_init(struct line_reader *r);
void line_reader_fini(struct line_reader *r);

/* Starts with another file. */
void line_reader_open(struct line_reader *r, int fd);

enum line_kind { LINE_TEXT, LINE_TOO_LONG, LINE_NONE };

/* The next line without its "\n", until the next call; a byte order mark before the first one is dropped. Of
 * a line that is too long nothing is given out but that it is there. LINE_NONE at the end of the file: what
 * stands behind the last "\n" is a line if it is not empty. ERR_IO when the file cannot be read (the caller
 * finds the reason in errno). */
MUST_USE enum err line_reader_next(struct line_reader *r, enum line_kind *kind, struct str *line);

#endif
