/* The only file that includes utf8proc.
 *
 * Normalizing a title of 70 characters with utf8proc takes about 1 µs, which is too long for a search in
 * 10,000 titles. Folding does not change most characters, so they are copied. Only the parts between them are
 * normalized with utf8proc. The character before a part is normalized together with the part, because the
 * first character of the part can combine with it. */
#include "base/unicode.h"

#include <utf8proc.h>

enum {
    TEXT_BYTES_MAX = 1 << 20,
    LONG_PART = 32, /* after this many characters, a part ends before the next character that cannot combine
                       with the part */
    MARKS_MAX = 64, /* a part ends after this many combining marks in a row */
};

static const utf8proc_option_t options =
    (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD |
                        UTF8PROC_IGNORE);

struct character {
    int32_t code;
    size_t length; /* in bytes */
};

static const uint8_t *bytes_of(struct str s)
{
    return (const uint8_t *)s.p;
}

static bool is_continuation(char c)
{
    return ((uint8_t)c & 0xC0) == 0x80;
}

/* Returns the character at `at`, or { -1, 1 } if it is not UTF-8. Decodes most characters without calling
 * utf8proc. */
static struct character decode(struct str text, size_t at)
{
    const char *p = text.p + at;
    const size_t left = text.len - at;
    const uint8_t first = (uint8_t)*p;
    struct character c;
    if (first < 0x80)
        return (struct character){.code = first, .length = 1};
    if (first >= 0xC2 && first <= 0xDF && left >= 2 && is_continuation(p[1]))
        return (struct character){.code = (first & 0x1F) << 6 | (p[1] & 0x3F), .length = 2};
    if (first >= 0xE1 && first <= 0xEC && left >= 3 && is_continuation(p[1]) && is_continuation(p[2]))
        return (struct character){.code = (first & 0xF) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F),
                                  .length = 3};
    const utf8proc_ssize_t n = utf8proc_iterate(bytes_of(text) + at, (utf8proc_ssize_t)left, &c.code);
    if (n <= 0)
        return (struct character){.code = -1, .length = 1};
    c.length = (size_t)n;
    return c;
}

/* ---- splitting text into words ---- */

size_t unicode_count(struct str text)
{
    size_t count = 0;
    for (size_t at = 0; at < text.len; at += decode(text, at).length)
        count++;
    return count;
}

