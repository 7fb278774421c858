/* Long responses, written in slices. Between two slices, other requests can run, and the completed part can
 * be sent. The ETag is computed before the body.
 *
 * Each slice is a separate read and reports the author's revision at that time. If the revision changed
 * between two slices, the response is written again from the start; but if part of the response was already
 * sent, it is aborted. So no client receives a mix of two revisions. */
#ifndef VT_API_STREAM_H
#define VT_API_STREAM_H

#include "api/api.h"

struct stream {
    int64_t slice_start_us;
    int64_t author_rev; /* the revision that the response shows */
    int restarts;
};

/* Computes the ETag from the program's version, the database and its incarnation, the author, the author's
 * revision and `variant`, which contains everything else that the body depends on. If the client already has
 * this response, prepares a 304 and returns false. */
MUST_USE bool stream_begin(struct request *r, struct stream *s, struct str variant);

/* Continues with `step`. If enough of the response has accumulated, sends that part first and waits until the
 * socket is writable again. Otherwise, if the time slice of this loop iteration has ended, waits for the next
 * iteration. Return the value of this function from the current step. */
enum next stream_next_slice(struct request *r, struct stream *s, request_step *step);

/* Checks whether the data has changed. Call after each slice, with the author's revision that the slice has
 * reported. `variant` is the argument of stream_begin(). On STREAM_RESTART, the response has been emptied and
 * has a new ETag; write it again from the start. On STREAM_ABORT, call envelope_data_changed(). */
enum stream_change { STREAM_UNCHANGED, STREAM_RESTART, STREAM_ABORT };
enum stream_change stream_check(struct request *r, struct stream *s, int64_t author_rev, struct str variant);

#endif
