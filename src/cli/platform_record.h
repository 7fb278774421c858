/* viewtally platform probe --record: responses as files that a test can replay. */
#ifndef VT_CLI_PLATFORM_RECORD_H
#define VT_CLI_PLATFORM_RECORD_H

#include "cli/platform_session.h"

/* Writes PREFIX-NUMBER: the request's form, the rate headers and the body, without tokens and personal data,
 * in the format of test/data/platforms, with the outcome that has to come out. `call` and `outcome` are those
 * of the last asker_send(). A response that reads differently without these data is not written. `*why`
 * receives the reason when the result is false (in the asker's arena or static). */
MUST_USE bool platform_record(struct asker *a, const struct platform_call *call, const char *prefix,
                              int number, const char **why);

#endif
