/* A restore brings back the state at the time of the backup. Without this module, everything that was revoked
 * since the backup would be valid again. So a restore carries over the following data from the database that
 * it replaces.
 *
 *   carried over                         what would happen otherwise
 *   -----------------------------------  ----------------------------------------------------------
 *   revoked keys, even if the backup     A leaked key works again. For a key that the backup lacks,
 *   does not have them                   `api_key_revoked` becomes `invalid_api_key`.
 *   ended plans                          The author has access again.
 *   removed apps                         A removed app can be connected.
 *   replaced app secrets                 A leaked secret works again.
 *   login names and passwords            An old password or login name opens an account.
 *   disconnected platform accounts       We read data to which the author has ended our access.
 *   newer tokens and account states      A used refresh token is sent; the platform ends the grant.
 *   resealed tokens                      Their key is not in the key file, so the server does not start.
 *   used platform quotas                 The quotas are used twice.
 *   webhook URLs and secrets of apps     A leaked secret signs again, or a former receiver gets events.
 *   deleted webhook endpoints            A former receiver gets events.
 *   newer webhook secrets, states and    A leaked secret signs again, a paused endpoint gets events, and
 *   positions                            events are delivered a second time.
 *   the newest entries of the audit log  Nobody could tell who revoked a key, or when.
 *   the newest event id                  Event ids are issued twice.
 *   the clock floor for expiry           Expired links and codes are valid if the clock is set back.
 *   erased authors (erased again)        The data of an erased author is back.
 *
 * Removed from the restored database: sessions, devices, invitations, unused authorization codes, unfinished
 * account connections, requests to send an event to a webhook, and the leases of the refresh, of scheduled
 * backups and of webhooks. Each may have been ended or used since the backup.
 *
 * Not carried over, because losing these data makes nothing valid again that was revoked: new authors, live
 * keys, new apps, active plans, times of last use, readings, new webhook endpoints, and the records of
 * webhook attempts, refresh runs, spool files and scheduled backups. To restore the readings, feed the spool
 * files of that time again.
 *
 * Rows are matched by values that are unique across databases (UUIDs, hashes, client ids), never by row ids.
 * Some rules treat a row that is missing from the replaced database as revoked, for example a disconnected
 * account. Of accounts and webhook endpoints, only a row whose id the replaced database has already issued
 * counts as missing. These rules apply only if the replaced database could be read completely and descends
 * from the backup: it has the backup's store_id, or lists it among its ancestors. */
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
    CARRY_APP_WEBHOOKS,
    CARRY_WEBHOOKS,
    CARRY_WEBHOOK_STATES,
    CARRY_AUDIT,
    CARRY_ERASED,
    CARRY_KINDS,
};

struct carry_result {
    int64_t version;             /* schema version of the replaced database */
    bool is_readable;            /* the replaced database could be read */
    bool is_complete;            /* false: something revoked since the backup may be valid again */
    char why[512];               /* the reason if !is_complete */
    int64_t counts[CARRY_KINDS]; /* number of changed rows of the new database, indexed by enum carry_kind */
};

/* Returns the kind as words for the operator, such as "keys revoked", or "key revoked" if `count` is 1.
 * Static. */
const char *carry_kind_name(enum carry_kind kind, int64_t count);
/* Returns the kind as the name of a JSON member, such as "keys_revoked". Static. */
const char *carry_kind_member(enum carry_kind kind);

/* Reads the database file `path` for carry_apply(). Call outside of a transaction. A defect of that file is
 * not an error: `result` describes it. Rules that treat a missing row as revoked apply only if the file
 * could be read completely and descends from the backup. */
MUST_USE enum err carry_read_replaced(struct db *db, const char *path, struct carry_result *result);

/* The next two functions carry over the data of the table above, in the open transaction. Call them after
 * carry_read_replaced(), and only if it has set is_readable. */

/* Carries over the tombstones of erased authors (erase.h). */
MUST_USE enum err carry_apply_tombstones(struct db *db);

/* Carries over all other data. Erase the authors that have a tombstone first: another author may have taken
 * over the sign-in name of an erased one. */
MUST_USE enum err carry_apply(struct db *db, struct carry_result *result);

/* Sets `result` to say that nothing was carried over because of the error `err`. */
void carry_set_failure(struct carry_result *result, enum err err);

/* Records the backup's store_id as an ancestor of the new database, and the replaced database's store_id, if
 * that database could be read completely and descends from the backup. `result` is the result of
 * carry_apply(), or NULL if nothing was carried over. Call in the transaction that sets the new id, before it
 * is set. */
MUST_USE enum err carry_record_ancestors(struct db *db, const struct carry_result *result, int64_t now_ms);

#endif
