/* Applies the migrations of schema/pg. */
#include "store/server_upgrade.h"

#include "pg/pg_link.h"
#include "store/pg/pg_migrations.h"
#include "store/pg/pg_schema.h"

#include <stdio.h>

enum { LOCK_WAIT_MS = 600000, MIGRATION_MS = 0 /* no limit */, MIGRATION_BYTES_MAX = 1 << 20 };

/* Every statement reads few rows through an index. These settings make the planner choose such a plan even if
 * statistics are old or missing. They belong to the role, because SET would cost a round trip in each
 * session. */
#define MISSING_ROLE_SETTINGS                                                                                \
    "SELECT format('ALTER ROLE %I IN DATABASE %I SET %s = %s;', current_user, current_database(), name, "    \
    "value) AS statement FROM (VALUES ('plan_cache_mode', 'force_generic_plan'), "                           \
    "('enable_bitmapscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'), "                \
    "('jit', 'off'), ('random_page_cost', '1.1')) AS wanted (name, value) "                                  \
    "WHERE current_setting(name) <> value"
#define SQL_READ_ROLE_SETTINGS                                                                               \
    "SELECT coalesce(string_agg(statement, E'\\n'), '') FROM (" MISSING_ROLE_SETTINGS ") AS missing"
#define SQL_SET_ROLE                                                                                         \
    "DO $viewtally$ DECLARE missing record; BEGIN "                                                          \
    "FOR missing IN " MISSING_ROLE_SETTINGS " LOOP EXECUTE missing.statement; END LOOP; END $viewtally$"
#define SQL_SET_VERSION                                                                                      \
    "INSERT INTO meta (key, value) VALUES ('schema', $1::bigint), ('compatible_since', $2::bigint) "         \
    "ON CONFLICT (key) DO UPDATE SET value = excluded.value"

static enum err run_sql(struct pg_session *s, const char *sql, int64_t deadline_ms, struct error *error)
{
    struct pg_params none;
    pg_params_init(&none);
    pg_session_add(s, "", sql, &none);
    enum err err = pg_session_run(s, deadline_ms);
    if (!err)
        return OK;
    return error_set(error, err, "PostgreSQL: %s", pg_session_is_open(s) ? s->error.text : s->reason);
}

/* ---- planning the upgrade ---- */

static enum err read_role_settings(struct pg_session *s, struct server_upgrade_result *result,
                                   struct error *error)
{
    enum err err = run_sql(s, SQL_READ_ROLE_SETTINGS, PG_ANSWER_MS, error);
    if (err)
        return err;
    struct pg_row row = {.result = s->result};
    const struct str text = pg_row_bytes(&row, 0);
    (void)snprintf(result->role_settings, sizeof result->role_settings, "%.*s", (int)text.len,
                   text.p ? text.p : "");
    return OK;
}

static enum err plan(struct pg_session *s, struct server_upgrade_result *result, struct error *error)
{
    struct pg_schema schema;
    enum err err = pg_schema_read(s, &schema, error);
    if (err)
        return err;
    if (pg_schema_is_too_new(&schema))
        return pg_schema_set_newer(&schema, error);
    (void)snprintf(result->database, sizeof result->database, "%s", schema.database);
    (void)snprintf(result->role, sizeof result->role, "%s", schema.role);
    result->version = schema.version;
    result->target = pg_migration_count;
    result->is_newer = schema.version > pg_migration_count;
    result->pending = result->is_newer ? 0 : pg_migration_count - (int)schema.version;
    result->is_volatile = !schema.is_synchronous;
    if (result->pending && !schema.may_create)
        return error_set(
            error, ERR_READONLY,
            "database %s: the role %s may not create tables; run GRANT CREATE ON SCHEMA %s TO %s",
            schema.database, schema.role, schema.schema, schema.role);
    return read_role_settings(s, result, error);
}

/* ---- applying migrations and role settings ---- */

/* Returns the version of the newest migration that is not additive, among `m` and the migrations before
 * it. */
static int compatible_since(const struct pg_migration *m)
{
    while (m->is_additive)
        m--;
    return m->version;
}

static enum err set_version(struct pg_session *s, const struct pg_migration *m, struct error *error)
{
    struct pg_params params;
    pg_params_init(&params);
    pg_params_add_i64(&params, m->version);
    pg_params_add_i64(&params, compatible_since(m));
    pg_session_add(s, "", SQL_SET_VERSION, &params);
    pg_params_fini(&params);
    enum err err = pg_session_run(s, PG_ANSWER_MS);
    if (!err)
        return OK;
    return error_set(error, err, "PostgreSQL: %s", pg_session_is_open(s) ? s->error.text : s->reason);
}

/* Runs the migration as one DO block, because it consists of several statements and the protocol prepares one
 * at a time. */
static enum err apply(struct pg_session *s, const struct pg_migration *m, struct error *error)
{
    struct buf block;
    struct error why;
    buf_init(&block, MIGRATION_BYTES_MAX);
    buf_append(&block, STR("DO $viewtally$ BEGIN\n"));
    buf_append(&block, str_from_cstr(m->sql));
    buf_append(&block, STR("\nEND $viewtally$"));
    buf_append_char(&block, '\0');
    enum err err = run_sql(s, block.p, MIGRATION_MS, &why);
    buf_fini(&block);
    if (err)
        return error_set(error, err, "migration %d %s failed (nothing was changed): %s", m->version, m->name,
                         why.text);
    return set_version(s, m, error);
}

/* Acquires the lock of write transactions, so that no program writes while the tables change. */
static enum err migrate(struct pg_session *s, struct server_upgrade_result *result, struct error *error)
{
    enum err err = run_sql(s, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", PG_ANSWER_MS, error);
    if (!err)
        err = run_sql(s, PG_SQL_LOCK, LOCK_WAIT_MS, error);
    if (!err)
        err = plan(s, result, error);
    for (int64_t i = result->version; !err && i < pg_migration_count; i++)
        err = apply(s, &pg_migrations[i], error);
    if (!err)
        err = run_sql(s, "COMMIT", MIGRATION_MS, error);
    return err;
}

/* On a managed server, a role might not be allowed to change its own settings, so a failure is not an
 * error. */
static void set_role(struct pg_session *s, struct server_upgrade_result *result)
{
    struct error ignored;
    if (*result->role_settings && run_sql(s, SQL_SET_ROLE, PG_ANSWER_MS, &ignored) == OK)
        result->role_settings[0] = '\0';
}

static enum err upgrade_session(struct pg_session *s, bool only_checks, struct server_upgrade_result *result,
                                struct error *error)
{
    enum err err = pg_session_open(s);
    if (err)
        return error_set(error, err, "PostgreSQL: %s%s", s->reason, pg_failure_fix(s->failure, s->reason));
    if (only_checks)
        return plan(s, result, error);
    err = migrate(s, result, error);
    if (!err)
        set_role(s, result);
    return err;
}

static enum err upgrade(const char *url, const char *password_file, bool only_checks,
                        struct server_upgrade_result *result, struct error *error)
{
    struct pg_session session;
    *result = (struct server_upgrade_result){0};
    enum err err = pg_session_init(&session, url, password_file, error);
    if (err)
        return err;
    err = upgrade_session(&session, only_checks, result, error);
    pg_session_fini(&session);
    return err;
}

enum err server_upgrade_check(const char *url, const char *password_file,
                              struct server_upgrade_result *result, struct error *error)
{
    return upgrade(url, password_file, true, result, error);
}

enum err server_upgrade(const char *url, const char *password_file, struct server_upgrade_result *result,
                        struct error *error)
{
    return upgrade(url, password_file, false, result, error);
}
