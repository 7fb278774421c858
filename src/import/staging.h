/* Staging: stores the input of an import in one temporary file per kind of record. Authors, books and videos
 * are stored as lines, readings in binary form. Staging is necessary because the input may come through a
 * pipe and nothing may be applied before all of it was read. */
#ifndef VT_IMPORT_STAGING_H
#define VT_IMPORT_STAGING_H

#include "import/record.h"
#include "import/staged_lines.h"

/* Packs file index and line number into one integer, which identifies an input line. The integers are in
 * input order. */
static inline uint64_t input_line_make(int file, int64_t line)
{
    return (uint64_t)file << 40 | (uint64_t)line;
}

static inline int input_line_file(uint64_t input_line)
{
    return (int)(input_line >> 40);
}

static inline int64_t input_line_number(uint64_t input_line)
{
    return (int64_t)(input_line & ((UINT64_C(1) << 40) - 1));
}

struct staged_reading {
    uint64_t input_line;
    int64_t observed_at;
    int64_t counts[COUNT_KINDS];
    int32_t platform;
    uint16_t baseline, post_id_len;
    char post_id[256]; /* the temporary file contains only post_id_len bytes of it */
};

struct staging {
    struct temp_file files[RECORD_KINDS];
    int64_t counts[RECORD_KINDS]; /* numbers of staged records */
};

/* Creates the temporary files in the directory `dir`. */
MUST_USE enum err staging_open(struct staging *in, const char *dir);
void staging_close(struct staging *in);

/* Stores a line. `record` is the record parsed from it. */
MUST_USE enum err staging_add(struct staging *in, uint64_t input_line, struct str line,
                              const struct record *record);

/* Opens a reader of the lines of a kind other than readings. On failure, close it nevertheless. */
MUST_USE enum err staging_open_lines(struct staging *in, enum record_kind kind,
                                     struct staged_line_reader *reader);

/* Opens a reader of the readings. On failure, close it nevertheless. */
MUST_USE enum err staging_open_readings(struct staging *in, struct temp_reader *reader);
/* Reads the next reading. Sets `*has` to false after the last one. */
MUST_USE enum err staging_next_reading(struct temp_reader *reader, struct staged_reading *out, bool *has);

#endif
