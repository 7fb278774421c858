/* How it stands with an author's account at a platform, in words that need no knowledge of either. */
#ifndef VT_WEB_PLATFORM_TEXT_H
#define VT_WEB_PLATFORM_TEXT_H

#include "base/buf.h"
#include "platforms/platform.h"
#include "store/platform_credentials.h"

enum account_condition {
    ACCOUNT_CONNECTED,
    ACCOUNT_WAITING,            /* not read yet, or not lately; by itself it will be */
    ACCOUNT_RECONNECT_REQUIRED, /* the author has to do something */
    ACCOUNT_OPERATOR_REQUIRED,  /* whoever runs the service has to */
};

struct platform_text {
    enum account_condition mood;
    const char *badge;    /* "Fine", "Sign in again" … */
    const char *sentence; /* `%s` stands for the platform; NULL: there is nothing to say */
};

struct platform_text platform_text_of_account(const struct credential *c, int64_t now);

/* The API whose linking renews it: Facebook's for an Instagram account behind a page. */
enum platform_api platform_sign_in_api(enum platform_api api);

/* Escaped, with the platform's name where it belongs. */
void platform_text_write(struct buf *b, const char *sentence, const char *title);

/* Which words are used when a linking ends so; `%s` as above. */
const char *platform_text_of_link_failure(const struct outcome *o);

#endif
