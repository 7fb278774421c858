/* Tests the text form of API keys. */
#include "unit.h"

#include "auth/api_key.h"

#include <sodium.h>

#define PREFIX STR("service_live_")

static void generated_keys_are_well_formed(void **state)
{
    struct key_text key, other;
    uint8_t hash[KEY_HASH_LEN];
    (void)state;
    for (int i = 0; i < 200; i++) {
        key_generate(PREFIX, &key);
        struct str s = str_make(key.p, key.len);
        assert_int_equal(key.len, 13 + 43 + 6);
        assert_true(key_is_well_formed(PREFIX, s));
        assert_false(key_is_well_formed(STR("other_"), s));
        /* Each changed character is detected. */
        for (size_t at = 0; at < key.len; at++) {
            other = key;
            other.p[at] = other.p[at] == 'A' ? 'B' : 'A';
            assert_false(key_is_well_formed(PREFIX, str_make(other.p, other.len)));
        }
        assert_false(key_is_well_formed(PREFIX, str_make(key.p, key.len - 1)));
    }
    key_generate(PREFIX, &other);
    assert_memory_not_equal(key.p, other.p, key.len);
    key_hash(STR("abc"), hash);
    assert_memory_equal(hash, "\xba\x78\x16\xbf\x8f\x01\xcf\xea", 8); /* FIPS 180-2, B.1 */
}

/* The expected text comes from another implementation of CRC-32. */
static void checksum_of_a_key_is_crc32(void **state)
{
    (void)state;
    assert_true(
        key_is_well_formed(PREFIX, STR("service_live_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG03jcPh")));
    assert_false(
        key_is_well_formed(PREFIX, STR("service_live_0123456789abcdefghijklmnopqrstuvwxyzABCDEF-03jcPh")));
}

static void authorization_field_is_parsed_as_in_rfc_6750(void **state)
{
    struct str token;
    (void)state;
    assert_int_equal(key_from_authorization(STR("Bearer abc"), &token), BEARER_PRESENT);
    assert_str(token, "abc");
    assert_int_equal(key_from_authorization(STR("bEARER   abc "), &token), BEARER_PRESENT);
    assert_str(token, "abc");
    assert_int_equal(key_from_authorization(STR("Bearer abc def"), &token), BEARER_PRESENT);
    assert_str(token, "abc def");
    static const char *const missing[] = {"", "Bearer", "Bearer ", "Basic abc", "Bearerabc", "  "};
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
        assert_int_equal(key_from_authorization(str_from_cstr(missing[i]), &token), BEARER_MISSING);
    assert_int_equal(key_from_authorization(str_make(NULL, 0), &token), BEARER_MISSING);
}

static void first_secret_in_a_text_is_located(void **state)
{
    (void)state;
    assert_int_equal(key_locate_secret(PREFIX, STR("/v1/videos?limit=1")), 18);
    assert_int_equal(key_locate_secret(PREFIX, STR("/v1/videos?key=service_live_01234567")), 28);
    assert_int_equal(key_locate_secret(PREFIX, STR("service_live_service_live_0123abcdEF")), 26);
    assert_int_equal(key_locate_secret(PREFIX, STR("?key=service_live_0123456")), 25);
    assert_int_equal(key_locate_secret(PREFIX, STR("?key=service_live_0123-4567")), 27);
    assert_int_equal(key_locate_secret(PREFIX, STR("")), 0);
    assert_int_equal(key_locate_secret(PREFIX, str_make(NULL, 0)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_keys_are_well_formed),
        cmocka_unit_test(checksum_of_a_key_is_crc32),
        cmocka_unit_test(authorization_field_is_parsed_as_in_rfc_6750),
        cmocka_unit_test(first_secret_in_a_text_is_located),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
