/* Long answers in slices: when to let others have their turn, when to send what is there, and the entity tag
 * that is known before the body is.
 *
 * The slices of one answer are separate reads. Each looks at the author's revision first; an answer whose
 * data changed in between is begun anew as long as nothing was sent, and broken off when something was, so
 * that no client ever gets a mix. */
#ifndef VT_API_STREAM_H
#define VT_API_STREAM_H

#include "api/api.h"

struct stream {
    int64_t slice_start_us;
    int64_t author_rev; /* that the answer shows */
    int restarts;
};

/* Sets the ETag out of the database, the author's revision and `variant`: everything else that the body
 * depends on. False: the client has this very answer, 304 is made. */
MUST_USE bool stream_begin(struct request *r, struct stream *s, struct str variant);

/* Goes on with `step`: at once, after the loop has turned, or when the client has read. */
enum next stream_next_slice(struct request *r, struct stream *s, request_step *step);

enum stream_change { STREAM_SAME, STREAM_BEGIN_ANEW, STREAM_GIVE_UP };
/* What a slice that saw `author_rev` means for the answer. After STREAM_BEGIN_ANEW the response is empty
 * again and carries the new ETag. */
enum stream_change stream_check(struct request *r, struct stream *s, int64_t author_rev, struct str variant);

#endif
