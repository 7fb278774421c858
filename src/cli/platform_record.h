/* Records responses of platforms in files that tests can replay, for `viewtally platform probe --record`. */
#ifndef VT_CLI_PLATFORM_RECORD_H
#define VT_CLI_PLATFORM_RECORD_H

#include "cli/platform_session.h"

/* Writes the file PREFIX-NUMBER in the format of test/data/platforms. The file contains the request form, the
 * rate limit headers, the body without tokens and personal data, and the expected outcome. `call` must be the
 * call that was passed to the most recent platform_session_send(). Returns false if the file cannot be
 * written, or if the anonymized response does not give the same result as the original; `*why` is then the
 * reason (static or in the session's arena). */
MUST_USE bool platform_record_response(struct platform_session *a, const struct platform_call *call,
                                       const char *prefix, int number, const char **why);

#endif
