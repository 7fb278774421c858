/* How it stands with an author's account at a platform, in words that need no knowledge of either. */
#ifndef VT_WEB_PLATFORM_TEXT_H
#define VT_WEB_PLATFORM_TEXT_H

#include "base/buf.h"
#include "platforms/platform.h"
#include "store/platform_credentials.h"

enum platform_mood {
    PLATFORM_FINE,
    PLATFORM_WAITING,  /* not read yet, or not lately; by itself it will be */
    PLATFORM_SIGN_IN,  /* the author has to do something */
    PLATFORM_OPERATOR, /* whoever runs the service has to */
};

struct platform_words {
    enum platform_mood mood;
    const char *badge;    /* "Fine", "Sign in again" … */
    const char *sentence; /* `%s` stands for the platform; NULL: there is nothing to say */
};

struct platform_words platform_words_of(const struct credential *c, int64_t now);

/* The API whose linking renews it: Facebook's for an Instagram account behind a page. */
enum platform_api platform_signs_in_by(enum platform_api api);

/* Escaped, with the platform's name where it belongs. */
void platform_words_write(struct buf *b, const char *sentence, const char *title);

/* Which words are used when a linking ends so; `%s` as above. */
const char *platform_link_words(const struct outcome *o);

#endif
