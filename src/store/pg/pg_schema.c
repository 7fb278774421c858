/* Reads the catalog and the table meta. */
#include "store/pg/pg_schema.h"

#include "pg/pg_link.h"
#include "store/pg/pg_migrations.h"

#include <stdio.h>

enum { SERVER_VERSION_MIN = 140000 };

/* If no schema of the search_path exists, current_schema() is NULL. */
#define SQL_CATALOG                                                                                          \
    "SELECT current_database()::text, coalesce(quote_ident(current_schema()), ''), "                         \
    "quote_ident(current_user), "                                                                            \
    "(SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "                        \
    "WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT EXISTS "          \
    "(SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid "                   \
    "AND d.deptype = 'e')), "                                                                                \
    "coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), "                                    \
    "current_setting('server_encoding') = 'UTF8', "                                                          \
    "current_setting('synchronous_commit') <> 'off', "                                                       \
    "current_setting('server_version_num')::bigint, "                                                        \
    "(SELECT coalesce(bool_and(has_table_privilege(c.oid, 'INSERT') AND "                                    \
    "has_table_privilege(c.oid, 'UPDATE')), true) FROM pg_class c JOIN pg_namespace n "                      \
    "ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relname = 'barriers')"
#define SQL_VERSION                                                                                          \
    "SELECT coalesce(max(value) FILTER (WHERE key = 'schema'), 0), "                                         \
    "coalesce(max(value) FILTER (WHERE key = 'compatible_since'), 0), "                                      \
    "(SELECT count(id) FROM store) FROM meta"

/* Runs a statement that returns one row. If it fails, sets `error` only if the connection is lost; otherwise
 * the caller interprets session->error. */
static enum err read_row(struct pg_session *session, const char *sql, struct error *error)
{
    struct pg_params none;
    pg_params_init(&none);
    pg_session_add(session, "", sql, &none);
    enum err err = pg_session_run(session, PG_ANSWER_MS);
    if (!pg_session_is_open(session))
        return error_set(error, err, "PostgreSQL: %s", session->reason);
    return err;
}

static void copy_name(struct pg_row *row, int column, char name[PG_NAME_MAX])
{
    const struct str s = pg_row_bytes(row, column);
    (void)snprintf(name, PG_NAME_MAX, "%.*s", (int)s.len, s.p ? s.p : "");
}

static enum err read_catalog(struct pg_session *session, struct pg_schema *out, struct error *error)
{
    enum err err = read_row(session, SQL_CATALOG, error);
    if (err)
        return pg_session_is_open(session) ? error_set(error, err, "PostgreSQL: %s", session->error.text)
                                           : err;
    struct pg_row row = {.result = session->result};
    copy_name(&row, 0, out->database);
    copy_name(&row, 1, out->schema);
    copy_name(&row, 2, out->role);
    out->tables = pg_row_i64(&row, 3);
    out->may_create = pg_row_bool(&row, 4);
    out->is_utf8 = pg_row_bool(&row, 5);
    out->is_synchronous = pg_row_bool(&row, 6);
    out->server_version = pg_row_i64(&row, 7);
    out->may_write = pg_row_bool(&row, 8);
    return row.bad ? error_set(error, ERR_IO, "PostgreSQL: unexpected reply of the server") : OK;
}

static enum err set_foreign(const struct pg_schema *schema, struct error *error)
{
    return error_set(error, ERR_CORRUPT,
                     "database %s: schema %s contains tables of another application; use an empty database, "
                     "or an empty schema (options=-csearch_path%%3DNAME in the URL)",
                     schema->database, schema->schema);
}

static enum err set_no_privileges(const struct pg_schema *schema, const char *missing, struct error *error)
{
    return error_set(error, ERR_READONLY,
                     "database %s: the role %s %s. As the owner of the schema and the tables, run: "
                     "GRANT USAGE ON SCHEMA %s TO %s; "
                     "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s; "
                     "GRANT USAGE ON ALL SEQUENCES IN SCHEMA %s TO %s",
                     schema->database, schema->role, missing, schema->schema, schema->role, schema->schema,
                     schema->role, schema->schema, schema->role);
}

static enum err read_version(struct pg_session *session, struct pg_schema *out, struct error *error)
{
    enum err err = read_row(session, SQL_VERSION, error);
    if (!pg_session_is_open(session))
        return err;
    if (err && strcmp(session->error.sqlstate, "42501") == 0)
        return set_no_privileges(out, "has no privileges on the tables", error);
    /* SQLSTATE class 42: the table does not exist or has different columns, so the database belongs to
     * another application. */
    if (err)
        return strncmp(session->error.sqlstate, "42", 2) == 0
                   ? set_foreign(out, error)
                   : error_set(error, err, "PostgreSQL: %s", session->error.text);
    struct pg_row row = {.result = session->result};
    out->version = pg_row_i64(&row, 0);
    out->compatible_since = pg_row_i64(&row, 1);
    return row.bad || !out->version || pg_row_i64(&row, 2) != 1 ? set_foreign(out, error) : OK;
}

enum err pg_schema_read(struct pg_session *session, struct pg_schema *out, struct error *error)
{
    *out = (struct pg_schema){0};
    enum err err = read_catalog(session, out, error);
    if (err)
        return err;
    if (out->server_version < SERVER_VERSION_MIN)
        return error_set(error, ERR_VERSION, "PostgreSQL %lld is too old; viewtally needs %d or newer",
                         (long long)out->server_version / 10000, SERVER_VERSION_MIN / 10000);
    if (!*out->schema)
        return error_set(error, ERR_INVALID,
                         "database %s: no schema of the search_path exists; create one, or set it with "
                         "options=-csearch_path%%3DNAME in the URL",
                         out->database);
    if (!out->is_utf8)
        return error_set(error, ERR_INVALID,
                         "database %s does not have the encoding UTF8; create it with ENCODING 'UTF8' "
                         "TEMPLATE template0",
                         out->database);
    return out->tables ? read_version(session, out, error) : OK;
}

bool pg_schema_is_too_new(const struct pg_schema *schema)
{
    return schema->version > pg_migration_count &&
           (schema->compatible_since == 0 || schema->compatible_since > pg_migration_count);
}

enum err pg_schema_set_newer(const struct pg_schema *schema, struct error *error)
{
    return error_set(error, ERR_VERSION,
                     "database %s has schema version %lld of a newer release, and this one can use at most "
                     "version %d: install the newer release",
                     schema->database, (long long)schema->version, pg_migration_count);
}

enum err pg_schema_check(const struct pg_schema *schema, struct error *error)
{
    if (pg_schema_is_too_new(schema))
        return pg_schema_set_newer(schema, error);
    if (schema->version == 0)
        return error_set(error, ERR_VERSION, "database %s is empty: run `viewtally migrate`",
                         schema->database);
    if (schema->version < pg_migration_count)
        return error_set(error, ERR_VERSION,
                         "database %s has schema version %lld and this binary needs %d: run "
                         "`viewtally migrate`",
                         schema->database, (long long)schema->version, pg_migration_count);
    return OK;
}

enum err pg_schema_check_writable(const struct pg_schema *schema, struct error *error)
{
    return schema->may_write ? OK
                             : set_no_privileges(schema, "may read the tables, but not change them", error);
}
