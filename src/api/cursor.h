/* The opaque cursor of GET /videos. It contains a position in the list of videos and is valid only for the
 * author and the filters for which it was formatted. */
#ifndef VT_API_CURSOR_H
#define VT_API_CURSOR_H

#include "store/read.h"

/* A cursor is the base64url form of a version byte, the position, and a 64-bit hash of the author, the
 * filters and the position. */
enum { CURSOR_TEXT_LEN = 44 };

/* Formats a cursor for `position`. The cursor is bound to all members of `q` except `after`, `limit` and
 * `today`. The output is not NUL-terminated. */
void cursor_format(const struct videos_query *q, const struct uuid *author,
                   const struct video_position *position, char out[CURSOR_TEXT_LEN]);

/* Parses a cursor. Returns false if it is malformed, has an unknown version, or belongs to other filters or
 * another author. */
MUST_USE bool cursor_parse(const struct videos_query *q, const struct uuid *author, struct str text,
                           struct video_position *out);

#endif
