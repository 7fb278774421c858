/* Runs statements of its own, because those of queries.h exist on all engines. */
#include "store/pg/pg_replace.h"

#include "store/moved_rows.h"

#include <string.h>

enum { TRUNCATE_BYTES_MAX = 4096 };

/* Each connection of viewtally has the same application_name, unless the URL sets another one. Every role can
 * see this column of all sessions. */
#define SQL_OTHER_SESSIONS                                                                                   \
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "  \
    "AND application_name = current_setting('application_name')"
/* TRUNCATE waits for all readers of the tables, and without a limit nothing would end this wait. */
#define SQL_LIMIT_LOCK "SELECT set_config('lock_timeout', '5000', true)"

#define INSUFFICIENT_PRIVILEGE "42501"

static enum err run(struct pg_sql *db, const char *name, const char *text)
{
    const struct pg_result *result;
    struct pg_params none;
    pg_params_init(&none);
    const enum err err = pg_sql_read(db, name, text, &none, &result);
    if (!err)
        pg_result_free(result);
    return err;
}

enum err pg_replace_check_unused(struct pg_sql *db, struct error *error)
{
    const struct pg_result *result;
    struct pg_params none;
    pg_params_init(&none);
    const enum err err = pg_sql_read(db, "sessions", SQL_OTHER_SESSIONS, &none, &result);
    if (err)
        return error_set(error, err, "PostgreSQL: %s", db->session.error.text);
    struct pg_row row = {.result = result};
    const int64_t count = pg_row_i64(&row, 0);
    pg_result_free(result);
    if (count == 0)
        return OK;
    return error_set(error, ERR_BUSY,
                     "other viewtally processes use this database, with %lld connections: stop them, also "
                     "those on other machines",
                     (long long)count);
}

enum err pg_replace_clear(struct pg_sql *db, struct error *error)
{
    struct buf text;
    buf_init(&text, TRUNCATE_BYTES_MAX);
    for (int i = 0; i < MOVED_TABLES; i++)
        buf_printf(&text, "%s%s", i ? ", " : "TRUNCATE ", moved_tables[i].name);
    buf_append_char(&text, '\0');
    enum err err = run(db, "lock timeout", SQL_LIMIT_LOCK);
    if (!err)
        err = run(db, "truncate", text.p);
    buf_fini(&text);
    if (err && strcmp(db->session.error.sqlstate, INSUFFICIENT_PRIVILEGE) == 0)
        return error_set(error, ERR_READONLY,
                         "the role must own the tables, like that of viewtally migrate (PostgreSQL: %s)",
                         db->session.error.text);
    if (err == ERR_BUSY)
        return error_set(error, err,
                         "another session, such as pg_dump, reads the tables: repeat the command "
                         "when it has ended");
    return err ? error_set(error, err, "PostgreSQL: %s", db->session.error.text) : OK;
}
