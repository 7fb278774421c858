/* Logs slow statements. */
#include "store/slow_query.h"

#include "base/log.h"
#include "store/store.h"

#include <ctype.h>

/* Atomic, because a reload of the configuration changes the limit while other threads run statements. */
static _Atomic int64_t slow_query_ms;

void store_set_slow_query_ms(int64_t ms)
{
    slow_query_ms = ms;
}

/* Copies a statement's text without line breaks and repeated spaces, shortened to `size`. */
static void copy_on_one_line(char *out, size_t size, const char *sql)
{
    size_t n = 0;
    for (; *sql && n + 1 < size; sql++)
        if (!isspace((unsigned char)*sql))
            out[n++] = *sql;
        else if (n && out[n - 1] != ' ')
            out[n++] = ' ';
    out[n] = '\0';
}

void slow_query_report(const char *sql, int64_t took_ms)
{
    enum { TEXT_BYTES = 1024 };
    const int64_t limit_ms = slow_query_ms;
    if (limit_ms && took_ms >= limit_ms) {
        char text[TEXT_BYTES];
        copy_on_one_line(text, sizeof text, sql);
        log_warn("slow query: %lld ms: %s", (long long)took_ms, text);
    }
}
