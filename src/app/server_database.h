/* The server's connections to its database: the read connection of the loop, the writer, and the
 * checkpointer. */
#ifndef VT_APP_SERVER_DATABASE_H
#define VT_APP_SERVER_DATABASE_H

#include "base/file_lock.h"
#include "config/config.h"
#include "store/checkpoint.h"
#include "store/store.h"
#include "store/writer.h"

struct server_database {
    struct store *store;
    struct writer *writer;
    struct checkpointer *checkpointer; /* NULL if the database is on a server */
    struct file_lock key_lock;         /* lock of vault/key_credential.h; released when the process ends */
};

/* Checks that stored tokens can be decrypted, completes an interrupted import, and opens the connections. The
 * database must have been migrated (store/upgrade.h). Blocks until done. Returns ERR_INVALID if the key
 * file is missing or wrong. Call server_database_close() also after a failure. */
MUST_USE enum err server_database_open(struct server_database *db, uv_loop_t *loop,
                                       const struct config *config, struct error *error);

/* Starts to close the connections that are open; the loop completes the close. */
void server_database_close(struct server_database *db);

#endif
