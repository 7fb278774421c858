/* In the file, a struct line_head precedes each line. */
#include "import/staged_lines.h"

#include "base/check.h"
#include "import/record.h"

struct line_head {
    uint64_t input_line, len;
};

enum err staged_line_add(struct temp_file *file, uint64_t input_line, struct str line)
{
    const struct line_head head = {.input_line = input_line, .len = line.len};
    CHECK(line.len <= RECORD_LINE_MAX);
    enum err err = temp_file_write(file, &head, sizeof head);
    return err ? err : temp_file_write(file, line.p, line.len);
}

enum err staged_line_reader_open(struct staged_line_reader *r, struct temp_file *file, int64_t from,
                                 int64_t to)
{
    *r = (struct staged_line_reader){.line = {0}};
    enum err err = temp_file_flush(file);
    if (err)
        return err;
    buf_init(&r->line, RECORD_LINE_MAX);
    temp_reader_open(&r->file, file, from, to);
    return OK;
}

void staged_line_reader_close(struct staged_line_reader *r)
{
    temp_reader_close(&r->file);
    buf_fini(&r->line);
}

enum err staged_line_next(struct staged_line_reader *r, uint64_t *input_line, struct str *line, bool *has)
{
    struct line_head head;
    *has = temp_reader_has_more(&r->file);
    if (!*has)
        return OK;
    enum err err = temp_reader_read(&r->file, &head, sizeof head);
    if (err)
        return err;
    buf_reset(&r->line, RECORD_LINE_MAX);
    char *to = buf_reserve(&r->line, head.len);
    CHECK(to || !head.len);
    err = temp_reader_read(&r->file, to, head.len);
    r->line.len = head.len;
    *input_line = head.input_line;
    *line = buf_str(&r->line);
    return err;
}
