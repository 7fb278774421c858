/* UUIDs (RFC 9562), stored as 16 bytes. */
#ifndef VT_BASE_UUID_H
#define VT_BASE_UUID_H

#include "base/str.h"

#include <stdint.h>
#include <string.h>

struct uuid {
    uint8_t b[16];
};

enum { UUID_TEXT_LEN = 36 };

/* All bits are zero. No UUID is smaller. */
extern const struct uuid uuid_nil;

/* Parses 8-4-4-4-12 hexadecimal digits in either case. Accepts any version. Returns false for other text. */
bool uuid_parse(struct str s, struct uuid *out);

/* Writes the UUID in lower case, not terminated. */
void uuid_format(const struct uuid *u, char out[UUID_TEXT_LEN]);

/* Compares the bytes of two UUIDs like memcmp(). */
int uuid_cmp(const struct uuid *a, const struct uuid *b);

static inline bool uuid_eq(const struct uuid *a, const struct uuid *b)
{
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}

/* Makes a version 4 UUID from 16 random bytes. */
struct uuid uuid_from_random(const uint8_t random[16]);

#endif
