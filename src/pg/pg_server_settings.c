/* The statement that changes the settings of a backend. */
#include "pg/pg_server_settings.h"

/* The join leaves out settings that the version of the server does not have, such as transaction_timeout
 * before PostgreSQL 17. client_connection_check_interval can be other than 0 only on Linux and a few other
 * systems, so it is 0 unless the server runs on Linux.
 * All settings about TCP have no effect on a Unix socket. tcp_user_timeout limits how long a reply may wait
 * for its acknowledgment; the keepalives act while nothing is in flight. */
const struct pg_statement pg_server_settings_statement = {
    "vt_server_settings",
    "SELECT set_config(name, value, false) FROM pg_settings JOIN (VALUES ('statement_timeout', '0'), "
    "('lock_timeout', '0'), ('transaction_timeout', '0'), ('idle_session_timeout', '0'), "
    "('idle_in_transaction_session_timeout', '0'), ('default_transaction_isolation', 'read committed'), "
    "('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '3'), "
    "('tcp_user_timeout', '30000'), "
    "('client_connection_check_interval', CASE WHEN version() LIKE '%linux%' THEN '2000' ELSE '0' END)) "
    "AS wanted (name, value) USING (name)",
    true};
