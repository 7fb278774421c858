/* In its file, a reading is the fixed part of struct staged_reading followed by the bytes of its post id. */
#include "import/staging.h"

#include "base/check.h"

enum { READING_HEAD_BYTES = offsetof(struct staged_reading, post_id) };
_Static_assert(READING_HEAD_BYTES == 8 + 8 + 8 * COUNT_KINDS + 8,
               "no padding: the struct is written in binary");

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
    return staged_line_add(file, input_line, line);
}

enum err staging_open_lines(struct staging *in, enum record_kind kind, struct staged_line_reader *reader)
{
    struct temp_file *file = &in->files[kind];
    return staged_line_reader_open(reader, file, 0, file->size);
}

enum err staging_open_readings(struct staging *in, struct temp_reader *reader)
{
    struct temp_file *file = &in->files[RECORD_READING];
    *reader = (struct temp_reader){.fd = -1};
    enum err err = temp_file_flush(file);
    if (!err)
        temp_reader_open(reader, file, 0, file->size);
    return err;
}

enum err staging_next_reading(struct temp_reader *reader, struct staged_reading *out, bool *has)
{
    *has = temp_reader_has_more(reader);
    if (!*has)
        return OK;
    enum err err = temp_reader_read(reader, out, READING_HEAD_BYTES);
    if (err)
        return err;
    CHECK(out->post_id_len < sizeof out->post_id);
    return temp_reader_read(reader, out->post_id, out->post_id_len);
}
