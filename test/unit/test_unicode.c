/* Tests case folding with texts whose folded form is known. Also folds more than 30,000 characters, each
 * alone and next to characters with which it may combine, and compares the result with what utf8proc returns
 * for the same text without our code. */
#include "unit.h"

#include "base/clock.h"
#include "base/unicode.h"
#include "store/title_terms.h"

#include <utf8proc.h>

static struct unicode_folder folder;

static void assert_folds(const char *text, const char *expected)
{
    assert_str(unicode_fold(&folder, str_from_cstr(text)), expected);
}

static void folds_case_composition_and_compatibility(void **state)
{
    (void)state;
    assert_folds("", "");
    assert_folds("Hello, WORLD 42 [\\]^_`{|}~@", "hello, world 42 [\\]^_`{|}~@");
    assert_folds("Straße", "strasse");
    assert_folds("STRAẞE", "strasse");
    assert_folds("ﬁnal ﬃ ſt", "final ffi st");
    assert_folds("E\u0301tude", "étude");
    assert_folds("É", "é");
    assert_folds("x\u0302", "x\u0302");
    assert_folds("ｆｕｌｌ ＷＩＤＴＨ　１２", "full width 12");
    assert_folds("ｶﾞｷﾞ", "ガギ");
    assert_folds("\u1112\u1161\u11ab국", "한국");
    assert_folds("ΣΊΣΥΦΟΣ σίσυφος", "σίσυφοσ σίσυφοσ");
    assert_folds("İstanbul ISTANBUL ıI", "i\u0307stanbul istanbul ıi");
    assert_folds("ПОСЛЕДНЯЯ Й И\u0306", "последняя й й");
    assert_folds("שָׁלוֹם", "ש\u05b8\u05c1לו\u05b9ם");
    assert_folds("Ⅷ ② ½ ™", "viii 2 1⁄2 tm");
    assert_folds("co\u00adop \u200bzero\u200d ❤\ufe0f", "coop zero ❤");
    assert_folds("q\u0307\u0323 q\u0323\u0307", "q\u0323\u0307 q\u0323\u0307");
}

static void copies_bytes_that_are_not_utf8(void **state)
{
    (void)state;
    assert_folds("A\xff\xc3 B", "a\xff\xc3 b");
    assert_folds("\xed\xa0\x80Ü\xe2\x82", "\xed\xa0\x80ü\xe2\x82");
    assert_folds("\xff\u0301É", "\xff\u0301é");
    assert_true(str_eq(unicode_fold(&folder, STR("A\0\u00c9")), STR("a\0\u00e9")));
}

/* ---- compared with utf8proc ---- */

static void assert_equals_utf8proc(const int32_t *codes, size_t count)
{
    const utf8proc_option_t options =
        (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD |
                            UTF8PROC_IGNORE);
    utf8proc_uint8_t text[512];
    int32_t expected[2048];
    size_t len = 0;
    for (size_t i = 0; i < count; i++)
        len += (size_t)utf8proc_encode_char(codes[i], text + len);
    utf8proc_ssize_t n = utf8proc_decompose(text, (utf8proc_ssize_t)len, expected, 2000, options);
    n = utf8proc_reencode(expected, n, options);
    const struct str folded = unicode_fold(&folder, str_make((const char *)text, len));
    if (n != (utf8proc_ssize_t)folded.len || memcmp(folded.p, expected, folded.len) != 0)
        fail_msg("U+%04X U+%04X U+%04X: wrong folded form", (unsigned)codes[0], (unsigned)codes[count > 1],
                 (unsigned)codes[count > 2 ? 2 : 0]);
}

/* Neighbors with which characters of many scripts combine. */
static const int32_t before[] = {'e',    'K',    0xE9,   0xC9,   0x0648, 0x09C7,
                                 0x0CCA, 0x0DD9, 0x1025, 0x1100, 0x30AB, 0xAC00};
static const int32_t after[] = {'x',    0x0301, 0x0345, 0x0653, 0x093C, 0x0CD5,
                                0x0DCA, 0x102E, 0x1161, 0x11A8, 0x3099, 0xFF9E};

static void try_with_neighbors(int32_t c)
{
    assert_equals_utf8proc(&c, 1);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        assert_equals_utf8proc((int32_t[]){before[i], c}, 2);
    for (size_t i = 0; i < sizeof after / sizeof *after; i++)
        assert_equals_utf8proc((int32_t[]){'A', c, after[i], 'b'}, 4);
}

