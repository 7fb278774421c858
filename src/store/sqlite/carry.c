/* Copies the needed tables of the replaced database into temporary tables (r_...), then applies the rules to
 * the copies. The rules do not read the replaced database itself: if a statement read a damaged page of an
 * attached database, SQLite would abort the whole transaction. */
#include "store/carry.h"

#include "base/plural.h"
#include "store/sqlite/db.h"
#include "store/sqlite/migrations.h"
#include "store/sqlite/sqlite_queries.h"

#include <stdio.h>
#include <string.h>

#define SAME_AUTHOR "temp.r_authors AS ra JOIN main.authors AS a ON a.uuid = ra.uuid "

/* True if the backup was made from the replaced database, which is therefore newer than the backup. Only if
 * it is false, times decide which of the two is newer: the clock may have been set back. */
#define SAME_DATABASE                                                                                        \
    "EXISTS (SELECT 1 FROM temp.r_meta AS i JOIN main.meta AS m ON m.key = i.key "                           \
    "WHERE i.key = 'store_id' AND i.value = m.value) "

/* The key rotations of the replaced database and of the backup. The database with fewer rotations contains
 * tokens and secrets of webhooks that are sealed with a removed key. */
#define REPLACED_ROTATIONS "coalesce((SELECT value FROM temp.r_meta WHERE key = 'key_rotations'), 0)"
#define BACKUP_ROTATIONS   "coalesce((SELECT value FROM main.meta WHERE key = 'key_rotations'), 0)"

struct carry_source {
    int since; /* the schema version that introduced the table */
    const char *create, *copy;
};

static const struct carry_source sources[] = {
    {1, "CREATE TEMP TABLE r_authors (id INTEGER PRIMARY KEY, uuid UNIQUE, plan_active)",
     "INSERT INTO temp.r_authors SELECT id, uuid, plan_active FROM replaced.authors"},
    {1,
     "CREATE TEMP TABLE r_api_keys (uuid, author_id, hash UNIQUE, name, suffix, created_at, last_used_at, "
     "revoked_at)",
     "INSERT INTO temp.r_api_keys SELECT uuid, author_id, hash, name, suffix, created_at, last_used_at, "
     "revoked_at FROM replaced.api_keys WHERE revoked_at IS NOT NULL"},
    {4, "CREATE TEMP TABLE r_apps (client_id UNIQUE, secret_hash, removed_at)",
     "INSERT INTO temp.r_apps SELECT client_id, secret_hash, removed_at FROM replaced.apps"},
    {3, "CREATE TEMP TABLE r_logins (author_id INTEGER PRIMARY KEY, name, password, password_set_at)",
     "INSERT INTO temp.r_logins SELECT author_id, name, password, password_set_at FROM replaced.logins"},
    {5,
     "CREATE TEMP TABLE r_accounts (author_id, api, account_id, access_sealed, refresh_sealed, "
     "access_expires_at, refresh_expires_at, obtained_at, scopes, state, version, refresh_sent_at, failures, "
     "last_error, last_error_at, last_ok_at, UNIQUE (api, account_id))",
     "INSERT INTO temp.r_accounts SELECT author_id, api, account_id, access_sealed, refresh_sealed, "
     "access_expires_at, refresh_expires_at, obtained_at, scopes, state, version, refresh_sent_at, failures, "
     "last_error, last_error_at, last_ok_at FROM replaced.platform_credentials"},
    {5, "CREATE TEMP TABLE r_last_account (seq)",
     "INSERT INTO temp.r_last_account SELECT seq FROM replaced.sqlite_sequence "
     "WHERE name = 'platform_credentials'"},
    {5, "CREATE TEMP TABLE r_limits (api, name, value, until)",
     "INSERT INTO temp.r_limits SELECT api, name, value, until FROM replaced.platform_limits"},
    {14, "CREATE TEMP TABLE r_app_webhooks (client_id UNIQUE, url, secret, old_secret, old_secret_until)",
     "INSERT INTO temp.r_app_webhooks SELECT client_id, webhook_url, webhook_secret, webhook_old_secret, "
     "webhook_old_secret_until FROM replaced.apps"},
    {14,
     "CREATE TEMP TABLE r_webhooks (uuid UNIQUE, author_id, url, secret, old_secret, old_secret_until, "
     "state, state_at, "
     "position, failures, next_attempt_at, attempts)",
     "INSERT INTO temp.r_webhooks SELECT uuid, author_id, url, secret, old_secret, old_secret_until, state, "
     "state_at, "
     "position, failures, next_attempt_at, attempts FROM replaced.webhook_endpoints"},
    {14, "CREATE TEMP TABLE r_last_webhook (seq)",
     "INSERT INTO temp.r_last_webhook SELECT seq FROM replaced.sqlite_sequence WHERE name = "
     "'webhook_endpoints'"},
    {15,
     "CREATE TEMP TABLE r_audit (author_id, id, at, action, actor, actor_name, address, subject, details)",
     "INSERT INTO temp.r_audit SELECT author_id, id, at, action, actor, actor_name, address, subject, "
     "details "
     "FROM replaced.audit"},
    {16, "CREATE TEMP TABLE r_erased (hash UNIQUE, erased_at)",
     "INSERT INTO temp.r_erased SELECT hash, erased_at FROM replaced.erased_authors"},
    {1, "CREATE TEMP TABLE r_meta (key, value)",
     "INSERT INTO temp.r_meta SELECT key, value FROM replaced.meta"},
};

