/* Formats the line of a slow request. */
#include "admin/slow_log.h"

#include "base/log.h"

enum { LINE_BYTES = 1024 };

static void append_ms(struct buf *b, const char *name, int64_t us)
{
    buf_printf(b, " %s=%lld.%03lld", name, (long long)us / 1000, (long long)us % 1000);
}

static void append_text(struct buf *b, const char *name, struct str text)
{
    buf_printf(b, " %s=%.*s", name, text.p ? (int)text.len : 1, text.p ? text.p : "-");
}

static void append_uuid(struct buf *b, const char *name, const struct uuid *id)
{
    char text[UUID_TEXT_LEN];
    if (!id)
        return;
    uuid_format(id, text);
    append_text(b, name, str_make(text, sizeof text));
}

void slow_log_append(const struct request *r, int64_t us, int64_t slow_ms)
{
    const struct request_times *t = &r->times;
    const int64_t own_us = us - t->asleep_us - t->sending_us;
    char room[LINE_BYTES];
    struct buf b = buf_on(room, sizeof room);
    if (!slow_ms || own_us < slow_ms * 1000)
        return;
    append_ms(&b, "ms", own_us);
    append_ms(&b, "database_ms", t->database_us);
    append_ms(&b, "wait_ms", t->waiting_us);
    append_ms(&b, "sleep_ms", t->asleep_us);
    append_ms(&b, "send_ms", t->sending_us);
    append_text(&b, "method", str_from_cstr(request_method_name(r->method)));
    append_text(&b, "route", str_from_cstr(route_name(r)));
    buf_printf(&b, " status=%d", r->res.status);
    append_text(&b, "client", r->client_address);
    append_text(&b, "request_id", r->id);
    append_text(&b, "trace_id", r->trace_id);
    append_uuid(&b, "key_id", r->key_id);
    append_uuid(&b, "author_id", r->author_id);
    log_warn("slow request:%.*s", (int)b.len, b.p);
}
