/* Reads a file of any size line by line in bounded memory. */
#ifndef VT_IMPORT_LINE_READER_H
#define VT_IMPORT_LINE_READER_H

#include "base/error.h"
#include "base/str.h"

#include <stdint.h>

struct line_reader {
    int fd; /* owned by the caller */
    char *buffer;
    size_t start, end;
    int64_t number;     /* of the last returned line, from 1 */
    int64_t bytes_read; /* of the current file */
    bool at_end;
};

/* The longest line, without its line end. */
enum { LINE_BYTES_MAX = 1024 * 1024 };

void line_reader_init(struct line_reader *r);
void line_reader_fini(struct line_reader *r);

/* Switches to another file. */
void line_reader_open(struct line_reader *r, int fd);

enum line_kind { LINE_TEXT, LINE_TOO_LONG, LINE_NONE };

/* Returns the next line without its "\n", valid until the next call. Drops a byte order mark before the first
 * line. LINE_TOO_LONG: `*line` is empty. LINE_NONE: end of file; text after the last "\n" is a line if it is
 * not empty. ERR_IO: the file cannot be read, errno is the reason. */
MUST_USE enum err line_reader_next(struct line_reader *r, enum line_kind *kind, struct str *line);

#endif
