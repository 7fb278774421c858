/* Creates the tables of a store in a database on a server (store_options.url), and migrates them. A backup
 * before an upgrade is left to the operator, because the database is not a file of this machine. */
#ifndef VT_STORE_SERVER_UPGRADE_H
#define VT_STORE_SERVER_UPGRADE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { SERVER_UPGRADE_NAME_MAX = 130, SERVER_UPGRADE_SQL_MAX = 1500 };

struct server_upgrade_result {
    char database[SERVER_UPGRADE_NAME_MAX], role[SERVER_UPGRADE_NAME_MAX];
    int64_t version;  /* schema version before the call; 0: the database was empty */
    int64_t target;   /* schema version of this program */
    int pending;      /* number of migrations that were missing */
    bool is_newer;    /* a newer release has migrated the database, and this program can use it */
    bool is_volatile; /* synchronous_commit = off: a crash of the server can lose the last commits */
    /* The ALTER ROLE statements that are still necessary, separated by line breaks. They give the role the
     * planner settings that the queries require. "": the role has these settings. */
    char role_settings[SERVER_UPGRADE_SQL_MAX];
};

/* Sets `*result` to what server_upgrade() would do, and returns the same errors. Changes nothing. */
MUST_USE enum err server_upgrade_check(const char *url, const char *password_file,
                                       struct server_upgrade_result *result, struct error *error);

/* Applies the pending migrations in one transaction. Then runs the statements of result->role_settings, and
 * empties this member if they succeed. If they fail, the operator must run them. Several processes may call
 * this function at the same time. Returns ERR_VERSION if the database is newer and this program cannot use
 * it; ERR_CORRUPT if the database contains tables of another application; ERR_READONLY if the role lacks
 * privileges or no server is the primary; ERR_INVALID if a setting is wrong; ERR_IO if no server can be
 * used. */
MUST_USE enum err server_upgrade(const char *url, const char *password_file,
                                 struct server_upgrade_result *result, struct error *error);

#endif
