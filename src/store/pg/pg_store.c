/* Opens and closes a PostgreSQL store. */
#include "store/pg/pg_store.h"

#include "base/check.h"
#include "store/pg/pg_schema.h"

static enum err open_database(struct pg_store *p, const struct store_options *o, struct error *error)
{
    struct pg_schema is;
    enum err err = pg_sql_open(&p->db, o->url, o->password_file, o->mode == STORE_READ, error);
    if (err)
        return err;
    p->is_open = true;
    p->busy_timeout_ms = o->busy_timeout_ms;
    err = pg_schema_read(&p->db.session, &is, error);
    if (!err)
        err = pg_schema_check(&is, error);
    if (err)
        return err;
    err = store_load(&p->store);
    return err ? error_set(error, err, "database %s: %s", is.database, err_name(err)) : OK;
}

static enum err pg_open(struct store **out, const struct store_options *options, struct error *error)
{
    struct pg_store *opened = xcalloc(1, sizeof *opened);
    struct store *s = &opened->store;
    store_init(s, &store_pg_engine, &opened->db.sql);
    enum err err = open_database(opened, options, error);
    if (err) {
        store_close(s);
        return err;
    }
    *out = s;
    return OK;
}

static void pg_close(struct store *s)
{
    if (((struct pg_store *)s)->is_open)
        pg_sql_close(pg_sql_of_store(s));
}

static enum err begin(struct store *s)
{
    return pg_sql_begin(pg_sql_of_store(s), ((struct pg_store *)s)->busy_timeout_ms);
}

static enum err begin_snapshot(struct store *s)
{
    return pg_sql_begin_snapshot(pg_sql_of_store(s));
}

static enum err commit(struct store *s)
{
    return pg_sql_commit(pg_sql_of_store(s));
}

static void rollback(struct store *s)
{
    pg_sql_rollback(pg_sql_of_store(s));
}

static bool has_changed(struct store *s, uint64_t *seen)
{
    return pg_sql_has_changed(pg_sql_of_store(s), seen);
}

/* PostgreSQL removes old row versions itself. */
static enum err prepare_erasure(struct store *s)
{
    (void)s;
    return OK;
}

static enum err share_import_lock(struct store *s)
{
    return pg_sql_share_import_lock(pg_sql_of_store(s));
}

static enum err try_import_lock(struct store *s, bool *acquired)
{
    return pg_sql_try_import_lock(pg_sql_of_store(s), acquired);
}

static void release_import_lock(struct store *s)
{
    pg_sql_release_import_lock(pg_sql_of_store(s));
}

const struct store_engine store_pg_engine = {
    .open = pg_open,
    .close = pg_close,
    .begin = begin,
    .begin_snapshot = begin_snapshot,
    .commit = commit,
    .rollback = rollback,
    .has_changed = has_changed,
    .prepare_erasure = prepare_erasure,
    .share_import_lock = share_import_lock,
    .try_import_lock = try_import_lock,
    .release_import_lock = release_import_lock,
};
