/* The log of slow statements (store_set_slow_query_ms()), for the drivers of the engines. */
#ifndef VT_STORE_SLOW_QUERY_H
#define VT_STORE_SLOW_QUERY_H

#include <stdint.h>

/* Logs a statement that has taken `took_ms`, if that is slow. Statements have placeholders instead of values.
 */
void slow_query_report(const char *sql, int64_t took_ms);

#endif
