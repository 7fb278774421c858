/* The state of an author's account at a platform as text for the author. In all texts, `%s` stands for the
 * name of the platform. */
#ifndef VT_WEB_PLATFORM_TEXT_H
#define VT_WEB_PLATFORM_TEXT_H

#include "base/buf.h"
#include "platforms/platform.h"
#include "store/platform_credentials.h"

/* Ordered by who has to act. */
enum account_condition {
    ACCOUNT_CONNECTED,
    ACCOUNT_WAITING,            /* not read yet or not lately; resolves itself */
    ACCOUNT_RECONNECT_REQUIRED, /* the author has to act */
    ACCOUNT_OPERATOR_REQUIRED,  /* the operator has to act */
};

struct platform_text {
    enum account_condition condition;
    const char *badge;    /* "Connected", "Sign in again" … */
    const char *sentence; /* NULL: the badge says it all */
};

struct platform_text platform_text_of_account(const struct credential *c, int64_t now);

/* Returns the API with which the account is linked again: Facebook for an Instagram account that is linked
 * through a page. */
enum platform_api platform_sign_in_api(enum platform_api api);

/* Writes the sentence, escaped, with the name of the platform. */
void platform_text_write(struct buf *b, const char *sentence, const char *title);

/* Returns the sentence for a linking that failed with this outcome. */
const char *platform_text_of_link_failure(const struct outcome *o);

#endif
