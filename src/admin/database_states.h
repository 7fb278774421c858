/* The states in the database that /metrics shows. All processes that use the database show the same states. A
 * database file is read at each scrape. To read a database server, the event loop would have to wait, so each
 * scrape starts a job of the writer queue and shows the result of the job before. */
#ifndef VT_ADMIN_DATABASE_STATES_H
#define VT_ADMIN_DATABASE_STATES_H

#include "config/config.h"
#include "store/webhooks.h"
#include "store/writer.h"
#include "vault/platform_health.h"

struct database_states;

struct database_states *database_states_new(const struct config *config);

/* Call before a scrape reads the states. `store` is the loop's read connection. */
void database_states_update(struct database_states *s, struct store *store, struct writer *writer);

/* Return NULL if nothing has been read yet, or if the database could not be read. */
const struct platform_health *database_states_get_platforms(const struct database_states *s); /* by API */
const struct webhook_counts *database_states_get_webhooks(const struct database_states *s);
const struct store_server_load *database_states_get_server_load(const struct database_states *s);

/* Precondition: the writer queue that was passed last is closed. */
void database_states_free(struct database_states *s);

#endif