static bool is_white_space(int32_t c)
{
    return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

/* Returns the position of the first white space at or after `at`, or, if `wanted` is false, of the first
 * other character. Returns text.len if no such character follows. */
static size_t find_white_space(struct str text, size_t at, bool wanted)
{
    while (at < text.len) {
        const struct character c = decode(text, at);
        if (is_white_space(c.code) == wanted)
            break;
        at += c.length;
    }
    return at;
}

struct str unicode_cut_word(struct str *rest)
{
    const size_t start = find_white_space(*rest, 0, false);
    const size_t end = find_white_space(*rest, start, true);
    const struct str word = str_make(rest->p + start, end - start);
    *rest = str_make(rest->p + end, rest->len - end);
    return word;
}

/* ---- properties of characters ---- */

/* Returns true for a mark. Also returns true for an invisible character, because it does not separate the
 * marks around it. */
static bool is_mark_like(int32_t c, const utf8proc_property_t *p)
{
    const bool is_halfwidth_mark = c == 0xFF9E || c == 0xFF9F; /* letters that become marks when they are
                                                                  normalized */
    return p->combining_class || p->ignorable || p->category == UTF8PROC_CATEGORY_MN ||
           p->category == UTF8PROC_CATEGORY_MC || p->category == UTF8PROC_CATEGORY_ME || is_halfwidth_mark;
}

/* Returns true if the character certainly cannot combine with the character before it. Returns false if in
 * doubt, which only costs time: so it returns false for all characters above U+FFFF, although only a few of
 * them combine (Kirat Rai). */
static bool begins_part(int32_t c, const utf8proc_property_t *p)
{
    const bool is_jamo = c >= 0x1160 && c <= 0x11FF; /* vowels and final consonants */
    return c < 0x10000 && !is_jamo && !is_mark_like(c, p);
}

/* Returns true for common blocks of precomposed letters. In these blocks, normalization does not change a
 * character that has a canonical decomposition: it is decomposed and then composed again, unless it is
 * excluded from composition. */
static bool is_in_composed_block(int32_t c)
{
    return (c >= 0xC0 && c < 0x250) || (c >= 0x400 && c < 0x500) || (c >= 0x620 && c < 0x630) ||
           (c >= 0x1E00 && c < 0x1F00) || (c >= 0x3040 && c < 0x3100);
}

/* Returns true for ranges in which every letter is its own folded form. This avoids looking up the properties
 * of the letter. */
static bool is_unchanged_letter(int32_t c)
{
    return (c >= 0x4E00 && c < 0xA000) || (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0x3041 && c <= 0x3096) ||
           (c >= 0x30A1 && c <= 0x30FC) || (c >= 0x430 && c < 0x460) || (c >= 0x621 && c <= 0x64A) ||
           (c >= 0x5D0 && c <= 0x5EA) || (c >= 0xE0 && c <= 0xFF);
}

/* Returns the lowercase letter if `c` is a capital of one of the most used alphabets, otherwise `c`. */
static int32_t fold_capital(int32_t c)
{
    if ((c >= 0x410 && c < 0x430) || (c >= 0x391 && c <= 0x3A9 && c != 0x3A2) ||
        (c >= 0xC0 && c <= 0xDE && c != 0xD7))
        return c + 0x20;
    return c >= 0x400 && c < 0x410 ? c + 0x50 : c;
}

/* Returns true if folding does not change the character, unless a mark follows it. */
static bool is_unchanged(int32_t c)
{
    if (is_unchanged_letter(c))
        return true;
    const utf8proc_property_t *p = utf8proc_get_property(c);
    const bool recomposes = p->decomp_seqindex == UINT16_MAX ||
                            (!p->decomp_type && !p->comp_exclusion && is_in_composed_block(c));
    return recomposes && p->casefold_seqindex == UINT16_MAX && begins_part(c, p);
}

static bool ends_long_part(int32_t c)
{
    const utf8proc_property_t *p = utf8proc_get_property(c);
    return p->decomp_seqindex == UINT16_MAX && begins_part(c, p);
}

/* ---- folding text for the search ---- */

void unicode_folder_init(struct unicode_folder *f)
{
    buf_init_fallible(&f->folded, TEXT_BYTES_MAX);
    buf_init_fallible(&f->scratch, TEXT_BYTES_MAX);
}

void unicode_folder_fini(struct unicode_folder *f)
{
    buf_fini(&f->folded);
    buf_fini(&f->scratch);
}

/* Returns the end of the part to which the character at `at` belongs. */
static size_t find_end_of_part(struct str text, size_t at)
{
    size_t characters = 0, marks = 0;
    while (at < text.len && marks < MARKS_MAX) {
        const struct character c = decode(text, at);
        if (c.code < 0x80 || is_unchanged(fold_capital(c.code)) ||
            (characters >= LONG_PART && ends_long_part(c.code)))
            break;
        marks = is_mark_like(c.code, utf8proc_get_property(c.code)) ? marks + 1 : 0;
        characters++;
        at += c.length;
    }
    return at;
}

static utf8proc_ssize_t decompose(struct unicode_folder *f, struct str part)
{
    return utf8proc_decompose(bytes_of(part), (utf8proc_ssize_t)part.len, (int32_t *)(void *)f->scratch.p,
                              (utf8proc_ssize_t)(f->scratch.cap / sizeof(int32_t)) - 1, options);
}

/* Reserves memory for the characters and for the NUL that utf8proc_reencode() adds. */
static bool make_room(struct unicode_folder *f, size_t characters)
{
    if (!buf_reserve(&f->scratch, (characters + 1) * sizeof(int32_t)))
        f->folded.failed = true;
    return !f->folded.failed;
}

static void append_normalized(struct unicode_folder *f, struct str part)
{
    if (!make_room(f, part.len))
        return;
    utf8proc_ssize_t n = decompose(f, part);
    if (n > (utf8proc_ssize_t)part.len) { /* the buffer may have been too small */
        if (!make_room(f, (size_t)n))
            return;
        n = decompose(f, part);
    }
    n = utf8proc_reencode((int32_t *)(void *)f->scratch.p, n, options);
    buf_append(&f->folded, str_make(f->scratch.p, n > 0 ? (size_t)n : 0));
}

/* Appends the ASCII characters from `at` on. Returns the position after them. */
static size_t append_ascii(struct buf *b, struct str text, size_t at)
{
    size_t end = at;
    while (end < text.len && (uint8_t)text.p[end] < 0x80)
        end++;
    char *to = buf_reserve(b, end - at);
    if (!to)
        return text.len;
    for (size_t i = 0; i < end - at; i++) {
        const char c = text.p[at + i];
        to[i] = (char)(c + (c >= 'A' && c <= 'Z' ? 'a' - 'A' : 0));
    }
    b->len += end - at;
    return end;
}

/* Appends a byte that is not UTF-8. Returns the position after it. */
static size_t append_byte(struct buf *b, struct str text, size_t at)
{
    buf_append_char(b, text.p[at]);
    return at + 1;
}

/* Appends the characters from `at` on that are their own folded form, and sets `*last` to the position of the
 * last one. Returns the position after them, or `at` if the first one has another folded form. */
static size_t append_unchanged(struct buf *b, struct str text, size_t at, size_t *last)
{
    size_t end = at;
    while (end < text.len) {
        const struct character c = decode(text, end);
        if (c.code < 0x80 || !is_unchanged(c.code))
            break;
        *last = end;
        end += c.length;
    }
    buf_append(b, str_make(text.p + at, end - at));
    return end;
}

/* Like append_unchanged(), for the capitals of fold_capital(): appends their lowercase letters. Capital and
 * lowercase letter both have two bytes in UTF-8. */
static size_t append_capitals(struct buf *b, struct str text, size_t at, size_t *last)
{
    while (at < text.len) {
        const struct character c = decode(text, at);
        const int32_t folded = fold_capital(c.code);
        char *to = folded != c.code && is_unchanged(folded) ? buf_reserve(b, 2) : NULL;
        if (!to)
            break;
        to[0] = (char)(0xC0 | folded >> 6);
        to[1] = (char)(0x80 | (folded & 0x3F));
        b->len += 2;
        *last = at;
        at += 2;
    }
    return at;
}

struct str unicode_fold(struct unicode_folder *f, struct str text)
{
    struct buf *out = &f->folded;
    size_t at = 0;
    /* The last character with which a following mark can combine: its position in `text`, and its length in
     * bytes, which `text` and `out` have in common. The length is 0 if there is no such character. */
    size_t last = 0, last_length = 0;
    buf_reset(out, TEXT_BYTES_MAX);
    while (at < text.len && !out->failed) {
        const size_t start = at;
        const struct character c = decode(text, at);
        if (c.code < 0) {
            last = at = append_byte(out, text, at);
            last_length = 0;
        } else if (c.code < 0x80) {
            at = append_ascii(out, text, at);
            last = at - 1;
            last_length = 1;
        } else if ((at = append_unchanged(out, text, at, &last)) > start ||
                   (at = append_capitals(out, text, at, &last)) > start) {
            last_length = at - last;
        } else {
            at = find_end_of_part(text, at);
            out->len -= last_length;
            append_normalized(f, str_make(text.p + last, at - last));
            last = at;
            last_length = 0;
        }
    }
    return out->failed ? (struct str){NULL, 0} : str_make(out->p ? out->p : "", out->len);
}
