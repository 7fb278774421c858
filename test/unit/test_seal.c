/* Tests sealing: encryption, decryption only at the same place, and validation of the key file. */
#include "unit.h"

#include "lib/temp_db.h"
#include "vault/seal.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct temp_db t;
static char path[128];
static struct error error;

static int set_up(void **state)
{
    (void)state;
    temp_dir_init(&t);
    (void)snprintf(path, sizeof path, "%s/key", t.dir);
    error.text[0] = '\0';
    return sodium_init() >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    temp_db_fini(&t);
    return 0;
}

static void write_file(const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void read_file(char *out, size_t size)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(out, 1, size - 1, f);
    out[n] = '\0';
    assert_int_equal(fclose(f), 0);
}

static struct seal_keys *open_keys(void)
{
    struct seal_keys *keys;
    assert_int_equal(seal_keys_open(&keys, path, &error), OK);
    return keys;
}

static struct seal_place place_of(int64_t author, int api, const char *account, enum seal_column column)
{
    return (struct seal_place){
        .author_row = author, .api = api, .account_id = str_from_cstr(account), .column = column};
}

static struct seal_keys *new_keys(void)
{
    assert_int_equal(seal_create_key_file(path, path, &error), OK);
    return open_keys();
}

static void sealed_bytes_decrypt_only_for_their_own_row_and_column(void **state)
{
    struct seal_keys *keys = new_keys();
    struct buf sealed, again;
    char plain[256];
    size_t len;
    const struct seal_place place = place_of(7, 3, "UC_channel", SEAL_ACCESS);
    const struct seal_place others[] = {
        place_of(8, 3, "UC_channel", SEAL_ACCESS), place_of(7, 2, "UC_channel", SEAL_ACCESS),
        place_of(7, 3, "UC_channe", SEAL_ACCESS),  place_of(7, 3, "UC_channel", SEAL_REFRESH),
        place_of(7, 3, "", SEAL_ACCESS),
    };
    (void)state;
    buf_init(&sealed, 4096);
    buf_init(&again, 4096);
    assert_int_equal(seal_encrypt(keys, &place, STR("ya29.TOKEN"), &sealed), OK);
    assert_int_equal(seal_encrypt(keys, &place, STR("ya29.TOKEN"), &again), OK);
    assert_int_equal(sealed.len, 10 + SEAL_OVERHEAD);
    assert_memory_not_equal(sealed.p, again.p, sealed.len); /* each call uses another nonce */
    assert_null(memmem(sealed.p, sealed.len, "TOKEN", 5));
    assert_int_equal(seal_decrypt(keys, &place, buf_str(&sealed), plain, &len), OK);
    assert_str(str_make(plain, len), "ya29.TOKEN");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(seal_decrypt(keys, &others[i], buf_str(&sealed), plain, &len), ERR_CORRUPT);
    buf_fini(&sealed);
    buf_fini(&again);
    seal_keys_close(keys);
}

static void changed_and_truncated_bytes_are_rejected(void **state)
{
    struct seal_keys *keys = new_keys();
    struct buf sealed;
    char plain[256], *copy;
    size_t len;
    const struct seal_place place = place_of(1, 0, "a", SEAL_REFRESH);
    (void)state;
    buf_init(&sealed, 4096);
    assert_int_equal(seal_encrypt(keys, &place, STR("rft.1"), &sealed), OK);
    for (size_t i = 0; i < sealed.len; i++) {
        sealed.p[i] ^= 1;
        enum err err = seal_decrypt(keys, &place, buf_str(&sealed), plain, &len);
        assert_int_equal(err, i < SEAL_ID_LEN ? ERR_NOT_FOUND : ERR_CORRUPT);
        sealed.p[i] ^= 1;
        /* Decrypts from memory of exactly this size, so that AddressSanitizer detects overruns. */
        copy = malloc(i + 1);
        memcpy(copy, sealed.p, i);
        assert_int_equal(seal_decrypt(keys, &place, str_make(copy, i), plain, &len), ERR_CORRUPT);
        free(copy);
    }
    assert_int_equal(seal_decrypt(keys, &place, buf_str(&sealed), plain, &len), OK);
    assert_int_equal(seal_encrypt(keys, &place, STR(""), &sealed), OK); /* the empty text is valid */
    buf_fini(&sealed);
    seal_keys_close(keys);
}

