/* The state of an author's account at a platform as text for the author. Texts contain `%s` where the
 * name of the platform is inserted. */
#ifndef VT_WEB_PLATFORM_TEXT_H
#define VT_WEB_PLATFORM_TEXT_H

#include "base/buf.h"
#include "platforms/platform.h"
#include "store/platform_credentials.h"

/* The condition of an account, which says who has to act. */
enum account_condition {
    ACCOUNT_CONNECTED,
    ACCOUNT_WAITING,            /* the account was not read yet, or not recently; normally nobody has to
                                   act */
    ACCOUNT_RECONNECT_REQUIRED, /* the author has to act */
    ACCOUNT_OPERATOR_REQUIRED,  /* the operator has to act */
};

struct platform_text {
    enum account_condition condition;
    const char *badge;    /* "Connected", "Sign in again" … */
    const char *sentence; /* NULL if the badge is sufficient */
};

/* Returns the text about the state that the account has at the time `now` (wall clock in ms). If the platform
 * is not configured (platform_is_configured()), the refresh skips the account, whatever its state is. */
struct platform_text platform_text_of_account(const struct credential *c, bool is_configured, int64_t now);

/* Returns the API with which the author must sign in to link an account of `api` again. This is Facebook for
 * an Instagram account that is linked through a Facebook Page, otherwise `api`. */
enum platform_api platform_sign_in_api(enum platform_api api);

/* Writes `template` as escaped HTML, with `platform_name` in place of its `%s`. */
void platform_text_write(struct buf *b, const char *template, const char *platform_name);

/* Returns a sentence that explains why a linking failed with the outcome `o`. */
const char *platform_text_of_link_failure(const struct outcome *o);

#endif
