/* Removes tokens and personal data from a platform's response but preserves its shape, so that the response
 * can be used in a test. Each id of six or more characters is replaced by a generated id of the same length;
 * equal ids get equal replacements. In a message of an error, ids, URLs and words that could be a token or an
 * address are replaced; the other words stay. All other texts that are not numbers, dates or names of the API
 * become "x". */
#ifndef VT_PLATFORMS_ANONYMIZE_H
#define VT_PLATFORMS_ANONYMIZE_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>

enum { ANONYMIZED_IDS = 256 };

struct anonymizer {
    struct arena *arena; /* contains all results */
    struct str request;  /* if a member `name` has a value that occurs in the request, such as the name of a
                            metric, the value is kept */
    struct {
        struct str from, to;
    } ids[ANONYMIZED_IDS];
    size_t id_count;
};

/* Initializes an anonymizer for the response to `request`. `arena` and `request` must outlive it. */
void anonymizer_init(struct anonymizer *a, struct arena *arena, struct str request);

/* Makes the anonymizer replace `from` with `to` from now on. Does nothing if it has ANONYMIZED_IDS ids
 * already. */
void anonymizer_set_id(struct anonymizer *a, struct str from, struct str to);
/* Returns the replacement for the id, generated on the first call. In a composite id (`page_post`), each part
 * is replaced separately. An id of fewer than six characters stays as it is. */
struct str anonymize_id(struct anonymizer *a, struct str id);

/* Returns the anonymized JSON body. `p` of the result is NULL if jsonr_parse() rejects the body. */
struct str anonymize_json(struct anonymizer *a, struct str body);

/* Returns the anonymized text of a message or header: replaces ids, and removes URLs and words that could be
 * a token or an address. */
struct str anonymize_text(struct anonymizer *a, struct str text);

#endif