/* Decomposes the character and folds the sequence of its parts: by itself, preceded by its first and its
 * last part, and preceded by its last part. */
static void try_composition(int32_t c)
{
    const utf8proc_option_t decompose = (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    int32_t parts[8];
    const utf8proc_ssize_t n = utf8proc_decompose_char(c, parts + 2, 4, decompose, NULL);
    assert_in_range(n, 1, 4);
    parts[0] = parts[2];
    parts[1] = parts[1 + n];
    assert_equals_utf8proc(parts + 2, (size_t)n);
    assert_equals_utf8proc(parts, (size_t)n + 2);
    assert_equals_utf8proc(parts + 1, (size_t)n + 1);
}

static bool is_one_of_many_alike(int32_t c)
{
    return (c >= 0x3500 && c < 0x9F00) || (c >= 0xAD00 && c < 0xD700) || (c >= 0xD800 && c <= 0xDFFF) ||
           (c >= 0xE100 && c < 0xF8F0) || (c >= 0x17000 && c < 0x18C00) || (c >= 0x20100 && c < 0x2F700);
}

static void folding_equals_utf8proc_for_more_than_30000_characters(void **state)
{
    (void)state;
    int tried = 0;
    for (int32_t c = 1; c < 0x30000; c++)
        if (!is_one_of_many_alike(c) && utf8proc_category(c) != UTF8PROC_CATEGORY_CN) {
            try_with_neighbors(c);
            try_composition(c);
            tried++;
        }
    assert_true(tried > 30000);
}

static void folding_equals_utf8proc_for_random_texts(void **state)
{
    (void)state;
    static const int32_t alphabet[] = {
        'a',    'Z',   ' ',    0xE9,   0xC4,   0xDF,   0x301,  0x323,  0x307,   0x345,   0x3B1,  0x3A3,
        0x419,  0x439, 0x130,  0x1100, 0x1161, 0x11A8, 0xAC00, 0xAC01, 0x30AB,  0x3099,  0xFF76, 0xFF9E,
        0xFB01, 0xAD,  0x200D, 0x5D0,  0x5B8,  0x9C7,  0x9BE,  0x4E00, 0x1F600, 0x1D400, 0xFDFA, 0x958};
    uint32_t seed = 1;
    for (int n = 0; n < 20000; n++) {
        int32_t codes[20];
        const size_t count = 1 + (seed >> 8) % 20;
        for (size_t i = 0; i < count; i++) {
            seed = seed * 1664525u + 1013904223u;
            codes[i] = alphabet[(seed >> 10) % (sizeof alphabet / sizeof *alphabet)];
        }
        assert_equals_utf8proc(codes, count);
    }
}

/* ---- long texts ---- */

static void folds_long_runs_of_capitals(void **state)
{
    (void)state;
    struct str text = str_make(malloc(4000), 4000);
    char *bytes = (char *)(uintptr_t)text.p;
    for (size_t i = 0; i < text.len; i += 4)
        memcpy(bytes + i, i % 8 ? "И\u0306" : "ДЁ", 4);
    const struct str folded = unicode_fold(&folder, text);
    assert_int_equal(folded.len, 500 * 4 + 500 * 2);
    for (size_t i = 0; i < folded.len; i += 6)
        assert_memory_equal(folded.p + i, "дёй", 6);
    free(bytes);
}

/* Sorting 300,000 marks at once would take utf8proc minutes. */
static void folds_long_sequences_of_marks_in_parts(void **state)
{
    (void)state;
    const size_t len = 600000;
    char *text = malloc(len);
    for (size_t i = 0; i < len; i += 4)
        memcpy(text + i, "\u0301\u0323", 4);
    const int64_t start = clock_work_us();
    const struct str folded = unicode_fold(&folder, str_make(text, len));
    assert_int_equal(folded.len, len);
    assert_true(str_starts_with(folded, STR("\u0323\u0323")));
    assert_true(clock_work_us() - start < 20 * 1000000);
    free(text);
}

static void reports_a_text_that_is_too_long(void **state)
{
    (void)state;
    const size_t len = 2 << 20;
    char *text = malloc(len);
    memset(text, 'A', len);
    assert_null(unicode_fold(&folder, str_make(text, len)).p);
    free(text);
    assert_folds("Usable", "usable");
}

/* ---- words and terms ---- */

static void cuts_words_at_white_space(void **state)
{
    (void)state;
    struct str rest = STR("  a\tbc\u00a0d\u3000\u2028é\u200b\r\n");
    assert_str(unicode_cut_word(&rest), "a");
    assert_str(unicode_cut_word(&rest), "bc");
    assert_str(unicode_cut_word(&rest), "d");
    assert_str(unicode_cut_word(&rest), "é\u200b");
    assert_str(unicode_cut_word(&rest), "");
    assert_int_equal(rest.len, 0);
    assert_int_equal(unicode_count(STR("aé한😀\u0301")), 5);
    assert_int_equal(unicode_count(STR("")), 0);
}

static void expect_terms(struct str text, const char *joined)
{
    struct arena arena;
    struct title_terms terms;
    char room[1024];
    struct buf out = buf_on(room, sizeof room);
    arena_init(&arena, 4096);
    assert_int_equal(title_terms_parse(&terms, &arena, text), *joined ? OK : ERR_INVALID);
    for (size_t i = 0; i < terms.count; i++) {
        if (i)
            buf_append_char(&out, '|');
        buf_append(&out, terms.items[i]);
    }
    assert_str(buf_str(&out), joined);
    arena_fini(&arena);
}

static void drops_terms_that_other_terms_contain(void **state)
{
    (void)state;
    expect_terms(STR("Secret GARDEN"), "secret|garden");
    expect_terms(STR(" b ab a abc xab ab "), "abc|xab");
    expect_terms(STR("ﬁ FI fi"), "fi");
    expect_terms(STR("a \u200b \u00ad"), "a");
    expect_terms(STR(" \t\u3000"), "");
    expect_terms(STR("\u200b"), "");
    expect_terms(STR("\ufdfa"), "صلى الله عليه وسلم");
    expect_terms(STR("0 1 2 3 4 5 6 7 8 9 a b c d e f g h i j k l m n o p q r s t u v w x y z ! \" # $ % & ' "
                     "( ) * + , - ."),
                 "0|1|2|3|4|5|6|7|8|9|a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s|t|u|v|w|x|y|z|!|\"|#|$|%|&|'|(|)|"
                 "*|+|,|-|.");
}

static bool title_matches(struct str title, struct str search)
{
    struct arena arena;
    struct title_terms terms;
    bool matches;
    arena_init(&arena, 4096);
    assert_int_equal(title_terms_parse(&terms, &arena, search), OK);
    assert_int_equal(title_terms_match(&terms, &folder, title, &matches), OK);
    arena_fini(&arena);
    return matches;
}

static void title_matches_if_it_contains_all_terms(void **state)
{
    (void)state;
    assert_true(title_matches(STR("The Secret Garden"), STR("garden sec")));
    assert_true(title_matches(STR("The Secret Garden"), STR("ECRE")));
    assert_false(title_matches(STR("The Secret Garden"), STR("garden rose")));
    assert_false(title_matches(STR("The Secret Garden"), STR("rose garden")));
    assert_true(title_matches(STR("Die große Straße"), STR("STRASSE GROSSE")));
    assert_true(title_matches(STR("ﬁnale"), STR("Fi")));
    assert_true(title_matches(STR("한국"), STR("\u1112\u1161\u11ab")));
    assert_false(title_matches(STR("한국"), STR("\u1112\u1161")));
    assert_false(title_matches(STR("é"), STR("e")));
    assert_false(title_matches(STR(""), STR("a")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_case_composition_and_compatibility),
        cmocka_unit_test(copies_bytes_that_are_not_utf8),
        cmocka_unit_test(folding_equals_utf8proc_for_more_than_30000_characters),
        cmocka_unit_test(folding_equals_utf8proc_for_random_texts),
        cmocka_unit_test(folds_long_runs_of_capitals),
        cmocka_unit_test(folds_long_sequences_of_marks_in_parts),
        cmocka_unit_test(reports_a_text_that_is_too_long),
        cmocka_unit_test(cuts_words_at_white_space),
        cmocka_unit_test(drops_terms_that_other_terms_contain),
        cmocka_unit_test(title_matches_if_it_contains_all_terms),
    };
    unicode_folder_init(&folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unicode_folder_fini(&folder);
    return failed;
}
