/* Folds arbitrary bytes and uses them as a title search. Checks that folded UTF-8 is UTF-8, that no text
 * grows beyond its bound, and that a search for the text finds a title that equals the text. */
#include "base/check.h"
#include "store/title_terms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of all characters, U+FDFA grows most when it is folded: from 3 to 33 bytes. */
static void check_fold(struct unicode_folder *folder, struct str text)
{
    struct str folded = unicode_fold(folder, text);
    CHECK(folded.p && folded.len <= 11 * text.len);
    CHECK(!str_is_utf8(text) || str_is_utf8(folded));
}

static void check_search(struct arena *arena, struct unicode_folder *folder, struct str text)
{
    struct title_terms terms;
    bool matches;
    if (!str_is_utf8(text) || unicode_count(text) > TITLE_SEARCH_CHARACTERS_MAX)
        return;
    const enum err err = title_terms_parse(&terms, arena, text);
    CHECK(err == OK || err == ERR_INVALID);
    CHECK((err == OK) == (terms.count > 0) && terms.count <= TITLE_TERMS_MAX);
    if (err)
        return;
    CHECK(title_terms_match(&terms, folder, text, &matches) == OK);
    CHECK(matches);
    CHECK(title_terms_match(&terms, folder, STR(""), &matches) == OK);
    CHECK(!matches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_make((const char *)data, size), rest = text, word;
    struct unicode_folder folder;
    struct arena arena;
    size_t bytes = 0;
    if (size > 4096)
        return 0;
    arena_init(&arena, 4096);
    unicode_folder_init(&folder);
    check_fold(&folder, text);
    while ((word = unicode_cut_word(&rest)).len)
        bytes += word.len;
    CHECK(bytes <= size && rest.len == 0);
    check_search(&arena, &folder, text);
    unicode_folder_fini(&folder);
    arena_fini(&arena);
    return 0;
}
