/* Tests base64: exactly one spelling of each value is accepted. */
#include "unit.h"

#include "base/base64.h"

static void expect(struct str text, enum base64_alphabet alphabet, const char *decoded)
{
    char out[8];
    size_t len = 0;
    const bool ok = base64_decode(text, alphabet, out, sizeof out, &len);
    assert_int_equal(ok, decoded != NULL);
    if (decoded)
        assert_str(str_make(out, len), decoded);
}

static void decodes_both_alphabets(void **state)
{
    (void)state;
    expect(STR(""), BASE64_URL, "");
    expect(STR("YQ"), BASE64_URL, "a");
    expect(STR("YQ=="), BASE64_STANDARD, "a");
    expect(STR("fn5-"), BASE64_URL, "~~~");
    expect(STR("fn5+"), BASE64_STANDARD, "~~~");
}

static void rejects_all_but_one_spelling_of_a_value(void **state)
{
    (void)state;
    expect(STR("YQ=="), BASE64_URL, NULL);
    expect(STR("YQ"), BASE64_STANDARD, NULL);
    expect(STR("fn5+"), BASE64_URL, NULL);
    expect(STR("YR"), BASE64_URL, NULL); /* unused bits that are not zero */
    expect(STR("Y Q"), BASE64_URL, NULL);
    expect(STR("YWFhYWFhYWFh"), BASE64_URL, NULL); /* nine bytes into eight */
    expect(STR("\xd9Q"), BASE64_URL,
           NULL); /* 'Y' with its highest bit set, which libsodium decodes like 'Y' */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_both_alphabets),
        cmocka_unit_test(rejects_all_but_one_spelling_of_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
