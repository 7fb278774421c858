/* Unicode text (UTF-8): case folding, words, characters. The only module that uses utf8proc. */
#ifndef VT_BASE_UNICODE_H
#define VT_BASE_UNICODE_H

#include "base/buf.h"
#include "base/error.h"

/* Returns the number of characters (code points). */
size_t unicode_count(struct str text);

/* Removes the first word of `*rest` and the white space before it. Words are separated by characters with the
 * property White_Space. Returns the word, or an empty string if no word is left. */
struct str unicode_cut_word(struct str *rest);

/* Folds texts for caseless comparison. Reuse a folder for many texts, because it reuses its buffers. */
struct unicode_folder {
    struct buf folded;
    struct buf scratch; /* code points of the part that is being normalized */
};

/* Initializes a folder. Memory is allocated when the first text is folded. */
void unicode_folder_init(struct unicode_folder *f);
void unicode_folder_fini(struct unicode_folder *f);

/* Returns NFKC_Casefold of `text` (Unicode Standard, section 3.13): texts that differ only in case, in
 * composed and decomposed characters, in compatibility forms (ligatures, full width) or in invisible
 * characters have the same folded form. The result is valid until the next call.
 *
 * Bytes that are not UTF-8 are copied. A sequence of combining marks is normalized in parts of 64, because
 * utf8proc sorts marks in quadratic time; natural text has far shorter sequences.
 *
 * On failure, returns a string with p == NULL: memory ran out, or the text is longer than about 1 MiB. */
struct str unicode_fold(struct unicode_folder *f, struct str text);

#endif
