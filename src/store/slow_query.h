/* The log of slow statements (store_set_slow_query_ms()), for the drivers of the engines. */
#ifndef VT_STORE_SLOW_QUERY_H
#define VT_STORE_SLOW_QUERY_H

#include <stdint.h>

/* Logs the statement if `took_ms`, its duration, is at least the configured limit. The logged text contains
 * placeholders instead of values. */
void slow_query_report(const char *sql, int64_t took_ms);

#endif
