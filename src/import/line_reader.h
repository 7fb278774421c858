/* Reads a file of any size line by line in bounded memory. */
#ifndef VT_IMPORT_LINE_READER_H
#define VT_IMPORT_LINE_READER_H

#include "base/error.h"
#include "base/str.h"

#include <stdint.h>

struct line_reader {
    int fd; /* owned by the caller */
    char *buffer;
    size_t start, end;  /* range of the unread bytes in `buffer` */
    int64_t number;     /* number of the last returned line; the first line is 1 */
    int64_t bytes_read; /* bytes of the current file that have been read */
    bool at_end;        /* the end of the file was reached */
};

/* The maximum length of a line, without its line end. */
enum { LINE_BYTES_MAX = 1024 * 1024 };

void line_reader_init(struct line_reader *r);
void line_reader_fini(struct line_reader *r);

/* Starts to read the file `fd`, which stays owned by the caller. */
void line_reader_open(struct line_reader *r, int fd);

enum line_kind { LINE_TEXT, LINE_TOO_LONG, LINE_NONE };

/* Reads the next line. Sets `*kind`:
 *
 *   LINE_TEXT      `*line` is the line without its "\n", valid until the next call
 *   LINE_TOO_LONG  the line was skipped; `*line` is empty
 *   LINE_NONE      end of file
 *
 * Text after the last "\n" is also a line, unless it is empty. A byte order mark before the first line is
 * skipped. Returns ERR_IO with errno set if the file cannot be read. */
MUST_USE enum err line_reader_next(struct line_reader *r, enum line_kind *kind, struct str *line);

#endif
