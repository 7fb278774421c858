/* The login: the name that an author types to sign in, often an email address. 1 to 100 printable ASCII
 * characters without spaces, case-insensitive. It must not look like the id of an author, because a proxy may
 * pass either of them. */
#ifndef VT_AUTH_LOGIN_H
#define VT_AUTH_LOGIN_H

#include "base/arena.h"

/* Returns the login in lower case and without surrounding spaces. p == NULL: it is invalid. */
struct str login_normalize(struct arena *a, struct str text);

/* The rule for messages that reject a login. */
#define LOGIN_RULE "1 to 100 letters, digits or punctuation marks, without spaces or accents"

#endif
