/* Tests that files that are not backups are recognized by their first bytes. */
#include "backup/backup_format.h"
#include "lib/temp_db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp_db t;
static char path[128];

static int set_up(void **state)
{
    (void)state;
    temp_db_init(&t);
    (void)snprintf(path, sizeof path, "%s/file", t.dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(path);
    temp_db_fini(&t);
    return 0;
}

static void write_file(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void assert_rejected(const void *bytes, size_t n, const char *why)
{
    struct error error = {0};
    write_file(path, bytes, n);
    assert_int_equal(backup_format_check(path, "FILE", &error), ERR_CORRUPT);
    assert_memory_equal(error.text, "FILE is ", 8);
    if (!strstr(error.text, why))
        fail_msg("%s: expected: %s", error.text, why);
}

static void error_names_the_format_of_a_file_that_is_not_a_database(void **state)
{
    (void)state;
    assert_rejected("", 0, "is empty");
    assert_rejected("\x1f\x8b\x08", 3, "compressed with gzip: unpack it first (gzip -dc");
    assert_rejected("\x28\xb5\x2f\xfd....", 8, "compressed with zstd");
    assert_rejected("\xfd"
                    "7zXZ\0",
                    6, "compressed with xz");
    assert_rejected("BZh91AY", 7, "compressed with bzip2");
    assert_rejected("PK\x03\x04...", 7, "a zip archive");
    assert_rejected("age-encryption.org/v1\n", 22, "encrypted with age");
    assert_rejected("-----BEGIN PGP MESSAGE-----\n", 28, "encrypted with gpg");
    assert_rejected("hello", 5, "is not a database: use a file that viewtally backup has written");
    assert_rejected("\x1f", 1, "is not a database");
    assert_rejected("SQLite format 3", 15, "is not a database");
    assert_rejected("SQLite format 3", 16, "is incomplete: it has only 16 bytes");
}

/* Makes the header of a database that has `pages` pages of 4096 bytes. */
static void make_header(unsigned char header[4096], unsigned char pages)
{
    memset(header, 0, 4096);
    memcpy(header, "SQLite format 3", 16);
    header[16] = 16;
    header[27] = header[95] = 7; /* SQLite uses the page count only if these two change counters are equal */
    header[31] = pages;
}

static void incomplete_database_is_rejected(void **state)
{
    unsigned char header[4096];
    struct error error;
    char log[160];
    (void)state;
    make_header(header, 2);
    assert_rejected(header, sizeof header, "is incomplete: it has 4096 of 8192 bytes");
    (void)snprintf(log, sizeof log, "%s-wal", path);
    write_file(log, "x", 1);
    /* The file is accepted, because the missing page may be in the write-ahead log. */
    assert_int_equal(backup_format_check(path, "FILE", &error), OK);
    assert_int_equal(unlink(log), 0);
    header[27] = 8;
    write_file(path, header, sizeof header);
    assert_int_equal(backup_format_check(path, "FILE", &error), OK); /* the page count is out of date */
    make_header(header, 1);
    write_file(path, header, sizeof header);
    assert_int_equal(backup_format_check(path, "FILE", &error), OK);
    header[16] = 0; /* 1 stands for 65536 bytes */
    header[17] = 1;
    assert_rejected(header, sizeof header, "4096 of 65536 bytes");
}

static void complete_database_is_accepted(void **state)
{
    struct error error;
    (void)state;
    assert_int_equal(backup_format_check(t.path, "FILE", &error), OK);
}

static void path_that_is_not_a_file_is_reported(void **state)
{
    struct error error;
    (void)state;
    assert_int_equal(backup_format_check(t.dir, "FILE", &error), ERR_INVALID);
    assert_string_equal(error.text, "FILE is not a regular file");
    assert_int_equal(backup_format_check("/nonexistent/file", "FILE", &error), ERR_NOT_FOUND);
    assert_string_equal(error.text, "cannot read FILE: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(error_names_the_format_of_a_file_that_is_not_a_database, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(incomplete_database_is_rejected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(complete_database_is_accepted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(path_that_is_not_a_file_is_reported, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
