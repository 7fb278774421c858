/* The server's connections to its database: the loop's read connection, the writer, and the checkpointer. */
#ifndef VT_APP_SERVER_DATABASE_H
#define VT_APP_SERVER_DATABASE_H

#include "config/config.h"
#include "store/checkpoint.h"
#include "store/store.h"
#include "store/writer.h"

struct server_database {
    struct store *store;
    struct writer *writer;
    struct checkpointer *checkpointer;
};

/* Migrates the schema, completes an interrupted import, checks that stored tokens can be decrypted, and opens
 * the connections. Blocks. After a failure, call server_database_close() too. */
MUST_USE enum err server_database_open(struct server_database *db, uv_loop_t *loop,
                                       const struct config *config, struct error *error);

/* Starts to close what is open; the loop completes it. */
void server_database_close(struct server_database *db);

#endif
