/* The opaque cursor of GET /videos: a position in the list, bound to the author and the filters of its
 * request. */
#ifndef VT_API_CURSOR_H
#define VT_API_CURSOR_H

#include "store/read.h"

/* base64url of a version byte, the position and a 64-bit hash of author and filters. */
enum { CURSOR_TEXT_LEN = 44 };

/* Binds to all of the query but `after` and `limit`. The output has no NUL. */
void cursor_format(const struct videos_query *q, const struct uuid *author,
                   const struct video_position *position, char out[CURSOR_TEXT_LEN]);

/* False: malformed, another version, other filters, or another author. */
MUST_USE bool cursor_parse(const struct videos_query *q, const struct uuid *author, struct str text,
                           struct video_position *out);

#endif
