/* Signing in and staying signed in: the session that a transaction begins, and its cookie once it is on disk.
 * A session that the browser had before is ended in the same transaction: none is ever taken over. */
#ifndef VT_WEB_SESSION_START_H
#define VT_WEB_SESSION_START_H

#include "web/site.h"

struct session_start {
    uint8_t hash[SECRET_HASH_LEN], before[SECRET_HASH_LEN];
    bool has_before;
    int64_t author_row, now; /* now: expiry_now_ms() */
    struct device_record device;
};

/* The device that the browser says it is, whether there is one or not. False: it says nothing. */
bool session_start_read_device(struct request *r, uint8_t out[SECRET_HASH_LEN]);

/* Makes the secrets of the session and the device (page_context->entering, visit->device) and what is to be
 * written.
 */
void session_start_prepare(struct request *r, int64_t author_row, struct session_start *out);

/* In a write transaction, behind a password that was checked: ERR_INVALID when another one is stored by now.
 * A check takes a while, and one that was changed meanwhile lets nobody in. */
MUST_USE enum err session_start_check_password(struct store *store, const struct session_start *entry,
                                               const char *checked);

/* In a write transaction. */
MUST_USE enum err session_start_write(struct store *store, const struct session_start *entry);

/* It is on disk: the browser gets the cookies. */
void session_start_set_cookies(struct request *r);

#endif
