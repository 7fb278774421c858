/* Error codes of an API that no table of ours contains. Each is logged at most once a day; the codes logged
 * recently are stored in platform_limits, so that this also holds across runs. */
#ifndef VT_FETCH_UNKNOWN_CODES_H
#define VT_FETCH_UNKNOWN_CODES_H

#include "base/str.h"
#include "store/platform_limits.h"

enum { ERROR_CODE_MAX = 64, UNKNOWN_CODES_MAX = 16 };

struct unknown_codes {
    struct {
        char text[ERROR_CODE_MAX];
        int64_t until; /* wall clock: not logged again before; 0: free entry */
    } entries[UNKNOWN_CODES_MAX];
};

/* Returns true if the code must be logged. False also if the table is full or the code too long. */
MUST_USE bool unknown_codes_add(struct unknown_codes *u, struct str code);

MUST_USE enum err unknown_codes_load(struct unknown_codes *u, struct store *store, int api);
/* Call in an open transaction. Deletes expired codes. */
MUST_USE enum err unknown_codes_save(struct unknown_codes *u, struct store *store, int api);

/* Copies into a buffer and NUL-terminates. Returns false if the text was cut. */
bool text_copy(char *to, size_t size, struct str s);

#endif
