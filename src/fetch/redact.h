/* Removes tokens from a response sample before it is logged. */
#ifndef VT_FETCH_REDACT_H
#define VT_FETCH_REDACT_H

#include <stddef.h>

/* Overwrites secrets in `text` with '*': the values of parameters and members such as access_token or code,
 * and every word that is neither a number nor a short lower-case name. */
void redact(char *text, size_t len);

#endif
