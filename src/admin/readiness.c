/* The checks behind /readyz. */
#include "admin/readiness.h"

#include "admin/refresh_metrics.h"
#include "base/clock.h"
#include "store/read.h"

/* The process is reported as degraded for this long after a failed write, unless a later write succeeds. */
enum { WRITE_FAILED_MS = 5 * MINUTE_MS };

/* Runs the query that every request needs, with a key hash that no key has. */
static bool store_is_readable(struct store *store)
{
    static const uint8_t unused_hash[KEY_HASH_LEN];
    struct waiter wait = {0};
    struct key_owner owner;
    struct store_read read = {.store = store, .wait = &wait};
    (void)store_find_key(&read, unused_hash, &owner);
    return read.err == OK || read.err == ERR_NOT_FOUND;
}

static void add_reason(struct buf *line, const char *reason)
{
    buf_printf(line, "%s%s", line->len ? ", " : "degraded: ", reason);
}

static bool write_failed(const struct writer *writer)
{
    const struct writer_counts *c = writer_counts(writer);
    return c->failed && c->failed_ms > c->succeeded_ms && clock_mono_ms() - c->failed_ms < WRITE_FAILED_MS;
}

enum readiness readiness_check(const struct admin_view *v, struct buf *line)
{
    if (v->draining || !v->server) {
        buf_append(line, v->draining ? STR("not ready: shutting down") : STR("not ready: starting"));
        return READINESS_NOT_READY;
    }
    if (!store_is_readable(v->store)) {
        buf_append(line, STR("not ready: the database cannot be read"));
        return READINESS_NOT_READY;
    }
    if (v->redis && !redis_is_up(v->redis))
        add_reason(line, "Redis is unavailable");
    if (write_failed(v->writer))
        add_reason(line, "the database cannot be written");
    if (v->checkpointer && checkpointer_counts(v->checkpointer)->too_long)
        add_reason(line, "a long-running reader blocks the checkpoint");
    if (v->schedule && refresh_is_overdue(schedule_state(v->schedule)))
        add_reason(line, "the refresh is overdue");
    if (line->len)
        return READINESS_DEGRADED;
    buf_append(line, STR("ready"));
    return READINESS_READY;
}
