/* Logs slow statements. */
#include "store/slow_query.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/store.h"

#include <ctype.h>
#include <stdatomic.h>

/* Atomic, because a reload of the configuration changes the limit while other threads run statements. */
static _Atomic int64_t slow_query_ms;

enum { PLAN_INTERVAL_MS = 60 * 1000 };

static _Atomic int requested = QUERY_COUNT; /* the statement whose plan is requested; QUERY_COUNT: none */
static _Atomic int64_t next_plan_at;        /* monotonic */

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

bool slow_query_report(const char *sql, int64_t took_ms)
{
    enum { TEXT_BYTES = 1024 };
    const int64_t limit_ms = slow_query_ms;
    const bool is_slow = limit_ms && took_ms >= limit_ms;
    if (is_slow) {
        char text[TEXT_BYTES];
        copy_on_one_line(text, sizeof text, sql);
        log_warn("slow query: %lld ms: %s", (long long)took_ms, text);
    }
    return is_slow;
}

void slow_query_request_plan(enum query query)
{
    requested = (int)query;
}

bool slow_query_take_request(enum query *query)
{
    const int64_t now = clock_mono_ms();
    if (requested == QUERY_COUNT || now < next_plan_at)
        return false;
    next_plan_at = now + PLAN_INTERVAL_MS;
    const int taken = atomic_exchange(&requested, QUERY_COUNT);
    *query = (enum query)taken;
    return taken != QUERY_COUNT; /* another thread may have taken the request */
}
