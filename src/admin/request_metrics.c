/* Request counters, in one row per route. A row is looked up by the address of the route's name. */
#include "admin/request_metrics.h"

#include "base/check.h"
#include "base/metrics.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ROUTES_MAX = 96,
    CODES = 500,       /* number of status codes, 100 to 599 */
    CODE_NONE = CODES, /* index that counts requests whose client disconnected before the response */
};

static const char NO_ROUTE[] = "none", OTHER_ROUTE[] = "other";

struct route_row {
    const char *route;
    struct metrics_duration_histogram times;
    uint64_t codes[CODES + 1];
};

struct request_metrics {
    struct route_row *rows[ROUTES_MAX]; /* [0] is NO_ROUTE, [1] is OTHER_ROUTE */
    size_t count;
    uint64_t bytes, incomplete;
};

static struct route_row *add_row(struct request_metrics *m, const char *route)
{
    struct route_row *row = xcalloc(1, sizeof *row);
    row->route = route;
    m->rows[m->count++] = row;
    return row;
}

struct request_metrics *request_metrics_new(void)
{
    struct request_metrics *m = xcalloc(1, sizeof *m);
    (void)add_row(m, NO_ROUTE);
    (void)add_row(m, OTHER_ROUTE);
    return m;
}

void request_metrics_free(struct request_metrics *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->count; i++)
        free(m->rows[i]);
    free(m);
}

/* Returns the row of the route. Adds a row for a new route, or returns the row OTHER_ROUTE if the table is
 * full. Compares the addresses of the names first, which nearly always finds the row. Then compares the
 * texts, because two literals with the same text may have different addresses. */
static struct route_row *find_row(struct request_metrics *m, const char *route)
{
    if (!route)
        return m->rows[0];
    for (size_t i = 0; i < m->count; i++)
        if (m->rows[i]->route == route)
            return m->rows[i];
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->rows[i]->route, route) == 0)
            return m->rows[i];
    return m->count < ROUTES_MAX ? add_row(m, route) : m->rows[1];
}

void request_metrics_record(struct request_metrics *m, const struct request *r, bool response_complete,
                            int64_t us)
{
    struct route_row *row = find_row(m, route_name(r));
    int status = r->res.status;
    row->codes[status >= 100 && status < 100 + CODES ? status - 100 : CODE_NONE]++;
    metrics_observe(&row->times, us);
    m->bytes += r->res.bytes_sent;
    m->incomplete += !response_complete;
}

static bool row_is_used(const struct route_row *row)
{
    for (size_t i = 0; i <= METRICS_BOUNDS; i++)
        if (row->times.counts[i])
            return true;
    return false;
}

static void write_codes(const struct route_row *row, struct buf *b)
{
    for (int i = 0; i <= CODES; i++) {
        char text[12] = "none";
        if (!row->codes[i])
            continue;
        if (i < CODES)
            (void)snprintf(text, sizeof text, "%d", i + 100);
        metrics_write_value(
            b, "viewtally_http_requests_total",
            METRICS_LABELS({"route", str_from_cstr(row->route)}, {"code", str_from_cstr(text)}),
            (int64_t)row->codes[i]);
    }
}

void request_metrics_write(const struct request_metrics *m, struct buf *b)
{
    metrics_write_family(
        b, "viewtally_http_requests_total", METRICS_COUNTER,
        "Finished requests, by route and status code; code none: the client disconnected before "
        "the response.");
    for (size_t i = 0; i < m->count; i++)
        write_codes(m->rows[i], b);
    metrics_write_family(b, "viewtally_http_request_duration_seconds", METRICS_HISTOGRAM,
                         "Time from the complete request to the end of its response, by route.");
    for (size_t i = 0; i < m->count; i++)
        if (row_is_used(m->rows[i]))
            metrics_write_duration_histogram(b, "viewtally_http_request_duration_seconds",
                                             METRICS_LABELS({"route", str_from_cstr(m->rows[i]->route)}),
                                             &m->rows[i]->times);
    metrics_write_counter(b, "viewtally_http_response_body_bytes_total", "Bytes of response bodies sent.",
                          m->bytes);
    metrics_write_counter(b, "viewtally_http_responses_incomplete_total",
                          "Responses that ended early because the connection was closed.", m->incomplete);
}
