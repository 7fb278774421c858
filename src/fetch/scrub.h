/* What of an answer may stand in a log: nothing that could be a token. */
#ifndef VT_FETCH_SCRUB_H
#define VT_FETCH_SCRUB_H

#include <stddef.h>

/* Overwrites with '*' what follows a name such as access_token or code, and every word that is neither a
 * number nor a short name in lower case. */
void scrub(char *text, size_t len);

#endif
