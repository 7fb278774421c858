/* The migrations of PostgreSQL: schema/pg/NNN_name.sql, embedded by the build, in ascending order without a
 * gap. The statements of a released migration are never edited. The row "schema" of the table meta is the
 * number of the last migration that was applied (pg_schema.h). */
#ifndef VT_STORE_PG_PG_MIGRATIONS_H
#define VT_STORE_PG_PG_MIGRATIONS_H

struct pg_migration {
    int version;
    const char *name;
    const char *sql; /* several statements, run as the body of a PL/pgSQL block */
};
extern const struct pg_migration pg_migrations[];
extern const int pg_migration_count;

#endif
