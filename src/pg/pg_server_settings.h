/* The statement with which every connection, of a link or of a blocking session, first changes settings of
 * its backend. The defaults of PostgreSQL, and values that an administrator has set for the role or the
 * database, would do harm in four cases:
 *
 * - Statements are canceled. The statement switches off the timeouts of the server, because we have our own
 *   deadlines, and a canceled statement can leave a transaction half done (pg_session.h).
 * - The client has vanished. If our machine lost its power or its network, the backend would notice this only
 *   after two hours. Until then, it would hold the lock of its write transaction, so no process could write.
 *   With keepalives, it notices the loss within 30 s.
 * - The client has given up. A backend that waits for a lock would notice only at the end of the wait that
 *   its connection is closed. Each further attempt of a link would leave one more waiting backend, until the
 *   server has no connection left. With client_connection_check_interval, the backend checks its connection
 *   every two seconds.
 * - Barriers fail. Processes on one machine write the same row (pg_links.c), so a barrier may wait for
 * another one. With REPEATABLE READ or SERIALIZABLE, a statement that has waited for a changed row fails. */
#ifndef VT_PG_PG_SERVER_SETTINGS_H
#define VT_PG_PG_SERVER_SETTINGS_H

#include "pg/pg_link.h"

/* Changes the settings. Has no parameters. Returns one row for each changed setting; the caller can ignore
 * the rows. */
extern const struct pg_statement pg_server_settings_statement;

#endif
