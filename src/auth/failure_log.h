/* Logs and counts failed authentications, for fail2ban and other programs that block addresses. Each line has
 * the form
 *
 *   authentication failed: KIND from ADDRESS
 *
 * ADDRESS is the numeric address of the client, or "unix". The line contains nothing that the client has
 * chosen. The filter in contrib/fail2ban/filter.d matches the line. A flood must not fill the disk: at most
 * FAILURE_LINES_PER_SECOND failures are logged per second. If more occur, the next failure in a later second
 * also logs how many were not logged. */
#ifndef VT_AUTH_FAILURE_LOG_H
#define VT_AUTH_FAILURE_LOG_H

#include "base/str.h"

#include <stdint.h>

enum { FAILURE_LINES_PER_SECOND = 50 };

enum failure_kind {
    FAILURE_SIGN_IN,    /* a wrong name or password, or an attempt that has to wait because of earlier ones */
    FAILURE_API_KEY,    /* a malformed or unknown key; a revoked key is not a failure, because it used to be
                           valid */
    FAILURE_APP,        /* wrong credentials of an app, an unknown code, or revoking an unknown key */
    FAILURE_INVITATION, /* an unknown, used or expired link */
    FAILURE_KINDS
};

struct failure_log;
struct failure_log *failure_log_new(void);
void failure_log_free(struct failure_log *l);

/* Records a failure of the client with this numeric address, or "unix". `now_ms` is monotonic. */
void failure_log_record(struct failure_log *l, enum failure_kind kind, struct str address, int64_t now_ms);

/* Returns the number of failures of this kind since the start. */
uint64_t failure_log_get_count(const struct failure_log *l, enum failure_kind kind);

/* Returns "sign_in", "api_key", "app" or "invitation", for metrics. */
const char *failure_kind_name(enum failure_kind kind);

#endif
