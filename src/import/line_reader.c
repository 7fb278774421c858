/* Reads large chunks into one buffer and returns lines that point into the buffer. A line that is too long is
 * discarded while it is read. */
#include "import/line_reader.h"

#include "base/check.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { READ_AHEAD = 256 * 1024, BUFFER_BYTES = LINE_BYTES_MAX + READ_AHEAD };

void line_reader_init(struct line_reader *r)
{
    *r = (struct line_reader){.fd = -1, .buffer = xmalloc(BUFFER_BYTES)};
}

void line_reader_fini(struct line_reader *r)
{
    free(r->buffer);
    r->buffer = NULL;
}

void line_reader_open(struct line_reader *r, int fd)
{
    *r = (struct line_reader){.fd = fd, .buffer = r->buffer};
}

/* Appends a chunk to the buffer. If there is too little space, first moves the unread bytes to the front. */
static enum err fill(struct line_reader *r)
{
    if (BUFFER_BYTES - r->end < READ_AHEAD / 2) {
        memmove(r->buffer, r->buffer + r->start, r->end - r->start);
        r->end -= r->start;
        r->start = 0;
    }
    CHECK(r->end < BUFFER_BYTES);
    ssize_t n;
    do
        n = read(r->fd, r->buffer + r->end, BUFFER_BYTES - r->end);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return ERR_IO;
    r->at_end = n == 0;
    r->end += (size_t)n;
    r->bytes_read += n;
    return OK;
}

static struct str without_bom(const struct line_reader *r, struct str line)
{
    if (r->number == 1 && str_starts_with(line, STR("\xEF\xBB\xBF")))
        return str_make(line.p + 3, line.len - 3);
    return line;
}

enum err line_reader_next(struct line_reader *r, enum line_kind *kind, struct str *line)
{
    size_t searched = 0; /* bytes after `start` without a line end */
    bool too_long = false;
    for (;;) {
        char *from = r->buffer + r->start + searched;
        char *newline = memchr(from, '\n', r->end - r->start - searched);
        size_t len = newline ? (size_t)(newline - r->buffer) - r->start : r->end - r->start;
        too_long = too_long || len > LINE_BYTES_MAX;
        if (newline || r->at_end) {
            bool none = !newline && len == 0 && !too_long;
            *kind = none ? LINE_NONE : too_long ? LINE_TOO_LONG : LINE_TEXT;
            r->number += !none;
            *line = *kind == LINE_TEXT ? without_bom(r, str_make(r->buffer + r->start, len)) : STR("");
            r->start += len + (newline != NULL);
            return OK;
        }
        if (too_long)
            r->start = r->end;
        searched = r->end - r->start;
        enum err err = fill(r);
        if (err)
            return err;
    }
}
