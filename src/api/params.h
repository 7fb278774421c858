/* Query parameters: splitting, percent-decoding and the types that endpoints take. A function that refuses
 * has made the 400 already. */
#ifndef VT_API_PARAMS_H
#define VT_API_PARAMS_H

#include "api/api.h"

/* Fills call->params by the route's names. Unknown parameters are ignored. False (answer made) when a known
 * one is given twice, is empty, or is not valid percent-encoded UTF-8. */
MUST_USE bool params_parse(struct request *r);

/* Each takes the parameter's index in the route's names and leaves `*out` alone when it was not given. False:
 * the 400 that names it and says what is accepted is made. */
MUST_USE bool param_integer(struct request *r, int index, int64_t min, int64_t max, int64_t *out);
MUST_USE bool param_date(struct request *r, int index, int32_t *out);
MUST_USE bool param_time(struct request *r, int index, int64_t *out);
MUST_USE bool param_uuid(struct request *r, int index, struct uuid *out);
/* The position in `words` (NULL-terminated). */
MUST_USE bool param_word(struct request *r, int index, const char *const *words, int *out);

bool param_is_given(const struct request *r, int index);

#endif
