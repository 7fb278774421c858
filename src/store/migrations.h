/* The migrations: schema/NNN_name.sql, embedded by the build, in ascending order without a gap. Each file
 * sets PRAGMA user_version to its own number; the first also sets the application id. A released migration is
 * never edited. */
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

/* "VwTl" in bytes 68 to 71 of the file identifies a viewtally database. */
#define SCHEMA_APPLICATION_ID INT64_C(0x5677546c)

/* The numbers by which a database file is recognized. They are read in one snapshot, because another process
 * may be creating the database. */
struct schema_identity {
    int64_t application_id;
    int64_t version; /* number of applied migrations */
    int64_t objects; /* number of tables, indexes and triggers */
};
/* Reads these numbers. */
MUST_USE enum err schema_read_identity(struct db *db, struct schema_identity *out);

#endif