#define NOT_COUNTED CARRY_KINDS

struct carry_rule {
    int since;
    /* The rule treats a row that the replaced database lacks as revoked. It applies only if that database
     * could be read completely and descends from the backup (carry.h). */
    bool by_absence;
    enum carry_kind kind; /* the count to which the rule adds the rows that it changes, or NOT_COUNTED */
    const char *sql;
};

/* Endpoints that the author has deleted since the backup. */
#define DELETED_WEBHOOKS                                                                                     \
    "(SELECT e.id FROM " SAME_AUTHOR "JOIN main.webhook_endpoints AS e ON e.author_id = a.id "               \
    "WHERE e.id <= (SELECT seq FROM temp.r_last_webhook) AND NOT EXISTS (SELECT 1 FROM temp.r_webhooks AS "  \
    "r WHERE r.uuid = e.uuid))"

static const struct carry_rule rules[] = {
    {1, false, CARRY_KEYS,
     "UPDATE main.api_keys AS k SET revoked_at = r.revoked_at FROM temp.r_api_keys AS r "
     "WHERE r.hash = k.hash AND r.revoked_at IS NOT NULL AND k.revoked_at IS NULL"},
    {1, false, CARRY_MISSING_KEYS,
     "INSERT INTO main.api_keys (uuid, author_id, hash, name, suffix, created_at, last_used_at, revoked_at) "
     "SELECT r.uuid, a.id, r.hash, r.name, r.suffix, r.created_at, r.last_used_at, r.revoked_at "
     "FROM " SAME_AUTHOR "JOIN temp.r_api_keys AS r ON r.author_id = ra.id WHERE r.revoked_at IS NOT NULL "
     "AND NOT EXISTS (SELECT 1 FROM main.api_keys AS k WHERE k.hash = r.hash OR k.uuid = r.uuid)"},
    {1, false, CARRY_PLANS,
     "UPDATE main.authors AS a SET plan_active = 0, rev = a.rev + 1 FROM temp.r_authors AS ra "
     "WHERE ra.uuid = a.uuid AND ra.plan_active = 0 AND a.plan_active = 1"},
    {4, false, CARRY_APPS,
     "UPDATE main.apps AS p SET removed_at = r.removed_at FROM temp.r_apps AS r "
     "WHERE r.client_id = p.client_id AND r.removed_at IS NOT NULL AND p.removed_at IS NULL"},
    {4, false, CARRY_APP_SECRETS,
     "UPDATE main.apps AS p SET secret_hash = r.secret_hash FROM temp.r_apps AS r "
     "WHERE r.client_id = p.client_id AND r.secret_hash IS NOT NULL AND r.secret_hash IS NOT p.secret_hash"},
    /* Three rules replace changed logins. The first one updates the copy of the replaced database: where the
     * backup has a newer password (it may be newer than the replaced database), it overwrites the password in
     * the copy, so that the next two rules keep it. The second one deletes all changed logins, and the third
     * one inserts the logins of the copy. One rule alone could not do the last two, because two authors may
     * have swapped names. */
    {3, true, NOT_COUNTED,
     "UPDATE temp.r_logins AS r SET password = l.password, password_set_at = l.password_set_at "
     "FROM " SAME_AUTHOR
     "JOIN main.logins AS l ON l.author_id = a.id WHERE r.author_id = ra.id AND r.password IS NOT NULL "
     "AND l.password_set_at > r.password_set_at AND NOT " SAME_DATABASE},
    {3, true, NOT_COUNTED,
     "DELETE FROM main.logins AS l WHERE EXISTS (SELECT 1 FROM " SAME_AUTHOR
     "WHERE a.id = l.author_id) AND NOT EXISTS (SELECT 1 FROM " SAME_AUTHOR
     "JOIN temp.r_logins AS r ON r.author_id = ra.id WHERE a.id = l.author_id AND r.name = l.name "
     "AND r.password IS l.password)"},
    {3, true, CARRY_LOGINS,
     "INSERT OR IGNORE INTO main.logins (author_id, name, password, password_set_at) "
     "SELECT a.id, r.name, r.password, r.password_set_at FROM " SAME_AUTHOR
     "JOIN temp.r_logins AS r ON r.author_id = ra.id "
     "WHERE NOT EXISTS (SELECT 1 FROM main.logins AS l WHERE l.author_id = a.id)"},
    {5, true, CARRY_ACCOUNTS,
     "DELETE FROM main.platform_credentials AS c WHERE c.id <= (SELECT seq FROM temp.r_last_account) AND NOT "
     "EXISTS (SELECT 1 FROM " SAME_AUTHOR "JOIN temp.r_accounts AS r ON r.author_id = ra.id "
     "WHERE a.id = c.author_id AND r.api = c.api AND r.account_id = c.account_id)"},
    /* If the keys were rotated since the time of the replaced database, use the tokens as the backup has
     * sealed them. Newer tokens cannot be replaced: an old key file may still decrypt them. */
    {5, false, NOT_COUNTED,
     "UPDATE temp.r_accounts AS r SET access_sealed = c.access_sealed, refresh_sealed = c.refresh_sealed "
     "FROM main.platform_credentials AS c WHERE c.api = r.api AND c.account_id = r.account_id "
     "AND (c.version, c.obtained_at) = (r.version, r.obtained_at) "
     "AND " REPLACED_ROTATIONS " < " BACKUP_ROTATIONS},
    /* Applies only to a row with the same author id, because sealed tokens cannot be decrypted in any other
     * row (vault/seal.h). Also compares obtained_at: if an account was disconnected and connected again, its
     * version has begun again at 1, so the version alone does not show which tokens are newer. A key rotation
     * seals the same tokens again, and removes the key that decrypts those of the backup. */
    {5, false, CARRY_TOKENS,
     "UPDATE main.platform_credentials AS c SET access_sealed = r.access_sealed, "
     "refresh_sealed = r.refresh_sealed, access_expires_at = r.access_expires_at, "
     "refresh_expires_at = r.refresh_expires_at, obtained_at = r.obtained_at, scopes = r.scopes, "
     "state = r.state, version = r.version, refresh_sent_at = r.refresh_sent_at, failures = r.failures, "
     "last_error = r.last_error, last_error_at = r.last_error_at, last_ok_at = r.last_ok_at "
     "FROM temp.r_accounts AS r, " SAME_AUTHOR "WHERE a.id = c.author_id AND ra.id = a.id "
     "AND r.author_id = ra.id AND r.api = c.api AND r.account_id = c.account_id "
     "AND (r.version >= c.version OR r.obtained_at > c.obtained_at) "
     "AND (r.obtained_at >= c.obtained_at OR " SAME_DATABASE ") "
     "AND ((r.version, r.obtained_at, r.state, r.refresh_sent_at IS NULL) <> "
     "(c.version, c.obtained_at, c.state, c.refresh_sent_at IS NULL) "
     "OR (r.access_sealed <> c.access_sealed AND " REPLACED_ROTATIONS " > " BACKUP_ROTATIONS "))"},
    {5, false, CARRY_QUOTAS,
     "INSERT INTO main.platform_limits (api, name, value, until) "
     "SELECT r.api, r.name, r.value, r.until FROM temp.r_limits AS r WHERE NOT EXISTS "
     "(SELECT 1 FROM main.platform_limits AS l WHERE l.api = r.api AND l.name = r.name AND l.value = r.value "
     "AND l.until IS r.until) ON CONFLICT (api, name) DO UPDATE SET value = excluded.value, until = "
     "excluded.until"},
    {14, false, CARRY_APP_WEBHOOKS,
     "UPDATE main.apps AS p SET webhook_url = r.url, webhook_secret = r.secret, webhook_old_secret = "
     "r.old_secret, "
     "webhook_old_secret_until = r.old_secret_until FROM temp.r_app_webhooks AS r WHERE r.client_id = "
     "p.client_id AND " REPLACED_ROTATIONS " >= " BACKUP_ROTATIONS " "
     "AND (r.url, r.secret, r.old_secret) IS NOT (p.webhook_url, p.webhook_secret, p.webhook_old_secret)"},
    {14, true, NOT_COUNTED, "DELETE FROM main.webhook_attempts WHERE endpoint_id IN " DELETED_WEBHOOKS},
    {14, true, CARRY_WEBHOOKS, "DELETE FROM main.webhook_endpoints WHERE id IN " DELETED_WEBHOOKS},
    /* If the keys were rotated since the time of the replaced database, use the secrets of webhooks as the
     * backup has sealed them. */
    {14, false, NOT_COUNTED,
     "UPDATE temp.r_webhooks AS r SET secret = e.secret, old_secret = e.old_secret, "
     "old_secret_until = e.old_secret_until FROM main.webhook_endpoints AS e "
     "WHERE e.uuid = r.uuid AND " REPLACED_ROTATIONS " < " BACKUP_ROTATIONS},
    /* Like tokens, sealed secrets can only be decrypted in a row with the same author id. The replaced
     * database may be older than the backup; the next attempt must not get the number of one that the backup
     * has. */
    {14, false, CARRY_WEBHOOK_STATES,
     "UPDATE main.webhook_endpoints AS e SET secret = r.secret, old_secret = r.old_secret, "
     "old_secret_until = r.old_secret_until, state = r.state, state_at = r.state_at, "
     "position = CASE WHEN r.attempts < e.attempts THEN e.position ELSE r.position END, "
     "failures = r.failures, next_attempt_at = r.next_attempt_at, attempts = max(e.attempts, r.attempts) "
     "FROM temp.r_webhooks AS r, " SAME_AUTHOR
     "WHERE a.id = e.author_id AND ra.id = a.id AND r.author_id = ra.id "
     "AND r.uuid = e.uuid AND ((r.secret, r.old_secret, r.state) IS NOT (e.secret, e.old_secret, e.state) "
     "OR r.attempts > e.attempts OR (r.attempts = e.attempts AND r.position <> e.position))"},
    {15, false, CARRY_AUDIT,
     "INSERT INTO main.audit (author_id, id, at, action, actor, actor_name, address, subject, details) "
     "SELECT a.id, row_number() OVER (PARTITION BY a.id ORDER BY r.id) + "
     "ifnull((SELECT max(m.id) FROM main.audit AS m WHERE m.author_id = a.id), 0), r.at, r.action, r.actor, "
     "r.actor_name, r.address, r.subject, r.details FROM " SAME_AUTHOR
     "JOIN temp.r_audit AS r ON r.author_id = ra.id WHERE NOT EXISTS (SELECT 1 FROM main.audit AS m "
     "WHERE m.author_id = a.id AND m.id = r.id AND m.at = r.at AND m.action = r.action "
     "AND m.subject IS r.subject)"},
    {1, false, NOT_COUNTED,
     "INSERT INTO main.meta (key, value) SELECT r.key, r.value FROM temp.r_meta AS r "
     "WHERE r.key IN ('last_event_id', 'expiry_floor', 'key_rotations') AND typeof(r.value) = 'integer' "
     "ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)"},
    {1, false, NOT_COUNTED,
     "INSERT INTO main.meta (key, value) SELECT r.key, r.value FROM temp.r_meta AS r "
     "WHERE r.key IN ('expiry_ahead_wall', 'expiry_ahead_for') AND typeof(r.value) = 'integer'"},
    {1, true, NOT_COUNTED,
     "INSERT OR IGNORE INTO main.meta (key, value) SELECT r.key, r.value FROM temp.r_meta AS r "
     "WHERE r.key LIKE 'ancestor:%'"},
};