static void creates_the_key_file_once_and_readable_only_by_its_owner(void **state)
{
    char first[512], second[512];
    struct stat is;
    struct seal_keys *keys = new_keys();
    (void)state;
    assert_true(seal_has_keys(keys));
    seal_keys_close(keys);
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0600);
    read_file(first, sizeof first);
    assert_int_equal(seal_create_key_file(path, path, &error), ERR_EXISTS);
    assert_non_null(strstr(error.text, "already exists"));
    read_file(second, sizeof second);
    assert_string_equal(first, second);
}

#define KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static void rejects_invalid_key_file_with_a_reason(void **state)
{
    static const struct {
        const char *text, *says;
        mode_t mode;
    } rows[] = {
        {"00000001 " KEY "\n", "chmod 600", 0640},
        {"00000001 " KEY "\n", "chmod 600", 0604},
        {"", "contains no key", 0600},
        {"# nothing\n\n", "contains no key", 0600},
        {"00000001 " KEY "\n00000001 " KEY "\n", "line 2: the id 00000001 is used twice", 0600},
        {"00000000 " KEY "\n", "line 1: expected `ID KEY`", 0600},
        {"1 " KEY "\n", "line 1", 0600},
        {"# a\n00000001\n", "line 2", 0600},
        {"00000001 " KEY "0\n", "line 1: expected `ID KEY`", 0600},
        {"00000001 0" KEY "0\n", "line 1", 0600},
        {"0000000g " KEY "\n", "line 1", 0600},
        {"00000001 zz0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n", "line 1", 0600},
    };
    struct seal_keys *keys;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_file(rows[i].text, rows[i].mode);
        error.text[0] = '\0';
        assert_int_equal(seal_keys_open(&keys, path, &error), ERR_INVALID);
        assert_non_null(strstr(error.text, rows[i].says));
        assert_non_null(strstr(error.text, path));
        assert_null(strstr(error.text, "0001020304"));
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(seal_keys_open(&keys, path, &error), ERR_NOT_FOUND);
    assert_non_null(strstr(error.text, "secrets init"));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(seal_keys_open(&keys, path, &error), ERR_INVALID);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* opening a FIFO must not wait for its other end */
    assert_int_equal(seal_keys_open(&keys, path, &error), ERR_INVALID);
}

static void rejects_too_many_keys(void **state)
{
    struct seal_keys *keys;
    struct buf text;
    (void)state;
    buf_init(&text, 16 << 10);
    for (int i = 1; i <= SEAL_KEYS_MAX; i++)
        buf_printf(&text, "%08x " KEY "\n", (unsigned)i);
    write_file(buf_str(&text).p, 0600);
    keys = open_keys();
    seal_keys_close(keys);
    buf_printf(&text, "# comment\n%08x " KEY "\n", SEAL_KEYS_MAX + 1U);
    write_file(buf_str(&text).p, 0600);
    assert_int_equal(seal_keys_open(&keys, path, &error), ERR_INVALID);
    assert_non_null(strstr(error.text, "more than"));
    buf_fini(&text);
}

static void ignores_blanks_and_comments_in_the_key_file(void **state)
{
    uint32_t ids[SEAL_KEYS_MAX];
    size_t count;
    (void)state;
    write_file("# a\r\n", 0600);
    write_file("# the new one\n  deadbeef   " KEY "  \n\n00000002 " KEY, 0600);
    struct seal_keys *keys = open_keys();
    seal_list_key_ids(keys, ids, &count);
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], 0xdeadbeef);
    assert_int_equal(ids[1], 2);
    assert_true(seal_has_key(keys, 2));
    assert_false(seal_has_key(keys, 3));
    seal_keys_close(keys);
}

