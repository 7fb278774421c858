/* The counters of requests: one row a route, found by the address of its name. */
#include "admin/request_metrics.h"

#include "base/check.h"
#include "base/metrics.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ROUTES_MAX = 96,
    SLOTS = 256,       /* of the hash table: a power of two, well above ROUTES_MAX */
    CODES = 500,       /* 100 … 599 */
    CODE_NONE = CODES, /* the client left before there was an answer */
};

static const char NO_ROUTE[] = "none", OTHER_ROUTE[] = "other";

struct row {
    const char *route;
    struct metrics_times times;
    uint64_t codes[CODES + 1];
};

struct slot {
    const char *route;
    struct row *row;
};

struct request_metrics {
    struct slot slots[SLOTS];
    struct row *rows[ROUTES_MAX];
    size_t count;
    uint64_t bytes, broken;
};

static struct row *add_row(struct request_metrics *t, const char *route)
{
    struct row *row = xcalloc(1, sizeof *row);
    row->route = route;
    t->rows[t->count++] = row;
    return row;
}

struct request_metrics *request_metrics_new(void)
{
    struct request_metrics *t = xcalloc(1, sizeof *t);
    (void)add_row(t, NO_ROUTE);
    (void)add_row(t, OTHER_ROUTE);
    return t;
}

void request_metrics_free(struct request_metrics *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->count; i++)
        free(t->rows[i]);
    free(t);
}

/* Two literals may say the same. */
static struct row *row_for_text(struct request_metrics *t, const char *route)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->rows[i]->route, route) == 0)
            return t->rows[i];
    return t->count < ROUTES_MAX ? add_row(t, route) : t->rows[1];
}

static struct row *row_of(struct request_metrics *t, const char *route)
{
    if (!route)
        return t->rows[0];
    size_t at = (size_t)(((uintptr_t)route * UINT64_C(0x9E3779B97F4A7C15)) >> 32) % SLOTS;
    for (size_t tries = 0; tries < SLOTS; tries++, at = (at + 1) % SLOTS) {
        struct slot *slot = &t->slots[at];
        if (!slot->route)
            *slot = (struct slot){.route = route, .row = row_for_text(t, route)};
        if (slot->route == route)
            return slot->row;
    }
    return t->rows[1];
}

void request_metrics_record(struct request_metrics *t, const struct request *r, bool complete, int64_t us)
{
    struct row *row = row_of(t, r->route);
    int status = r->res.status;
    row->codes[status >= 100 && status < 100 + CODES ? status - 100 : CODE_NONE]++;
    metrics_observe(&row->times, us);
    t->bytes += r->res.bytes_sent;
    t->broken += !complete;
}

static bool row_is_used(const struct row *row)
{
    for (size_t i = 0; i <= METRICS_BOUNDS; i++)
        if (row->times.counts[i])
            return true;
    return false;
}

static void write_codes(const struct row *row, struct buf *b)
{
    for (int i = 0; i <= CODES; i++) {
        char text[12] = "none";
        if (!row->codes[i])
            continue;
        if (i < CODES)
            (void)snprintf(text, sizeof text, "%d", i + 100);
        metrics_value(b, "viewtally_http_requests_total",
                      METRICS_LABELS({"route", str_from_cstr(row->route)}, {"code", str_from_cstr(text)}),
                      (int64_t)row->codes[i]);
    }
}

void request_metrics_write(const struct request_metrics *t, struct buf *b)
{
    metrics_family(
        b, "viewtally_http_requests_total", METRICS_COUNTER,
        "Requests that are over, by route and status code; code none: the client left before there "
        "was an answer.");
    for (size_t i = 0; i < t->count; i++)
        write_codes(t->rows[i], b);
    metrics_family(b, "viewtally_http_request_duration_seconds", METRICS_HISTOGRAM,
                   "From the arrival of a whole request to the end of its answer, by route.");
    for (size_t i = 0; i < t->count; i++)
        if (row_is_used(t->rows[i]))
            metrics_times_write(b, "viewtally_http_request_duration_seconds",
                                METRICS_LABELS({"route", str_from_cstr(t->rows[i]->route)}),
                                &t->rows[i]->times);
    metrics_counter(b, "viewtally_http_response_body_bytes_total", "Bytes of response bodies sent.",
                    t->bytes);
    metrics_counter(b, "viewtally_http_responses_broken_total",
                    "Requests whose client left, or was left, before the answer was complete.", t->broken);
}
