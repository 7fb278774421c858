/* The opaque cursor of GET /videos: a position, bound to the author and to the filters it was made with. */
#ifndef VT_API_CURSOR_H
#define VT_API_CURSOR_H

#include "store/read.h"

/* base64url of a version byte, the position and a 64-bit binding. */
enum { CURSOR_TEXT_LEN = 44 };

/* `q->after` is ignored, everything else of the query but `limit` is bound. Not terminated. */
void cursor_format(const struct videos_query *q, const struct uuid *author,
                   const struct video_position *position, char out[CURSOR_TEXT_LEN]);

/* False: garbage, another version, or made with other filters or by another author. */
MUST_USE bool cursor_parse(const struct videos_query *q, const struct uuid *author, struct str text,
                           struct video_position *out);

#endif
