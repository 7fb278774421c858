/* CSV output (RFC 4180). An apostrophe is put in front of a text that a spreadsheet would run as a formula.
 */
#ifndef VT_API_CSV_H
#define VT_API_CSV_H

#include "base/buf.h"
#include "base/uuid.h"

/* Each function except csv_end_line() appends a cell. It writes a comma first unless the cell is the first of
 * its line. */
void csv_append_text(
    struct buf *b,
    struct str s); /* an empty cell if s.p is NULL; a text that is not UTF-8 becomes one U+FFFD */
void csv_append_i64(struct buf *b, int64_t v);
void csv_append_bool(struct buf *b, bool v);
void csv_append_uuid(struct buf *b, const struct uuid *u);
void csv_append_date(struct buf *b, int32_t date);
void csv_end_line(struct buf *b);

#endif
