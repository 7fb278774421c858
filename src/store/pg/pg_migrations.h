/* The migrations of PostgreSQL: schema/pg/NNN_name.sql, embedded by the build, in ascending order without a
 * gap. The statements of a released migration are never edited. The first one is not additive.
 * pg_schema.h describes the rows of the table meta that the migrations change. */
#ifndef VT_STORE_PG_PG_MIGRATIONS_H
#define VT_STORE_PG_PG_MIGRATIONS_H

#include <stdbool.h>

struct pg_migration {
    int version;
    const char *name;
    bool is_additive; /* programs of the schema version before this migration can use the database after it */
    const char *sql;  /* several statements, run as the body of a PL/pgSQL block */
};
extern const struct pg_migration pg_migrations[];
extern const int pg_migration_count;

#endif
