/* What a restore carries over from the database that it replaces.
 *
 * A backup brings back the state of its moment. Without this, everything revoked since would be valid again.
 *
 *   carried over                                   because otherwise
 *   keys revoked, with the time; also those that   a leaked key works again; `api_key_revoked` becomes
 *     the backup does not have                       `invalid_api_key`
 *   ended plans                                    the author has service again
 *   removed apps, rotated app secrets              a removed app can be connected; a leaked secret works
 *   sign-in names and passwords                    an old password, or a proxy's old name, opens an account
 *   accounts disconnected at the platforms         we read data that the author has taken away from us
 *   newer tokens and the state of accounts         a spent token is sent, and the platform ends the grant
 *   what is used of the platforms' quotas          they are spent twice
 *   the newest event id                            ids repeat
 *   the floor of the clock for expiry              expired links and codes are valid after a clock set back
 *
 *   dropped from the backup: sessions, invitations, unused authorization codes, linkings under way (each may
 * have been ended or used since), and the refresh lease.
 *
 *   not carried over, because nothing that was ended comes back with it: new authors, live keys, new apps,
 * active plans, times of last use, readings, the record of refresh runs and spool files (the spool's files of
 * that time are to be fed again).
 *
 * Rows are matched by what is unique in all databases (UUIDs, hashes, client ids), never by row numbers. A
 * disconnected account is one that the replaced database does not have, so that rule needs a database that
 * descends from the backup: it has the backup's store_id, or names it among its ancestors. */
#ifndef VT_STORE_CARRY_H
#define VT_STORE_CARRY_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct db;

enum carry_kind {
    CARRY_KEYS,
    CARRY_MISSING_KEYS,
    CARRY_PLANS,
    CARRY_APPS,
    CARRY_APP_SECRETS,
    CARRY_LOGINS,
    CARRY_ACCOUNTS,
    CARRY_TOKENS,
    CARRY_QUOTAS,
    CARRY_KINDS,
};

struct carry_result {
    int64_t version;             /* schema of the replaced database */
    bool is_readable;            /* there is something to carry over */
    bool is_complete;            /* false: something revoked since the backup may be valid again, */
    char why[512];               /* for this reason */
    int64_t counts[CARRY_KINDS]; /* rows of the new database that were changed */
};

/* "keys revoked", "plans ended", ...: for the operator. */
const char *carry_name(enum carry_kind kind);

/* Reads the database file `path` for carry_apply(), outside of a transaction. What is wrong with that file is
 * no error: `result` says so. Rules that take something for ended because it is absent are applied only if
 * the file is complete and descends from the backup. */
MUST_USE enum err carry_read(struct db *db, const char *path, struct carry_result *result);

/* Applies the table above in the open transaction, after a carry_read() that set is_readable. */
MUST_USE enum err carry_apply(struct db *db, struct carry_result *result);

/* Nothing was carried over, because of `err`. */
void carry_fail(struct carry_result *result, enum err err);

/* store_id of the backup becomes an ancestor of the new database. Call in the transaction, before the new id.
 */
MUST_USE enum err carry_note_ancestor(struct db *db);

#endif
