/* The states in the database that /metrics shows. All processes that use the database show the same states. A
 * database file is read at each scrape. Reading from a database server, or from a file with many accounts,
 * would block the event loop, so each scrape starts a job in the writer queue, and shows the result of the
 * job that an earlier scrape started. */
#ifndef VT_ADMIN_DATABASE_STATES_H
#define VT_ADMIN_DATABASE_STATES_H

#include "config/config.h"
#include "store/webhooks.h"
#include "store/writer.h"
#include "vault/platform_health.h"

struct database_states;

struct database_states *database_states_new(const struct config *config);

/* Reads the states of a database file, or starts a job that reads those of a database server or of a file in
 * which many accounts were found. Call before a scrape gets the states. `store` is the loop's read
 * connection. */
void database_states_update(struct database_states *s, struct store *store, struct writer *writer);

/* These functions return the states that were read, or NULL if nothing has been read yet or the database
 * could not be read. database_states_get_platforms() returns an array that is indexed by enum
 * platform_api. */
const struct platform_health *database_states_get_platforms(const struct database_states *s);
const struct webhook_counts *database_states_get_webhooks(const struct database_states *s);
const struct store_server_load *database_states_get_server_load(const struct database_states *s);

/* Frees the states. Precondition: the writer queue that was passed to database_states_update() is closed. */
void database_states_free(struct database_states *s);

#endif
