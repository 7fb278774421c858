/* The terms of a title search: a title matches if it contains every term, ignoring case (base/unicode.h). */
#ifndef VT_STORE_TITLE_TERMS_H
#define VT_STORE_TITLE_TERMS_H

#include "base/arena.h"
#include "base/unicode.h"

enum {
    TITLE_SEARCH_CHARACTERS_MAX = 100,
    TITLE_TERMS_MAX = TITLE_SEARCH_CHARACTERS_MAX / 2, /* words of one character, with spaces in between */
};

struct title_terms {
    struct str items[TITLE_TERMS_MAX]; /* folded; no term contains another one */
    size_t count;
};

/* Splits `text` at white space and folds the words. Omits words that another word contains. Returns
 * ERR_INVALID if no word has a visible character, ERR_NOMEM if out of memory. The terms are copied into
 * `arena`. Precondition: `text` has at most TITLE_SEARCH_CHARACTERS_MAX characters. */
MUST_USE enum err title_terms_parse(struct title_terms *terms, struct arena *arena, struct str text);

/* Sets `*matches` to whether the title contains all terms. Returns ERR_NOMEM if the title cannot be folded.
 */
MUST_USE enum err title_terms_match(const struct title_terms *terms, struct unicode_folder *folder,
                                    struct str title, bool *matches);

#endif
