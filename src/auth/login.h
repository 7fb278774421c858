/* The login: the name that an author types to sign in, often an email address. It consists of 1 to 100
 * printable ASCII characters without spaces, and it is case-insensitive. It must not look like an author id,
 * because the header of a proxy (see [account] auth_header) may contain a login or an author id. */
#ifndef VT_AUTH_LOGIN_H
#define VT_AUTH_LOGIN_H

#include "base/arena.h"

/* Returns the login in lower case and without surrounding spaces, in the arena. p == NULL if `text` is not a
 * valid login. */
struct str login_normalize(struct arena *a, struct str text);

/* Describes a valid login, for messages that reject a login. */
#define LOGIN_RULE "1 to 100 letters, digits or punctuation marks, without spaces or accents"

#endif