#define SQL_IS_DESCENDANT                                                                                    \
    "SELECT count(*) FROM temp.r_meta AS r, main.meta AS m WHERE m.key = 'store_id' AND "                    \
    "((r.key = 'store_id' AND r.value = m.value) OR r.key = 'ancestor:' || hex(m.value))"

static const struct {
    const char *key, *one, *many;
} kind_names[] = {
    [CARRY_KEYS] = {"keys_revoked", "key revoked", "keys revoked"},
    [CARRY_MISSING_KEYS] = {"missing_keys", "revoked key that is missing from the backup",
                            "revoked keys that are missing from the backup"},
    [CARRY_PLANS] = {"plans_ended", "plan ended", "plans ended"},
    [CARRY_APPS] = {"apps_removed", "app removed", "apps removed"},
    [CARRY_APP_SECRETS] = {"app_secrets_rotated", "app secret rotated", "app secrets rotated"},
    [CARRY_LOGINS] = {"logins_changed", "sign-in name or password changed",
                      "sign-in names or passwords changed"},
    [CARRY_ACCOUNTS] = {"accounts_disconnected", "platform account disconnected",
                        "platform accounts disconnected"},
    [CARRY_TOKENS] = {"account_states", "platform account with newer tokens or state",
                      "platform accounts with newer tokens or state"},
    [CARRY_QUOTAS] = {"platform_limits", "used quota or other limit of a platform",
                      "used quotas and other limits of platforms"},
    [CARRY_APP_WEBHOOKS] = {"app_webhooks", "app with a newer webhook", "apps with a newer webhook"},
    [CARRY_WEBHOOKS] = {"webhooks_deleted", "webhook deleted", "webhooks deleted"},
    [CARRY_WEBHOOK_STATES] = {"webhook_states", "webhook with a changed secret, state or position",
                              "webhooks with a changed secret, state or position"},
    [CARRY_AUDIT] = {"audit_entries", "entry of the audit log", "entries of the audit log"},
    [CARRY_ERASED] = {"authors_erased", "author erased again", "authors erased again"},
};

