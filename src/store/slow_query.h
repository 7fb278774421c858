/* The log of slow statements (store_set_slow_query_ms()), for the drivers of the engines. */
#ifndef VT_STORE_SLOW_QUERY_H
#define VT_STORE_SLOW_QUERY_H

#include "store/queries.h"

#include <stdbool.h>
#include <stdint.h>

/* Logs the statement and returns true if `took_ms`, its duration, is at least the configured limit. The
 * logged text contains placeholders instead of values. */
bool slow_query_report(const char *sql, int64_t took_ms);

/* Requests that the plan of the statement be logged. Replaces an earlier request that is still waiting. */
void slow_query_request_plan(enum query query);

/* Takes the waiting request for a plan: sets `*query` to its statement and returns true. Returns false if no
 * request is waiting, or if a request was taken less than a minute ago. Any thread can call it. */
bool slow_query_take_request(enum query *query);

#endif
