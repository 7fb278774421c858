/* Reads CSV (RFC 4180) from a text in memory. Line ends may be LF or CRLF. */
#ifndef VT_CLI_CSV_READER_H
#define VT_CLI_CSV_READER_H

#include "base/arena.h"

#include <stdint.h>

enum { CSV_FIELDS_MAX = 16 };

struct csv_reader {
    struct str rest;
    char separator;
    int64_t next_line; /* number of the line at `rest` */

    /* The record that the last call of csv_next() has read. */
    int64_t line; /* number of the line on which it begins */
    struct str fields[CSV_FIELDS_MAX];
    size_t count;
    const char
        *problem; /* static text that describes why the record is malformed; NULL if it is well-formed */
};

/* Starts at the beginning of `text`. Skips a byte order mark. The separator is a semicolon if the first line
 * contains a semicolon and no comma, because spreadsheets write such files in many countries. Otherwise it is
 * a comma. */
void csv_open(struct csv_reader *r, struct str text);

/* Reads the next record and skips empty lines. The fields are in the arena or point into the text. Returns
 * false at the end. A malformed record sets `problem`; reading continues after its line. If a quotation mark
 * is not closed, the record extends to the end of the text. */
bool csv_next(struct csv_reader *r, struct arena *arena);

#endif
