/* The schema's history: schema/NNN_name.sql, embedded by the build in ascending order without a gap. Each
 * file ends by setting PRAGMA user_version to its own number (a statement cannot bind it); the first also
 * sets the application id. What was once released is never edited. */
#ifndef VT_STORE_MIGRATIONS_H
#define VT_STORE_MIGRATIONS_H

#include "base/error.h"

#include <stdint.h>

struct db;

struct schema_migration {
    int version;
    const char *name;
    const char *sql;
};
extern const struct schema_migration schema_migrations[];
extern const int schema_migration_count;

/* "VwTl": in bytes 68 to 71 of the file, so that other databases are told from ours. */
#define SCHEMA_APPLICATION_ID INT64_C(0x5677546c)

/* Whose database it is, of one moment: another process may be creating it. */
struct schema_identity {
    int64_t application_id;
    int64_t version; /* number of migrations applied */
    int64_t objects; /* tables, indexes and triggers that it has */
};
MUST_USE enum err schema_read_identity(struct db *db, struct schema_identity *out);

#endif
