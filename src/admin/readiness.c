/* Runs the checks of /readyz and writes the result as one line. */
#include "admin/readiness.h"

#include "admin/backup_metrics.h"
#include "admin/refresh_metrics.h"
#include "base/clock.h"
#include "store/read.h"

/* The process is reported as degraded for this long after a failed write, unless a later write succeeds. */
enum { WRITE_FAILED_MS = 5 * MINUTE_MS };

/* Returns true if the database file can be read. Runs the query that every request needs, with a key hash
 * that no key has. */
static bool file_is_readable(struct store *store)
{
    static const uint8_t unused_hash[KEY_HASH_LEN];
    struct key_owner owner = {.version = 0};
    struct store_read read = {.store = store};
    (void)store_resolve_key(&read, unused_hash, &owner);
    return read.err == OK || read.err == ERR_NOT_FOUND;
}

/* Appends a text that came from a server or from the network. Replaces control characters by spaces. */
static void append_reason(struct buf *line, const char *reason)
{
    for (; *reason; reason++)
        buf_append_char(line, (unsigned char)*reason >= ' ' && *reason != 0x7F ? *reason : ' ');
}

/* Returns false and appends the reason if requests cannot be served. */
static bool database_is_readable(struct store *store, struct buf *line)
{
    struct store_server_status server;
    const bool has_server = store_get_server_status(store, &server);
    if (has_server ? server.is_up : file_is_readable(store))
        return true;
    buf_append(line, STR("not ready: the database cannot be read"));
    if (has_server) {
        buf_printf(line, " (the connection is %s%s", server.state, *server.reason ? ": " : "");
        append_reason(line, server.reason);
        buf_append_char(line, ')');
    }
    return false;
}

static void add_reason(struct buf *line, const char *reason)
{
    buf_printf(line, "%s%s", line->len ? ", " : "degraded: ", reason);
}

static void add_redis_reason(struct buf *line, const struct redis *redis)
{
    add_reason(line, "Redis is unavailable");
    const char *reason = redis_failure_reason(redis);
    if (!*reason)
        return;
    buf_append(line, STR(" ("));
    append_reason(line, reason);
    buf_append_char(line, ')');
}

static void add_disk_reason(struct buf *line, const struct disk_space *disk)
{
    add_reason(line, "the disk of the database has only ");
    buf_printf(line, "%lld MiB free", (long long)(disk->free_bytes >> 20));
}

static bool write_failed(const struct writer *writer)
{
    const struct writer_counts *c = writer_counts(writer);
    return c->is_failing && clock_mono_ms() - c->failed_ms < WRITE_FAILED_MS;
}

enum readiness readiness_check(const struct admin_view *v, struct buf *line)
{
    if (v->draining || !v->server) {
        buf_append(line, v->draining ? STR("not ready: shutting down") : STR("not ready: starting"));
        return READINESS_NOT_READY;
    }
    if (!database_is_readable(v->store, line))
        return READINESS_NOT_READY;
    if (v->redis && !redis_is_up(v->redis))
        add_redis_reason(line, v->redis);
    if (write_failed(v->writer))
        add_reason(line, "the database cannot be written");
    if (disk_space_is_low(v->disk, v->config->store.min_free_bytes))
        add_disk_reason(line, v->disk);
    if (v->checkpointer && checkpointer_get_counts(v->checkpointer)->too_long)
        add_reason(line, "the write-ahead log keeps growing (a long-running reader blocks the checkpoint, or "
                         "the checkpoint fails)");
    if (v->schedule && refresh_is_overdue(schedule_state(v->schedule)))
        add_reason(line, "the refresh is overdue");
    if (v->backups && backup_is_overdue(backup_schedule_status(v->backups)))
        add_reason(line, "the backup is overdue");
    if (line->len)
        return READINESS_DEGRADED;
    buf_append(line, STR("ready"));
    return READINESS_READY;
}
