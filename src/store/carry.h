/* What a restore carries over from the database that it replaces. A backup brings back an old state. Without
 * this module, everything that was revoked since the backup would be valid again.
 *
 *   carried over                         what would happen otherwise
 *   -----------------------------------  ----------------------------------------------------------
 *   revoked keys, even if the backup     A leaked key works again. For a key that the backup lacks,
 *   does not have them                   `api_key_revoked` becomes `invalid_api_key`.
 *   ended plans                          The author has access again.
 *   removed apps                         A removed app can be connected.
 *   replaced app secrets                 A leaked secret works again.
 *   login names and passwords            An old password or proxy name opens an account.
 *   disconnected platform accounts       We read data to which the author has ended our access.
 *   newer tokens and account states      A used refresh token is sent; the platform ends the grant.
 *   used platform quotas                 The quotas are used twice.
 *   the newest event id                  Event ids are issued twice.
 *   the clock floor for expiry           Expired links and codes are valid if the clock is set back.
 *
 * Dropped from the backup: sessions, devices, invitations, unused authorization codes, unfinished account
 * connections, and the refresh lease. Each may have been ended or used since the backup.
 *
 * Not carried over, because the loss makes nothing valid that was revoked: new authors, live keys, new apps,
 * active plans, times of last use, readings, and the records of refresh runs and spool files. To restore the
 * readings, feed the spool files of that time again.
 *
 * Rows are matched by values that are unique across databases (UUIDs, hashes, client ids), never by row ids.
 * A disconnected account is detected by its absence. So this rule applies only if the replaced database
 * descends from the backup: it has the backup's store_id, or lists it among its ancestors. */
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
    int64_t version;             /* schema version of the replaced database */
    bool is_readable;            /* the replaced database could be read */
    bool is_complete;            /* false: something revoked since the backup may be valid again */
    char why[512];               /* the reason if !is_complete */
    int64_t counts[CARRY_KINDS]; /* by enum carry_kind: changed rows of the new database */
};

/* Returns the kind as words for the operator, such as "keys revoked" or "plans ended". Static. */
const char *carry_name(enum carry_kind kind);

/* Reads the database file `path` for carry_apply(). Call outside of a transaction. A defect of that file is
 * not an error: `result` describes it. Rules that treat a missing row as revoked apply only if the file
 * could be read completely and descends from the backup. */
MUST_USE enum err carry_read(struct db *db, const char *path, struct carry_result *result);

/* Applies the table above in the open transaction. Call after carry_read() if it has set is_readable. */
MUST_USE enum err carry_apply(struct db *db, struct carry_result *result);

/* Sets `result` to say that nothing was carried over, because of `err`. */
void carry_fail(struct carry_result *result, enum err err);

/* Records the backup's store_id as an ancestor of the new database. Call in the transaction that sets the new
 * id, before it is set. */
MUST_USE enum err carry_note_ancestor(struct db *db);

#endif
