/* Logs the plans of slow statements.
 *
 * The plan is PostgreSQL's generic plan, which is made for any values and therefore contains none. For plans
 * with the actual values and the time of each step, use PostgreSQL's module auto_explain. */
#ifndef VT_STORE_PG_PG_PLAN_H
#define VT_STORE_PG_PG_PLAN_H

#include "store/pg/pg_sql.h"

/* Logs the plan of the statement that slow_query_take_request() returns, if there is one. Call outside of a
 * transaction. */
void pg_plan_log_slow(struct pg_sql *db);

#endif
