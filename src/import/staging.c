/* File formats: a line is preceded by its input line and length; a reading is the fixed part of struct
 * staged_reading followed by the bytes of its post id. */
#include "import/staging.h"

#include "base/check.h"

enum { READING_HEAD_BYTES = offsetof(struct staged_reading, post_id) };
_Static_assert(READING_HEAD_BYTES == 8 + 8 + 8 * COUNT_KINDS + 8, "no padding: it is written in binary");

struct line_head {
    uint64_t input_line, len;
};

enum err staging_open(struct staging *in, const char *dir)
{
    enum err err = OK;
    memset(in, 0, sizeof *in);
    for (int k = 0; k < RECORD_KINDS; k++)
        in->files[k].fd = -1;
    for (int k = 0; k < RECORD_KINDS && !err; k++)
        err = temp_file_open(&in->files[k], dir);
    return err;
}

void staging_close(struct staging *in)
{
    for (int k = 0; k < RECORD_KINDS; k++)
        temp_file_close(&in->files[k]);
}

static enum err add_reading(struct temp_file *file, uint64_t input_line, const struct reading_record *record)
{
    const struct str id = record->post_id.text;
    struct staged_reading r = {
        .input_line = input_line,
        .observed_at = record->observed_at.time_ms,
        .platform = record->platform.platform,
        .baseline = record->baseline.given == GIVEN_VALUE && record->baseline.flag,
        .post_id_len = (uint16_t)id.len,
    };
    CHECK(id.len < sizeof r.post_id);
    for (int k = 0; k < COUNT_KINDS; k++)
        r.counts[k] = record->counts[k].given == GIVEN_VALUE ? record->counts[k].count : COUNT_NONE;
    memcpy(r.post_id, id.p, id.len);
    return temp_file_write(file, &r, READING_HEAD_BYTES + id.len);
}

enum err staging_add(struct staging *in, uint64_t input_line, struct str line, const struct record *record)
{
    struct temp_file *file = &in->files[record->kind];
    in->counts[record->kind]++;
    if (record->kind == RECORD_READING)
        return add_reading(file, input_line, &record->reading);
    const struct line_head head = {.input_line = input_line, .len = line.len};
    enum err err = temp_file_write(file, &head, sizeof head);
    return err ? err : temp_file_write(file, line.p, line.len);
}

enum err staging_reader_open(struct staging_reader *r, struct staging *in, enum record_kind kind)
{
    struct temp_file *file = &in->files[kind];
    memset(r, 0, sizeof *r);
    enum err err = temp_file_flush(file);
    if (err)
        return err;
    buf_init(&r->line, RECORD_LINE_MAX);
    temp_reader_open(&r->file, file, 0, file->size);
    return OK;
}

void staging_reader_close(struct staging_reader *r)
{
    temp_reader_close(&r->file);
    buf_fini(&r->line);
}

enum err staging_next_line(struct staging_reader *r, uint64_t *input_line, struct str *line, bool *has)
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
    CHECK(to);
    err = temp_reader_read(&r->file, to, head.len);
    r->line.len = head.len;
    *input_line = head.input_line;
    *line = buf_str(&r->line);
    return err;
}

enum err staging_next_reading(struct staging_reader *r, struct staged_reading *out, bool *has)
{
    *has = temp_reader_has_more(&r->file);
    if (!*has)
        return OK;
    enum err err = temp_reader_read(&r->file, out, READING_HEAD_BYTES);
    if (err)
        return err;
    CHECK(out->post_id_len < sizeof out->post_id);
    return temp_reader_read(&r->file, out->post_id, out->post_id_len);
}