const char *carry_kind_name(enum carry_kind kind, int64_t count)
{
    return plural(count, kind_names[kind].one, kind_names[kind].many);
}

const char *carry_kind_member(enum carry_kind kind)
{
    return kind_names[kind].key;
}

static void mark_incomplete(struct carry_result *result, const char *why, enum err err)
{
    result->is_complete = false;
    if (!result->why[0])
        (void)snprintf(result->why, sizeof result->why, "%s%s%s", why, err ? ": " : "",
                       err ? err_name(err) : "");
}

/* Returns false if the replaced database cannot be read at all or is not a database of viewtally. If it is
 * damaged, returns true and marks the result as incomplete, so that its readable part is carried over. */
static bool can_be_read(struct db *db, struct carry_result *result)
{
    int64_t application_id = 0;
    bool is_sound = false;
    enum err err = db_exec_i64(db, SQL_REPLACED_APPLICATION_ID, &application_id);
    if (err || application_id != SCHEMA_APPLICATION_ID) {
        mark_incomplete(result, "it is damaged, or not a database of viewtally", err);
        return false;
    }
    if (db_exec_text(db, SQL_REPLACED_INTEGRITY, "ok", &is_sound) || !is_sound)
        mark_incomplete(result, "it is damaged", OK);
    return true;
}

