/* Every role can read these views. pg_stat_replication shows the position of a standby only to members of
 * pg_monitor. pg_stat_activity shows only to these members which sessions are background processes, so
 * connections are counted in pg_stat_database. */
#include "store/pg/pg_server_load.h"

#define SQL_LOAD                                                                                             \
    "SELECT (SELECT coalesce(sum(numbackends), 0) FROM pg_stat_database)::bigint, "                          \
    "current_setting('max_connections')::bigint, t.live, t.dead, t.updates, t.hot, s.standbys, s.lag "       \
    "FROM (SELECT coalesce(sum(n_live_tup), 0)::bigint AS live, coalesce(sum(n_dead_tup), 0)::bigint AS "    \
    "dead, "                                                                                                 \
    "coalesce(sum(n_tup_upd), 0)::bigint AS updates, coalesce(sum(n_tup_hot_upd), 0)::bigint AS hot "        \
    "FROM pg_stat_user_tables WHERE schemaname = current_schema()) t, "                                      \
    "(SELECT count(*) AS standbys, "                                                                         \
    "coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), -1)::bigint AS lag "                   \
    "FROM pg_stat_replication) s"

enum err pg_server_load_read(struct pg_sql *db, struct store_server_load *out)
{
    struct pg_params none;
    struct pg_row row = {.result = NULL};
    pg_params_init(&none);
    const enum err err = pg_sql_read(db, "server load", SQL_LOAD, &none, PG_STATEMENT_MS, &row.result);
    if (err)
        return err;
    *out = (struct store_server_load){.connections = pg_row_i64(&row, 0),
                                      .connections_max = pg_row_i64(&row, 1),
                                      .live_rows = pg_row_i64(&row, 2),
                                      .dead_rows = pg_row_i64(&row, 3),
                                      .updates = pg_row_i64(&row, 4),
                                      .hot_updates = pg_row_i64(&row, 5),
                                      .standbys = pg_row_i64(&row, 6),
                                      .lag_bytes = pg_row_i64(&row, 7)};
    pg_result_free(row.result);
    return row.bad ? ERR_INTERNAL : OK;
}
