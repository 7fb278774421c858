/* Parses the terms of a title search and compares titles with them. Comparing bytes is correct, because in
 * UTF-8 the bytes of a character never occur within another character. */
#include "store/title_terms.h"

static bool contains(struct str text, struct str part)
{
    return part.len <= text.len && memmem(text.p, text.len, part.p, part.len);
}

static bool has_term_with(const struct title_terms *terms, struct str word)
{
    for (size_t i = 0; i < terms->count; i++)
        if (contains(terms->items[i], word))
            return true;
    return false;
}

static void remove_terms_within(struct title_terms *terms, struct str word)
{
    size_t kept = 0;
    for (size_t i = 0; i < terms->count; i++)
        if (!contains(word, terms->items[i]))
            terms->items[kept++] = terms->items[i];
    terms->count = kept;
}

/* Adds a folded word. A word of only invisible characters is empty after folding and is ignored. */
static void add_word(struct title_terms *terms, struct arena *arena, struct str word)
{
    if (!word.len || has_term_with(terms, word))
        return;
    remove_terms_within(terms, word);
    terms->items[terms->count++] = arena_copy(arena, word);
}

enum err title_terms_parse(struct title_terms *terms, struct arena *arena, struct str text)
{
    struct unicode_folder folder;
    struct str word, folded = STR("");
    terms->count = 0;
    unicode_folder_init(&folder);
    while ((word = unicode_cut_word(&text)).len && folded.p) {
        folded = unicode_fold(&folder, word);
        if (folded.p)
            add_word(terms, arena, folded);
    }
    unicode_folder_fini(&folder);
    if (!folded.p)
        return ERR_NOMEM;
    return terms->count ? OK : ERR_INVALID;
}

enum err title_terms_match(const struct title_terms *terms, struct unicode_folder *folder, struct str title,
                           bool *matches)
{
    const struct str folded = unicode_fold(folder, title);
    if (!folded.p)
        return ERR_NOMEM;
    *matches = true;
    for (size_t i = 0; *matches && i < terms->count; i++)
        *matches = contains(folded, terms->items[i]);
    return OK;
}
