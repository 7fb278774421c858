/* The schema's history: schema/NNN_name.sql, embedded by the build in ascending order without a gap. Each
 * file ends by setting PRAGMA user_version to its own number (a statement cannot bind it); the first also
 * sets the application id. What was once released is never edited. */
#ifndef VT_STORE_MIGRATE_H
#define VT_STORE_MIGRATE_H

#include <stdint.h>

struct schema_migration {
    int version;
    const char *name;
    const char *sql;
};
extern const struct schema_migration schema_migrations[];
extern const int schema_migration_count;

/* "VwTl": in bytes 68 to 71 of the file, so that other databases are told from ours. */
#define SCHEMA_APPLICATION_ID INT64_C(0x5677546c)

#endif
