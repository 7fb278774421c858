/* Where an import keeps its input between reading it and applying it: lines of authors, books and videos as
 * they are, readings in a compact form, each kind in a temporary file of its own. So the input may be of any
 * size and come through a pipe, and nothing is applied before all of it could be read. */
#ifndef VT_IMPORT_STAGING_H
#define VT_IMPORT_STAGING_H

#include "base/buf.h"
#include "import/record.h"
#include "import/tempfile.h"

/* Where a line stood: grows from line to line and from file to file. */
static inline uint64_t input_line_make(int file, int64_t line)
{
    return (uint64_t)file << 40 | (uint64_t)line;
}

static inline int input_line_file(uint64_t place)
{
    return (int)(place >> 40);
}

static inline int64_t input_line_number(uint64_t place)
{
    return (int64_t)(place & ((UINT64_C(1) << 40) - 1));
}

struct staged_reading {
    uint64_t place;
    int64_t observed_at;
    int64_t counts[COUNT_KINDS];
    int32_t platform;
    uint16_t baseline, post_id_len;
    char post_id[256]; /* only its length goes to the file */
};

struct staging {
    struct temp_file files[RECORD_KINDS];
    int64_t counts[RECORD_KINDS];
};

MUST_USE enum err staging_open(struct staging *in, const char *dir);
void staging_close(struct staging *in);

/* The record that was parsed from the line. */
MUST_USE enum err staging_add(struct staging *in, uint64_t place, struct str line,
                              const struct record *record);

/* Reading back, one kind after the other. */
struct staging_reader {
    struct temp_reader file;
    struct buf line;
};
MUST_USE enum err staging_reader_open(struct staging_reader *r, struct staging *in, enum record_kind kind);
void staging_reader_close(struct staging_reader *r);

/* `*has` is false at the end. The line lives until the next call. */
MUST_USE enum err staging_next_line(struct staging_reader *r, uint64_t *place, struct str *line, bool *has);
MUST_USE enum err staging_next_reading(struct staging_reader *r, struct staged_reading *out, bool *has);

#endif
