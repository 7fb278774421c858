/* The system's certificate authorities, for binaries that run on other distributions than they were built on.
 *
 * OpenSSL looks for authorities in one file and one directory, whose paths are fixed when it is built. On
 * RHEL, SUSE and Alpine, where the static binary also runs, the authorities are in other files. */
#ifndef VT_BASE_CA_BUNDLE_H
#define VT_BASE_CA_BUNDLE_H

/* Returns the path of the file to load authorities from, as a static string. Returns NULL if the caller must
 * use OpenSSL's default: SSL_CERT_FILE or SSL_CERT_DIR is set, OpenSSL's own paths have certificates, or none
 * of the known files is readable. */
const char *ca_bundle_find(void);

/* Like ca_bundle_find(), with `root` in front of every path, and with OpenSSL's own paths as parameters. For
 * tests. */
const char *ca_bundle_find_below(const char *root, const char *own_file, const char *own_directory);

#endif