/* Adds and removes keys as `secrets rotate` does while a server is running. */
static void new_key_is_used_without_reopening_the_key_file(void **state)
{
    struct seal_keys *keys = new_keys();
    struct buf old, fresh;
    uint32_t ids[SEAL_KEYS_MAX], id;
    size_t count, len;
    char plain[64];
    const struct seal_place place = place_of(1, 0, "a", SEAL_ACCESS);
    (void)state;
    buf_init(&old, 4096);
    buf_init(&fresh, 4096);
    assert_int_equal(seal_encrypt(keys, &place, STR("one"), &old), OK);
    assert_int_equal(seal_add_key(path, &id, &error), OK);
    assert_false(seal_has_key(keys, id));
    assert_int_equal(seal_encrypt(keys, &place, STR("two"), &fresh), OK);
    assert_int_equal(seal_key_id(buf_str(&fresh)), id);
    assert_int_not_equal(seal_key_id(buf_str(&old)), id);
    assert_int_equal(seal_decrypt(keys, &place, buf_str(&old), plain, &len), OK);

    /* A process that only decrypts uses the new key, too. */
    struct seal_keys *other = open_keys();
    assert_int_equal(seal_add_key(path, &id, &error), OK);
    fresh.len = 0;
    assert_int_equal(seal_encrypt(keys, &place, STR("three"), &fresh), OK);
    assert_int_equal(seal_decrypt(other, &place, buf_str(&fresh), plain, &len), OK);
    assert_str(str_make(plain, len), "three");

    /* A removed key no longer decrypts. */
    assert_int_equal(seal_remove_old_keys(path, &error), OK);
    struct seal_keys *last = open_keys();
    seal_list_key_ids(last, ids, &count);
    assert_int_equal(count, 1);
    assert_int_equal(ids[0], id);
    assert_int_equal(seal_decrypt(last, &place, buf_str(&old), plain, &len), ERR_NOT_FOUND);
    assert_int_equal(seal_decrypt(last, &place, buf_str(&fresh), plain, &len), OK);
    buf_fini(&old);
    buf_fini(&fresh);
    seal_keys_close(keys);
    seal_keys_close(other);
    seal_keys_close(last);
}

static void broken_key_file_prevents_encryption_but_not_decryption(void **state)
{
    struct seal_keys *keys = new_keys();
    struct buf sealed;
    size_t len;
    char plain[64];
    const struct seal_place place = place_of(1, 0, "a", SEAL_ACCESS);
    (void)state;
    buf_init(&sealed, 4096);
    assert_int_equal(seal_encrypt(keys, &place, STR("one"), &sealed), OK);
    write_file("not a key file\n", 0600);
    assert_int_equal(seal_encrypt(keys, &place, STR("two"), &sealed), ERR_INVALID);
    assert_int_equal(seal_decrypt(keys, &place, buf_str(&sealed), plain, &len), OK);
    buf_fini(&sealed);
    seal_keys_close(keys);
}

static void without_key_file_nothing_is_sealed(void **state)
{
    struct seal_keys *keys;
    struct buf sealed;
    const struct seal_place place = place_of(1, 0, "a", SEAL_ACCESS);
    (void)state;
    buf_init(&sealed, 4096);
    assert_int_equal(seal_keys_open(&keys, "", &error), OK);
    assert_false(seal_has_keys(keys));
    assert_int_equal(seal_encrypt(keys, &place, STR("one"), &sealed), ERR_NOT_FOUND);
    assert_int_equal(sealed.len, 0);
    buf_fini(&sealed);
    seal_keys_close(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sealed_bytes_decrypt_only_for_their_own_row_and_column, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(changed_and_truncated_bytes_are_rejected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(creates_the_key_file_once_and_readable_only_by_its_owner, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(rejects_invalid_key_file_with_a_reason, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rejects_too_many_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ignores_blanks_and_comments_in_the_key_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(new_key_is_used_without_reopening_the_key_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_key_file_prevents_encryption_but_not_decryption, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_key_file_nothing_is_sealed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
