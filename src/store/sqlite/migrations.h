/* The migrations: schema/NNN_name.sql, embedded by the build, in ascending order without a gap. Each file
 * sets PRAGMA user_version to its own number; the first also sets the application id. The statements of a
 * released migration are never edited.
 *
 * The row "compatible_since" of the table meta is the oldest schema version whose programs can use the
 * database: the number of the last migration that is not additive. So a program can use a newer database as
 * long as only additive migrations were applied to it since. */
#ifndef VT_STORE_MIGRATIONS_H
#define VT_STORE_MIGRATIONS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct db;

struct schema_migration {
    int version;
    const char *name;
    bool is_additive; /* programs of the schema version before this migration can use the database after it */
    int ms_per_million_videos; /* duration, measured as docs/upgrading.md describes */
    int mb_per_million_videos; /* growth of the database file, in MB */
    const char *sql;
};
extern const struct schema_migration schema_migrations[];
extern const int schema_migration_count;

/* "VwTl" in bytes 68 to 71 of the file identifies a viewtally database. */
#define SCHEMA_APPLICATION_ID INT64_C(0x5677546c)

/* The numbers by which a database file is recognized. They are read in one snapshot, because another process
 * may be creating the database. */
struct schema_identity {
    int64_t application_id;
    int64_t version;          /* number of applied migrations */
    int64_t objects;          /* number of tables, indexes and triggers */
    int64_t compatible_since; /* read only if `version` is newer than this binary's, otherwise 0 */
};
/* Reads the numbers that identify the database file. */
MUST_USE enum err schema_read_identity(struct db *db, struct schema_identity *out);

/* Reads the identity and checks that the file is a viewtally database that this binary can use or migrate
 * or, with `creates`, empty. Returns ERR_CORRUPT or ERR_VERSION if not. `path` is for the error. */
MUST_USE enum err schema_check(struct db *db, const char *path, bool creates,
                               struct schema_identity *identity, struct error *error);

/* Called before a migration, every few milliseconds while it runs (`is_committed` false) and after it
 * (`is_committed` true). */
struct migration_observer {
    void (*on_migration)(void *ctx, const struct schema_migration *migration, bool is_committed);
    void *ctx;
};

/* Like store_migrate() (store.h), with an observer. */
MUST_USE enum err migrations_apply(const char *path, const struct migration_observer *observer, int *count,
                                   struct error *error);

/* Returns true if the schema is newer than this binary's and this binary cannot use it. */
bool schema_is_too_new(const struct schema_identity *identity);

#endif
