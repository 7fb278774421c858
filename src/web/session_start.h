/* Starts a session after a successful sign-in: writes session and device in one transaction, and sets the
 * cookies after the commit. The same transaction ends the browser's previous session, so that a session id
 * known before the sign-in is never valid after it (session fixation). */
#ifndef VT_WEB_SESSION_START_H
#define VT_WEB_SESSION_START_H

#include "web/web.h"

struct session_start {
    uint8_t hash[SECRET_HASH_LEN], previous[SECRET_HASH_LEN]; /* of the new and the previous session */
    bool has_previous;
    int64_t author_row, now; /* now: expiry_now_ms() */
    struct device_record device;
};

/* Hashes the device cookie. Returns false if the browser sent none or a malformed one. Whether the device is
 * known is not checked. */
bool session_start_read_device(struct request *r, uint8_t out[SECRET_HASH_LEN]);

/* Generates the secrets of session and device (page_context->new_session, new_device) and fills `out` for the
 * transaction. */
void session_start_prepare(struct request *r, int64_t author_row, struct session_start *out);

/* Call in the write transaction. Returns ERR_INVALID if the stored password hash is no longer `verified`, the
 * one that the password was verified against: it may have changed since. */
MUST_USE enum err session_start_check_password(struct store *store, const struct session_start *start,
                                               const char *verified);

/* Call in the write transaction. */
MUST_USE enum err session_start_write(struct store *store, const struct session_start *start);

/* Sets the cookies. Call after the commit. */
void session_start_set_cookies(struct request *r);

#endif
