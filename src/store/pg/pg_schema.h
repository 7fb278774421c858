/* Recognizes a viewtally database in PostgreSQL. Its tables are in the first existing schema of the
 * search_path. The row "schema" of the table meta is the number of the last applied migration. The row
 * "compatible_since" is the oldest schema version whose programs can use the database. Without this row, only
 * programs of at least the last applied version can use it. */
#ifndef VT_STORE_PG_PG_SCHEMA_H
#define VT_STORE_PG_PG_SCHEMA_H

#include "store/pg/pg_session.h"

enum { PG_NAME_MAX = 130 }; /* a quoted name of 63 characters, each of which may be a doubled quote */

struct pg_schema {
    char database[PG_NAME_MAX];
    char schema[PG_NAME_MAX], role[PG_NAME_MAX]; /* quoted, if SQL requires that */
    int64_t tables;  /* number of tables and views in `schema` that do not belong to an extension */
    bool may_create; /* the role may create tables */
    bool may_write;  /* the role may insert and update rows of `barriers`, which every write transaction
                        changes */
    bool is_utf8;
    bool is_synchronous;               /* a commit waits until it is on disk */
    int64_t server_version;            /* for example 150004 */
    int64_t version, compatible_since; /* see above; 0: the row is missing */
};

/* Reads `*out` and checks that viewtally can work in this database. Returns ERR_VERSION (PostgreSQL is too
 * old), ERR_INVALID (no schema, or an encoding other than UTF8), ERR_CORRUPT (the tables belong to another
 * application), ERR_READONLY (the role lacks privileges), or the error of the connection. May be called in a
 * transaction; a failed statement aborts that transaction. */
MUST_USE enum err pg_schema_read(struct pg_session *session, struct pg_schema *out, struct error *error);

/* Returns true if the schema is newer than this program's and this program cannot use it. */
bool pg_schema_is_too_new(const struct pg_schema *schema);

/* Checks that this program can use the database as it is. Returns ERR_VERSION if not. */
MUST_USE enum err pg_schema_check(const struct pg_schema *schema, struct error *error);
/* Returns ERR_READONLY if the role may only read; the text of `error` then contains the GRANT statements that
 * the role needs. */
MUST_USE enum err pg_schema_check_writable(const struct pg_schema *schema, struct error *error);
/* Sets the error for a schema that is too new, and returns ERR_VERSION. */
enum err pg_schema_set_newer(const struct pg_schema *schema, struct error *error);

#endif
