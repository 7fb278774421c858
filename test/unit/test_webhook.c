/* Tests the signatures of webhooks (Standard Webhooks), their URLs, and their sealed secrets with key
 * rotation. */
#include "lib/credential_rig.h"
#include "unit.h"

#include "base/base64.h"
#include "vault/token_vault.h"
#include "vault/webhook_secrets.h"
#include "webhook/webhook_signature.h"
#include "webhook/webhook_url.h"

#include <stdio.h>

/* ---- signatures ---- */

/* The example of the specification, which its libraries also test. test/webhooks verifies messages of the
 * server with the published library. */
static const struct {
    const char *secret, *id;
    int64_t timestamp_s;
    const char *body, *signature;
} vectors[] = {
    {"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, "{\"test\": 2432232314}",
     "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
};

static void signature_equals_the_example_of_the_specification(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint8_t secret[64];
        char signature[WEBHOOK_SIGNATURE_ROOM];
        size_t len;
        assert_true(
            base64_decode(str_from_cstr(vectors[i].secret), BASE64_STANDARD, secret, sizeof secret, &len));
        webhook_sign(secret, len, str_from_cstr(vectors[i].id), vectors[i].timestamp_s,
                     str_from_cstr(vectors[i].body), signature);
        assert_string_equal(signature, vectors[i].signature);
    }
}

static void secret_is_formatted_with_prefix_and_base64(void **state)
{
    (void)state;
    uint8_t secret[WEBHOOK_SECRET_LEN];
    char text[WEBHOOK_SECRET_TEXT_ROOM];
    for (int i = 0; i < WEBHOOK_SECRET_LEN; i++)
        secret[i] = (uint8_t)(0xF8 + i);
    webhook_secret_format(secret, text);
    assert_string_equal(text, "whsec_+Pn6+/z9/v8AAQIDBAUGBwgJCgsMDQ4PEBESExQVFhc=");
}

/* ---- URLs ---- */

static struct address_policy public_only;

static void valid_urls_are_accepted_and_split(void **state)
{
    (void)state;
    static const char *const valid[][3] = {
        {"https://example.com", "https://example.com", "/"},
        {"https://example.com/", "https://example.com", "/"},
        {"https://EXAMPLE.com:8443/a/b?c=%20d&e", "https://EXAMPLE.com:8443", "/a/b?c=%20d&e"},
        {"https://example.com:65535", "https://example.com:65535", "/"},
        {"https://1.1.1.1/x", "https://1.1.1.1", "/x"},
        {"https://[2606:4700:4700::1111]:444/x", "https://[2606:4700:4700::1111]:444", "/x"},
        {"https://xn--bcher-kva.example/h", "https://xn--bcher-kva.example", "/h"},
    };
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
        const struct str url = str_from_cstr(valid[i][0]);
        struct str origin, path;
        const char *why = webhook_url_check(url, &public_only);
        if (why)
            fail_msg("%s %s", valid[i][0], why);
        webhook_url_split(url, &origin, &path);
        assert_true(str_eq(origin, str_from_cstr(valid[i][1])));
        assert_true(str_eq(path, str_from_cstr(valid[i][2])));
    }
}

static void invalid_urls_are_rejected(void **state)
{
    (void)state;
    static const char *const invalid[][2] = {
        {"", "https://"},
        {"http://example.com/", "https://"},
        {"HTTPS://example.com/", "https://"},
        {"ftp://example.com", "https://"},
        {"https://", "host"},
        {"https:///x", "host"},
        {"https://:443/", "host"},
        {"https://[::1", "host"},
        {"https://example.com:0/", "port"},
        {"https://example.com:65536/", "port"},
        {"https://example.com:/", "port"},
        {"https://[2606:4700:4700::1111]:99999/x", "port"},
        {"https://a b/", "percent"},
        {"https://example.com/\xC3\xA9", "percent"},
        {"https://example.com/\r\nX: y", "percent"},
        {"https://example.com\\@evil/", "percent"},
        {"https://user@example.com/", "user name"},
        {"https://example.com@127.0.0.1/", "user name"},
        {"https://example.com/#x", "fragment"},
        {"https://example.com?x=1", "path"},
        {"https://127.0.0.1/", "not public"},
        {"https://10.0.0.1:444/", "not public"},
        {"https://169.254.169.254/latest/meta-data", "not public"},
        {"https://[::1]/", "not public"},
        {"https://[::ffff:127.0.0.1]/", "not public"},
        {"https://[fd00:ec2::254]/", "not public"},
    };
    char longer[WEBHOOK_URL_MAX + 2];
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        const char *why = webhook_url_check(str_from_cstr(invalid[i][0]), &public_only);
        if (!why || !strstr(why, invalid[i][1]))
            fail_msg("%s: %s", invalid[i][0], why ? why : "accepted");
    }
    memset(longer, 'a', sizeof longer);
    memcpy(longer, "https://example.com/", 20);
    assert_null(webhook_url_check(str_make(longer, WEBHOOK_URL_MAX), &public_only));
    assert_non_null(webhook_url_check(str_make(longer, WEBHOOK_URL_MAX + 1), &public_only));
}

/* ---- sealed secrets ---- */

enum { ENDPOINTS = 450 }; /* more than two pages */

static void secret_of(int n, uint8_t out[WEBHOOK_SECRET_LEN])
{
    memset(out, n & 0xFF, WEBHOOK_SECRET_LEN);
    out[0] = (uint8_t)(n >> 8);
}

