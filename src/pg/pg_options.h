/* Where and how to connect to PostgreSQL, parsed from a URL:
 *
 *     postgresql://[user@]host[:port][,host[:port]…]/[database][?parameter=value&…]
 *
 * A host that begins with a slash (%2F in the URL) is the directory of a Unix socket; without a host, the
 * directory is /var/run/postgresql. A user and a database are required, also in the form of the parameters
 * user and dbname. Allowed parameters: the TLS settings of libpq (sslmode, sslrootcert, …), host, port, user,
 * dbname, passfile, options, application_name, connect_timeout (seconds per host, 1 to 60), keepalives…,
 * tcp_user_timeout, channel_binding, require_auth, and target_session_attrs=read-write. A password in the URL
 * is rejected, because URLs appear in logs. */
#ifndef VT_PG_PG_OPTIONS_H
#define VT_PG_PG_OPTIONS_H

#include "base/error.h"

enum { PG_HOSTS_MAX = 8, PG_SETTINGS_MAX = 40 };

/* The strings are NUL-terminated. */
struct pg_host {
    char *name; /* a name, a numeric address, or the directory of a Unix socket */
    char *port;
};

struct pg_setting {
    char *keyword, *value;
};

struct pg_options {
    struct pg_host hosts[PG_HOSTS_MAX];
    int host_count;
    struct pg_setting settings[PG_SETTINGS_MAX]; /* keywords of libpq that have no member of their own */
    int setting_count;
    char *password;      /* NULL: libpq looks it up in PGPASSFILE or ~/.pgpass */
    char *password_file; /* NULL: the password is not in a file (pg_password.h) */
    int connect_ms;      /* deadline per host */
};

/* Parses a URL. `password` may be NULL or empty, and so may `password_file`, the file from which the caller
 * has read the password. The text of `error` quotes nothing of the URL except the name of an unknown
 * parameter. Call pg_options_fini() afterwards, even if this function has failed. */
MUST_USE enum err pg_options_parse(struct pg_options *o, const char *url, const char *password,
                                   const char *password_file, struct error *error);

/* Reads the password file again, if there is one. Call before each connection attempt, because the password
 * may have been changed. If the file cannot be read, or is a pipe, the password stays the same. */
void pg_options_reload_password(struct pg_options *o);

/* Overwrites the password and frees everything. */
void pg_options_fini(struct pg_options *o);

#endif
