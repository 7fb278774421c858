/* What migrating a database would do, how long it would take and how much disk space it would need. The
 * estimates come from the declarations of the migrations (migrations.h) and the number of videos. */
#ifndef VT_STORE_MIGRATION_PLAN_H
#define VT_STORE_MIGRATION_PLAN_H

#include "store/sqlite/migrations.h"

#include <stdbool.h>
#include <stdint.h>

struct migration_plan {
    int64_t version;  /* schema version of the database; 0: it is missing or empty */
    int pending;      /* number of migrations to apply; 0 if the database has this binary's schema or a newer,
                         compatible one */
    bool is_additive; /* false: programs of the schema `version` cannot use the database afterwards */
    bool fills_days;  /* migration 018 is committed, but not all videos have been filled (days_fill.h) */
    int64_t videos;   /* posted videos */
    int64_t database_bytes;           /* size with the write-ahead log; a backup is not larger */
    int64_t migrations_ms, backup_ms; /* estimates */
    int64_t migrations_bytes;         /* space that the migrations need, with the write-ahead log */
    int64_t free_bytes;               /* free space that this process may use on the disk of the database */
};

/* Inspects the database and changes no data. Returns the same errors as store_migrate() or, with `creates`,
 * as store_create(). */
MUST_USE enum err migration_plan_read(const char *path, bool creates, struct migration_plan *out,
                                      struct error *error);

/* Returns true if the migration has to be applied, or completed (migration 018). */
bool migration_plan_includes(const struct migration_plan *plan, const struct schema_migration *m);

/* Returns the estimated duration of one migration, in ms, without its constant part. */
int64_t migration_plan_ms_of(const struct migration_plan *plan, const struct schema_migration *m);

/* These return estimates for all pending migrations, and for the backup if `backs_up`: the duration in ms,
 * and the necessary disk space in bytes. */
int64_t migration_plan_ms(const struct migration_plan *plan, bool backs_up);
int64_t migration_plan_bytes(const struct migration_plan *plan, bool backs_up);

#endif
