/* viewtally platform probe --record: writes responses to files that a test can replay. */
#ifndef VT_CLI_PLATFORM_RECORD_H
#define VT_CLI_PLATFORM_RECORD_H

#include "cli/platform_session.h"

/* Writes the file PREFIX-NUMBER in the format of test/data/platforms: the form of the request, the rate
 * headers and the body without tokens and personal data, and the expected outcome. `call` is that of the last
 * platform_session_send(). Returns false with the reason in `*why` (static or in the session's arena) if the
 * file cannot be written or the anonymized response parses differently. */
MUST_USE bool platform_record_response(struct platform_session *a, const struct platform_call *call,
                                       const char *prefix, int number, const char **why);

#endif
