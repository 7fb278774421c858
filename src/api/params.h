/* Decodes query parameters and converts them to the types that endpoints use. A function that returns false
 * has written a 400 response, whose message names the parameter and its valid values. */
#ifndef VT_API_PARAMS_H
#define VT_API_PARAMS_H

#include "api/api.h"

/* Sets call->params to the endpoint's parameters. Ignores all other parameters, but names the first
 * eight of them in the header field X-Unknown-Parameters. Returns false if one of the endpoint's parameters
 * is given twice, is empty, or is not percent-encoded UTF-8. */
MUST_USE bool params_parse(struct request *r);

/* Returns true if the request has the parameter with this index in endpoint.params. */
bool param_is_given(const struct request *r, int index);

/* Each of the following functions converts the parameter with this index in endpoint.params. If the parameter
 * is not given, returns true and leaves the output unchanged. */
MUST_USE bool param_integer(struct request *r, int index, int64_t min, int64_t max, int64_t *out);
MUST_USE bool param_date(struct request *r, int index, int32_t *out);
MUST_USE bool param_time(struct request *r, int index, int64_t *out);
MUST_USE bool param_uuid(struct request *r, int index, struct uuid *out);
/* Sets `*out` to the value if it has at most `max_characters` characters. */
MUST_USE bool param_text(struct request *r, int index, size_t max_characters, struct str *out);
/* Sets `*out` to the index of the value in `words` (NULL-terminated). */
MUST_USE bool param_word(struct request *r, int index, const char *const *words, int *out);
/* Sets `*mask` to the set of the comma-separated values: bit i stands for words[i]. Order and repetition of
 * values make no difference. `words` has at most 32 words. */
MUST_USE bool param_words(struct request *r, int index, const char *const *words, unsigned *mask);

/* Adds the header field `Link: <URL>; rel="next"` (RFC 8288). The URL has the parameters of this request, but
 * with `cursor` as the value of the parameter with this index. Call at the end of a successful response. */
void params_link_next_page(struct request *r, int index, struct str cursor);

#endif
