/* Removes tokens and personal data from a platform's response and keeps its shape, so that it can become a
 * test. Ids are exchanged for others of the same length, the same one for the same id; texts that are neither
 * numbers, dates nor names of the API become "x". What is not recognized is removed. */
#ifndef VT_PLATFORMS_ANONYMIZE_H
#define VT_PLATFORMS_ANONYMIZE_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>

enum { ANONYMIZED_IDS = 256 };

struct anonymizer {
    struct arena *arena; /* of all results */
    struct str request;  /* words of the request, such as names of metrics, are no personal data */
    struct {
        struct str from, to;
    } ids[ANONYMIZED_IDS];
    size_t id_count;
};

/* `arena` and `request` must live as long as the anonymizer. */
void anonymizer_init(struct anonymizer *a, struct arena *arena, struct str request);

/* Exchanges `from` for `to` from now on. */
void anonymizer_set_id(struct anonymizer *a, struct str from, struct str to);
/* The other id of this one; a new one on the first call. Composite ids (`page_post`) part by part. */
struct str anonymize_id(struct anonymizer *a, struct str id);

/* p == NULL: not JSON that jsonr_parse() takes. */
struct str anonymize_json(struct anonymizer *a, struct str body);

/* A text for people or a header: ids exchanged, words that could be a token or an address removed. */
struct str anonymize_text(struct anonymizer *a, struct str text);

#endif
