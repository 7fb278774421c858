/* The SQL statements are in this file, because queries.h is for the statements that all engines run.
 *
 * A viewtally server updates its rows of `barriers` every two seconds, so a row that is older than
 * BARRIER_STALE belongs to a viewtally server that has ended. The rows of writers (pg_writers.h) do not show
 * that a viewtally server is running, because commands write them, too. */
#include "store/pg/pg_replace.h"

#include "base/plural.h"
#include "store/moved_rows.h"

enum { CLEAR_BYTES_MAX = 4096 };

#define BARRIER_STALE "interval '5 seconds'"
#define SQL_OWNER                                                                                            \
    "SELECT current_user::text, coalesce(bool_and(pg_has_role(relowner, 'USAGE')), false) FROM pg_class "    \
    "JOIN pg_namespace n ON n.oid = relnamespace WHERE n.nspname = current_schema() AND relname = 'authors'"
/* Finds other viewtally sessions by their application_name, which every role can see. As a connection URL may
 * set another application_name, SQL_SERVERS also finds viewtally servers by their barriers. */
#define SQL_OTHER_SESSIONS                                                                                   \
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "  \
    "AND application_name IN ('viewtally', current_setting('application_name'))"
#define SQL_SERVERS                                                                                          \
    "SELECT count(*) FROM barriers WHERE process NOT LIKE " PG_WRITER_PATTERN                                \
    " AND at > now() - " BARRIER_STALE
/* Counts the servers that have made a barrier since the open transaction began: in a transaction, now() is
 * the time at which it began. */
#define SQL_SERVERS_SINCE_BEGIN                                                                              \
    "SELECT count(*) FROM barriers WHERE process NOT LIKE " PG_WRITER_PATTERN " AND at > now()"

static enum err fail(const struct pg_sql *db, enum err err, struct error *error)
{
    return error_set(error, err, "PostgreSQL: %s",
                     pg_session_is_open(&db->session) ? db->session.error.text : db->session.reason);
}

static enum err run(struct pg_sql *db, const char *name, const char *text, int64_t deadline_ms,
                    struct pg_row *row, struct error *error)
{
    struct pg_params none;
    pg_params_init(&none);
    *row = (struct pg_row){.result = NULL};
    const enum err err = pg_sql_read(db, name, text, &none, deadline_ms, &row->result);
    return err ? fail(db, err, error) : OK;
}

static enum err read_count(struct pg_sql *db, const char *name, const char *text, int64_t *count,
                           struct error *error)
{
    struct pg_row row;
    const enum err err = run(db, name, text, PG_STATEMENT_MS, &row, error);
    if (err)
        return err;
    *count = pg_row_i64(&row, 0);
    pg_result_free(row.result);
    return OK;
}

/* The owner of the table `authors` is the role that ran `viewtally migrate`, so it owns all tables and
 * sequences. */
static enum err check_owner(struct pg_sql *db, struct error *error)
{
    struct pg_row row;
    enum err err = run(db, "owner", SQL_OWNER, PG_STATEMENT_MS, &row, error);
    if (err)
        return err;
    const struct str role = pg_row_bytes(&row, 0);
    if (!pg_row_bool(&row, 1))
        err = error_set(error, ERR_READONLY,
                        "the role %.*s does not own the tables: use the role that ran `viewtally migrate`",
                        (int)role.len, role.p ? role.p : "");
    pg_result_free(row.result);
    return err;
}

enum err pg_replace_check_replaceable(struct pg_sql *db, struct error *error)
{
    int64_t sessions = 0, servers = 0;
    enum err err = check_owner(db, error);
    if (!err)
        err = read_count(db, "sessions", SQL_OTHER_SESSIONS, &sessions, error);
    if (!err)
        err = read_count(db, "servers", SQL_SERVERS, &servers, error);
    if (err || sessions + servers == 0)
        return err;
    if (!sessions)
        return error_set(error, ERR_BUSY,
                         "other viewtally processes use this database, or did so in the last 5 seconds: stop "
                         "them, also those on other machines, then try again");
    return error_set(error, ERR_BUSY,
                     "other viewtally processes use this database, with %lld connection%s: stop them, also "
                     "those on other machines",
                     (long long)sessions, plural(sessions, "", "s"));
}

enum err pg_replace_check_not_served(struct pg_sql *db, struct error *error)
{
    int64_t servers = 0;
    const enum err err = read_count(db, "servers since begin", SQL_SERVERS_SINCE_BEGIN, &servers, error);
    if (err || servers == 0)
        return err;
    return error_set(error, ERR_BUSY,
                     "a viewtally server was started during this command: stop it, and repeat the command");
}

static void append_names(struct buf *text, bool only_numbered)
{
    const char *separator = "";
    buf_append(text, STR("ARRAY["));
    /* In moved_tables, a table follows the tables that it refers to, so the loop runs backwards. */
    for (int i = MOVED_TABLES - 1; i >= 0; i--) {
        if (only_numbered && !moved_table_has_row_ids(&moved_tables[i]))
            continue;
        buf_printf(text, "%s'%s'", separator, moved_tables[i].name);
        separator = ", ";
    }
    buf_append(text, STR("]"));
}

/* Until the commit, the deleted rows remain in the indexes. The first statement that reads a table again
 * skips them one by one, which takes minutes if there are hundreds of millions.
 *
 * Uses DELETE, because after a TRUNCATE, a snapshot that is older than the commit sees empty tables: a backup
 * or pg_dump that runs at the same time would be empty. But DELETE reads all rows, so if a row is unreadable,
 * for example because the disk has lost a block, uses TRUNCATE. Uses ALTER SEQUENCE, because a rollback does
 * not undo setval(). */
enum err pg_replace_clear(struct pg_sql *db, struct error *error)
{
    struct buf text;
    buf_init(&text, CLEAR_BYTES_MAX);
    buf_append(&text, STR("DO $viewtally$ DECLARE t text; s text; all_tables text[] := "));
    append_names(&text, false);
    buf_append(&text, STR("; BEGIN BEGIN FOREACH t IN ARRAY all_tables LOOP EXECUTE 'DELETE FROM ' || t; "
                          "END LOOP; EXCEPTION WHEN data_corrupted OR index_corrupted OR io_error OR "
                          "undefined_file THEN EXECUTE 'TRUNCATE ' || array_to_string(all_tables, ', '); "
                          "END; FOREACH t IN ARRAY "));
    append_names(&text, true);
    buf_append(&text, STR(" LOOP s := pg_get_serial_sequence(t, 'id'); IF s IS NOT NULL THEN "
                          "EXECUTE 'ALTER SEQUENCE ' || s || ' RESTART'; END IF; END LOOP; "
                          "END $viewtally$"));
    buf_append_char(&text, '\0');
    struct pg_row row;
    const enum err err = run(db, "clear", text.p, 0, &row, error);
    buf_fini(&text);
    pg_result_free(row.result);
    db->has_no_deadline = true;
    return err;
}
