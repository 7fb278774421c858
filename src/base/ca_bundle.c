/* Finds the bundle of certificate authorities. Searches the same places in the same order as Go's
 * crypto/x509. */
#include "base/ca_bundle.h"

#include <dirent.h>
#include <limits.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const places[] = {
    "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Ubuntu, Arch, Gentoo, Alpine */
    "/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, RHEL up to 9 */
    "/etc/ssl/ca-bundle.pem",                            /* SUSE */
    "/etc/pki/tls/cacert.pem",                           /* OpenELEC */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* RHEL 7 and later */
    "/etc/ssl/cert.pem",                                 /* Alpine */
};

static bool is_readable(const char *root, const char *path)
{
    char full[PATH_MAX];
    return snprintf(full, sizeof full, "%s%s", root, path) < (int)sizeof full && access(full, R_OK) == 0;
}

/* Returns true for a name such as 1d3472b9.0, under which OpenSSL looks up a certificate. */
static bool is_hashed_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == 8 && name[8] == '.' && name[9] >= '0' && name[9] <= '9';
}

static bool has_hashed_certificate(const char *root, const char *directory)
{
    char full[PATH_MAX];
    if (snprintf(full, sizeof full, "%s%s", root, directory) >= (int)sizeof full)
        return false;
    DIR *d = opendir(full);
    if (!d)
        return false;
    const struct dirent *entry;
    do
        entry = readdir(d);
    while (entry && !is_hashed_name(entry->d_name));
    closedir(d);
    return entry;
}

const char *ca_bundle_find_below(const char *root, const char *own_file, const char *own_directory)
{
    if (getenv(X509_get_default_cert_file_env()) || getenv(X509_get_default_cert_dir_env()))
        return NULL;
    if (is_readable(root, own_file) || has_hashed_certificate(root, own_directory))
        return NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (is_readable(root, places[i]))
            return places[i];
    return NULL;
}

const char *ca_bundle_find(void)
{
    return ca_bundle_find_below("", X509_get_default_cert_file(), X509_get_default_cert_dir());
}
