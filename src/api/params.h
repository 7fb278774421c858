/* Query parameters: decoding and the types that endpoints use. A function that returns false has made the 400
 * response, whose message names the parameter and what it accepts. */
#ifndef VT_API_PARAMS_H
#define VT_API_PARAMS_H

#include "api/api.h"

/* Fills call->params with the endpoint's parameters and ignores others. False if one is given twice, is
 * empty, or is not percent-encoded UTF-8. */
MUST_USE bool params_parse(struct request *r);

bool param_is_given(const struct request *r, int index);

/* `index` is the parameter's position in endpoint.params. If it is not given, `*out` is unchanged. */
MUST_USE bool param_integer(struct request *r, int index, int64_t min, int64_t max, int64_t *out);
MUST_USE bool param_date(struct request *r, int index, int32_t *out);
MUST_USE bool param_time(struct request *r, int index, int64_t *out);
MUST_USE bool param_uuid(struct request *r, int index, struct uuid *out);
/* `*out` is the position in `words` (NULL-terminated). */
MUST_USE bool param_word(struct request *r, int index, const char *const *words, int *out);

#endif
