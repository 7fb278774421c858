/* Starts a session after a successful sign-in: stores session and device in one transaction, and sets the
 * cookies after the commit. The transaction also ends the browser's previous session, so that a session id
 * that was valid before the sign-in is invalid afterwards (protection against session fixation). */
#ifndef VT_WEB_SESSION_START_H
#define VT_WEB_SESSION_START_H

#include "web/web.h"

struct session_start {
    struct new_session session;
    uint8_t previous[SECRET_HASH_LEN]; /* hash of the previous session's secret */
    bool has_previous;
    int64_t author_row, now; /* `now` is expiry_now_ms() (base/expiry_floor.h) */
    struct device_record device;
    struct actor by;
};

/* Writes the hash of the device cookie to `out`. Returns false if the browser has sent no device cookie or a
 * malformed one. Does not check whether the device is stored. */
bool session_start_read_device(struct request *r, uint8_t out[SECRET_HASH_LEN]);

/* Generates the secrets of the new session and device (page_context->new_session and new_device). Fills in
 * `out`, the input of the write transaction. */
void session_start_prepare(struct request *r, int64_t author_row, struct session_start *out);

/* Checks that the author's password has not changed since it was verified. `verified` is the password hash
 * against which the password was verified. Returns ERR_INVALID if a different hash is stored now. Call in the
 * write transaction. */
MUST_USE enum err session_start_check_password(struct store *store, const struct session_start *start,
                                               const char *verified);

/* Stores session and device, and ends the previous session. Call in the write transaction. */
MUST_USE enum err session_start_write(struct store *store, const struct session_start *start);

/* Like session_start_write(), in the transaction that sets a new password: also records the new password in
 * the audit log, and ends all sessions and devices of the author. */
MUST_USE enum err session_start_write_after_new_password(struct store *store,
                                                         const struct session_start *start);

/* Sets the cookies of session and device. Call after the commit. */
void session_start_set_cookies(struct request *r);

#endif
