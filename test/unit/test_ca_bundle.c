/* Tests where the program finds the certificate authorities on distributions other than the one that it was
 * built on. */
#include "unit.h"

#include "base/ca_bundle.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file and the directory in which OpenSSL looks by default, as compiled in. */
#define OWN_FILE      "/usr/lib/ssl/cert.pem"
#define OWN_DIRECTORY "/usr/lib/ssl/certs"

/* Creates the file and its directories below `root`. */
static void create(const char *root, const char *path)
{
    char full[500];
    (void)snprintf(full, sizeof full, "%s%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        (void)mkdir(full, 0700);
        *p = '/';
    }
    const int fd = open(full, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static const char *find(const char *root)
{
    return ca_bundle_find_below(root, OWN_FILE, OWN_DIRECTORY);
}

static int make_root(void **state)
{
    char name[] = "/tmp/viewtally-ca-XXXXXX";
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    assert_int_equal(unsetenv("SSL_CERT_DIR"), 0);
    *state = strdup(mkdtemp(name));
    return 0;
}

static int remove_file(const char *path, const struct stat *is, int kind, struct FTW *walk)
{
    (void)is;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int remove_root(void **state)
{
    const int status = nftw(*state, remove_file, 8, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return status;
}

static void finds_the_bundle_of_each_distribution(void **state)
{
    /* The files, in the order from the least to the most preferred one. Each file that is created must
     * take precedence over the files created before it. */
    static const char *const files[] = {
        "/etc/ssl/cert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs/ca-certificates.crt"};
    assert_null(find(*state));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        create(*state, files[i]);
        assert_string_equal(find(*state), files[i]);
    }
}

static void leaves_the_choice_to_openssl_if_its_default_file_exists(void **state)
{
    create(*state, "/etc/ssl/certs/ca-certificates.crt");
    create(*state, OWN_FILE);
    assert_null(find(*state));
}

static void leaves_the_choice_to_openssl_if_its_default_directory_has_hashed_names(void **state)
{
    create(*state, "/etc/ssl/certs/ca-certificates.crt");
    create(*state, OWN_DIRECTORY "/ACCVRAIZ1.pem");
    create(*state, OWN_DIRECTORY "/ca-certificates.crt");
    create(*state, OWN_DIRECTORY "/1d3472b9.r");
    assert_non_null(find(*state));
    create(*state, OWN_DIRECTORY "/1d3472b9.0");
    assert_null(find(*state));
}

static void leaves_the_choice_to_openssl_if_the_environment_names_a_file_or_directory(void **state)
{
    static const char *const names[] = {"SSL_CERT_FILE", "SSL_CERT_DIR"};
    create(*state, "/etc/ssl/cert.pem");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(setenv(names[i], "/nowhere", 1), 0);
        assert_null(find(*state));
        assert_int_equal(unsetenv(names[i]), 0);
        assert_non_null(find(*state));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_the_bundle_of_each_distribution, make_root, remove_root),
        cmocka_unit_test_setup_teardown(leaves_the_choice_to_openssl_if_its_default_file_exists, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(
            leaves_the_choice_to_openssl_if_its_default_directory_has_hashed_names, make_root, remove_root),
        cmocka_unit_test_setup_teardown(
            leaves_the_choice_to_openssl_if_the_environment_names_a_file_or_directory, make_root,
            remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
