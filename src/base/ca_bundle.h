/* The system's certificate authorities, for binaries that run on other distributions than they were built on.
 *
 * OpenSSL looks for authorities in two places that are fixed when it is built. The static binary also runs
 * where those do not exist: RHEL, SUSE and Alpine each use other files. */
#ifndef VT_BASE_CA_BUNDLE_H
#define VT_BASE_CA_BUNDLE_H

/* Returns the file to load authorities from, or NULL to leave the choice to OpenSSL: if SSL_CERT_FILE or
 * SSL_CERT_DIR is set, if OpenSSL's own places have certificates, or if no known place has any. The string is
 * static. */
const char *ca_bundle_find(void);

/* The search of ca_bundle_find() in the file system below `root`. `own_file` and
 * `own_directory` are OpenSSL's places. */
const char *ca_bundle_find_below(const char *root, const char *own_file, const char *own_directory);

#endif
