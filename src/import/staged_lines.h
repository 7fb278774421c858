/* Lines of the input in a temporary file, each with its input line (staging.h). */
#ifndef VT_IMPORT_STAGED_LINES_H
#define VT_IMPORT_STAGED_LINES_H

#include "base/buf.h"
#include "import/tempfile.h"

/* Appends a line of at most RECORD_LINE_MAX bytes. */
MUST_USE enum err staged_line_add(struct temp_file *file, uint64_t input_line, struct str line);

/* Reads the lines in a range of the file. */
struct staged_line_reader {
    struct temp_reader file;
    struct buf line;
};
/* Opens a reader of [from, to). On failure, close it nevertheless. */
MUST_USE enum err staged_line_reader_open(struct staged_line_reader *r, struct temp_file *file, int64_t from,
                                          int64_t to);
void staged_line_reader_close(struct staged_line_reader *r);
/* Reads the next line. Sets `*has` to false after the last line. `*line` is valid until the next call. */
MUST_USE enum err staged_line_next(struct staged_line_reader *r, uint64_t *input_line, struct str *line,
                                   bool *has);

#endif
