/* The name that an author types to sign in, often a mail address: 1 to 100 printable ASCII characters without
 * spaces, the same in upper and lower case. It does not look like an author's id, so that a proxy may say
 * either. */
#ifndef VT_AUTH_LOGIN_H
#define VT_AUTH_LOGIN_H

#include "base/arena.h"

/* Folded to lower case, without spaces around it. p == NULL: it is no such name. */
struct str login_normalize(struct arena *a, struct str text);

/* What it says to whom it refuses. */
#define LOGIN_RULE "1 to 100 letters, digits and signs, without spaces or accents"

#endif
