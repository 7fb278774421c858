/* Error codes of an API that are in none of our tables. Each code is logged at most once a day, even across
 * runs: the recently logged codes are stored in platform_limits. */
#ifndef VT_FETCH_UNKNOWN_CODES_H
#define VT_FETCH_UNKNOWN_CODES_H

#include "base/str.h"
#include "store/platform_limits.h"

enum { ERROR_CODE_MAX = 64, UNKNOWN_CODES_MAX = 16 };

struct unknown_codes {
    struct {
        char text[ERROR_CODE_MAX];
        int64_t until; /* wall clock: the code is not logged again before this time; 0: free entry */
    } entries[UNKNOWN_CODES_MAX];
};

/* Records a code. Returns true if it must be logged. Returns false if it was logged recently, if the table is
 * full, or if the code is too long. */
MUST_USE bool unknown_codes_add(struct unknown_codes *u, struct str code);

/* Reads the recently logged codes of an API. */
MUST_USE enum err unknown_codes_load(struct unknown_codes *u, struct store *store, int api);
/* Stores the codes and deletes expired ones. Call in an open transaction. */
MUST_USE enum err unknown_codes_save(const struct unknown_codes *u, struct store *store, int api);

/* Copies `s` into the buffer `to` and NUL-terminates it. Returns false if the text was truncated. */
bool text_copy(char *to, size_t size, struct str s);

#endif
