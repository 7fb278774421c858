/* Long responses in slices: yields to other requests, sends what is complete, and knows the entity tag before
 * the body.
 *
 * Each slice is a read of its own and reports the author's revision that it saw. If the data changed between
 * two slices, the response is restarted; if a part of it was sent already, it is aborted, so that no client
 * receives a mix of two revisions. */
#ifndef VT_API_STREAM_H
#define VT_API_STREAM_H

#include "api/api.h"

struct stream {
    int64_t slice_start_us;
    int64_t author_rev; /* of the response */
    int restarts;
};

/* Sets the ETag from the database, the author, the author's revision and `variant`, which stands for
 * everything else that the body depends on. False: the client has this response already, and the 304 is made.
 */
MUST_USE bool stream_begin(struct request *r, struct stream *s, struct str variant);

/* Continues with `step`: now, in the next loop iteration, or when the client has read. */
enum next stream_next_slice(struct request *r, struct stream *s, request_step *step);

/* Call after each slice with the revision that it saw. After STREAM_RESTART the response is empty and has the
 * new ETag. */
enum stream_change { STREAM_UNCHANGED, STREAM_RESTART, STREAM_ABORT };
enum stream_change stream_check(struct request *r, struct stream *s, int64_t author_rev, struct str variant);

#endif