/* Inserts `count` endpoints with sealed secrets. Every third one has an old secret too. */
static void put_endpoints(int count)
{
    test_begin(&rig.db);
    for (int i = 0; i < count; i++) {
        char room[2][WEBHOOK_SECRET_LEN + SEAL_OVERHEAD];
        struct buf sealed = buf_on(room[0], sizeof room[0]), old = buf_on(room[1], sizeof room[1]);
        uint8_t secret[WEBHOOK_SECRET_LEN];
        struct webhook_endpoint e = {.id = test_uuid(9, (uint64_t)i),
                                     .author_row = rig.author.row,
                                     .url = STR("https://example.com"),
                                     .created_at = NOW};
        const struct webhook_secret_place place = webhook_secret_place_of(&e);
        secret_of(i, secret);
        assert_int_equal(webhook_secret_seal(rig.keys, &place, secret, &sealed), OK);
        e.secret = buf_str(&sealed);
        assert_int_equal(store_insert_webhook(rig.db.w, &e), OK);
        secret_of(i + 1, secret);
        assert_int_equal(webhook_secret_seal(rig.keys, &place, secret, &old), OK);
        if (i % 3 == 0)
            assert_int_equal(
                store_set_webhook_secret(rig.db.w, e.row, e.secret, buf_str(&old), NOW + HOUR_MS), OK);
    }
    test_commit(&rig.db);
}

static struct webhook_endpoint endpoint_at(int64_t row)
{
    struct webhook_endpoint e;
    assert_int_equal(store_get_webhook(rig.db.r, &rig.db.arena, row, &e), OK);
    return e;
}

static void assert_endpoints(int count)
{
    struct seal_keys *keys;
    assert_int_equal(seal_keys_open(&keys, rig.key_path, &rig.error), OK);
    for (int i = 0; i < count; i++) {
        uint8_t secret[WEBHOOK_SECRET_LEN], expected[WEBHOOK_SECRET_LEN];
        const struct webhook_endpoint e = endpoint_at(i + 1);
        const struct webhook_secret_place place = webhook_secret_place_of(&e);
        secret_of(i, expected);
        assert_int_equal(webhook_secret_open(keys, &place, e.secret, secret), OK);
        assert_memory_equal(secret, expected, sizeof secret);
        secret_of(i + 1, expected);
        assert_int_equal(e.old_secret.p != NULL, i % 3 == 0);
        if (e.old_secret.p) {
            assert_int_equal(webhook_secret_open(keys, &place, e.old_secret, secret), OK);
            assert_memory_equal(secret, expected, sizeof secret);
        }
    }
    seal_keys_close(keys);
}

static void key_rotation_reseals_secrets(void **state)
{
    (void)state;
    struct key_rotation_result done;
    struct sealed_rows rows;
    put_endpoints(ENDPOINTS);
    assert_int_equal(vault_inspect(&rig.config, rig.db.w, true, &rows, &rig.error), OK);
    assert_int_equal(rows.webhooks, ENDPOINTS);
    assert_int_equal(key_rotation_run(&rig.config, rig.db.w, &done, &rig.error), OK);
    assert_int_equal(done.resealed.webhooks, ENDPOINTS);
    assert_endpoints(ENDPOINTS);
    assert_int_equal(vault_inspect(&rig.config, rig.db.w, true, &rows, &rig.error), OK);
}

static void secret_cannot_be_decrypted_for_another_endpoint_or_author(void **state)
{
    (void)state;
    uint8_t secret[WEBHOOK_SECRET_LEN];
    put_endpoints(2);
    const struct webhook_endpoint e = endpoint_at(1);
    struct webhook_secret_place place = webhook_secret_place_of(&e);
    assert_int_equal(webhook_secret_open(rig.keys, &place, endpoint_at(2).secret, secret), ERR_CORRUPT);
    place.author_row++;
    assert_int_equal(webhook_secret_open(rig.keys, &place, e.secret, secret), ERR_CORRUPT);
    assert_int_equal(webhook_secret_open(rig.keys, &place, str_make(e.secret.p, e.secret.len - 1), secret),
                     ERR_CORRUPT);
}

static void vault_check_fails_if_the_key_file_lacks_the_key_of_a_secret(void **state)
{
    (void)state;
    struct sealed_rows rows;
    put_endpoints(1);
    assert_int_equal(remove(rig.key_path), 0);
    assert_int_equal(seal_create_key_file(rig.key_path, rig.db.path, &rig.error), OK);
    assert_int_equal(vault_check_key_file(&rig.config, rig.db.w, &rig.error), ERR_NOT_FOUND);
    assert_non_null(strstr(rig.error.text, "is not in the key file"));
    assert_int_equal(vault_inspect(&rig.config, rig.db.w, true, &rows, &rig.error), ERR_NOT_FOUND);
}

static int set_up_policy(void **state)
{
    (void)state;
    return address_policy_init(&public_only, STR("")) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signature_equals_the_example_of_the_specification),
        cmocka_unit_test(secret_is_formatted_with_prefix_and_base64),
        cmocka_unit_test(valid_urls_are_accepted_and_split),
        cmocka_unit_test(invalid_urls_are_rejected),
        cmocka_unit_test_setup_teardown(key_rotation_reseals_secrets, credential_rig_init,
                                        credential_rig_fini),
        cmocka_unit_test_setup_teardown(secret_cannot_be_decrypted_for_another_endpoint_or_author,
                                        credential_rig_init, credential_rig_fini),
        cmocka_unit_test_setup_teardown(vault_check_fails_if_the_key_file_lacks_the_key_of_a_secret,
                                        credential_rig_init, credential_rig_fini),
    };
    return cmocka_run_group_tests(tests, set_up_policy, NULL);
}