static enum err copy_all(struct db *db, struct carry_result *result)
{
    enum err err = db_exec_i64(db, SQL_REPLACED_VERSION, &result->version);
    if (err || result->version > schema_migration_count)
        mark_incomplete(result, err ? "it cannot be read" : "a newer version of viewtally has written it",
                        err);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        err = db_exec(db, sources[i].create);
        if (err)
            return err;
        err = result->version >= sources[i].since ? db_exec(db, sources[i].copy) : OK;
        if (err)
            mark_incomplete(result, "it cannot be read completely", err);
    }
    return OK;
}

enum err carry_read_replaced(struct db *db, const char *path, struct carry_result *result)
{
    *result = (struct carry_result){.is_complete = true};
    /* Closing the connection must not delete the log of the replaced database, because SQLite may have been
     * unable to read this log. store_renew() empties the log of the draft. */
    db_keep_log(db);
    enum err err = db_attach(db, path, "replaced");
    if (err) {
        mark_incomplete(result, "it cannot be opened", err);
        return OK;
    }
    result->is_readable = can_be_read(db, result);
    err = result->is_readable ? copy_all(db, result) : OK;
    enum err detached = db_exec(db, SQL_DETACH_REPLACED);
    return err ? err : detached;
}

enum err carry_apply_tombstones(struct db *db)
{
    return db_exec(db, SQL_CARRY_TOMBSTONES);
}

enum err carry_apply(struct db *db, struct carry_result *result)
{
    int64_t descends = 0;
    enum err err = db_exec_i64(db, SQL_IS_DESCENDANT, &descends);
    if (err)
        return err;
    if (!descends)
        mark_incomplete(result, "it does not descend from this backup", OK);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && !err; i++) {
        int64_t changes = 0;
        if (result->version < rules[i].since || (rules[i].by_absence && !result->is_complete))
            continue;
        err = db_exec_changes(db, rules[i].sql, &changes);
        if (rules[i].kind != NOT_COUNTED)
            result->counts[rules[i].kind] += changes;
    }
    return err;
}

void carry_set_failure(struct carry_result *result, enum err err)
{
    memset(result->counts, 0, sizeof result->counts);
    result->why[0] = '\0';
    mark_incomplete(result, "some of its values violate constraints of the new database", err);
}

enum err carry_record_ancestors(struct db *db, const struct carry_result *result, int64_t now_ms)
{
    const bool descends = result && result->is_readable && result->is_complete;
    const enum err err = db_exec_with_i64(db, SQL_NOTE_ANCESTOR, now_ms);
    return err || !descends ? err : db_exec_with_i64(db, SQL_NOTE_REPLACED_ANCESTOR, now_ms);
}
