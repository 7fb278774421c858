/* Removes tokens and personal data from a platform's response but preserves its shape, so that it can
 * become a test. Each id is replaced by another one of the same length, consistently; texts that are not
 * numbers, dates or names of the API become "x". Whatever is not recognized is removed. */
#ifndef VT_PLATFORMS_ANONYMIZE_H
#define VT_PLATFORMS_ANONYMIZE_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>

enum { ANONYMIZED_IDS = 256 };

struct anonymizer {
    struct arena *arena; /* owns all results */
    struct str request;  /* words in the request, such as names of metrics, are not personal data */
    struct {
        struct str from, to;
    } ids[ANONYMIZED_IDS];
    size_t id_count;
};

/* `arena` and `request` must outlive the anonymizer. */
void anonymizer_init(struct anonymizer *a, struct arena *arena, struct str request);

/* Replaces `from` by `to` from now on. */
void anonymizer_set_id(struct anonymizer *a, struct str from, struct str to);
/* The replacement for the id, generated on the first call. Composite ids (`page_post`) are replaced part by
 * part. */
struct str anonymize_id(struct anonymizer *a, struct str id);

/* p == NULL: jsonr_parse() rejects the body. */
struct str anonymize_json(struct anonymizer *a, struct str body);

/* A message or header: replaces ids, removes words that could be a token or an address. */
struct str anonymize_text(struct anonymizer *a, struct str text);

#endif
