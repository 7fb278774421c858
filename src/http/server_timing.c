/* Decides who may see the Server-Timing field, and writes it. */
#include "http/server_timing.h"

static bool is_local(const struct conn *c)
{
    const struct str peer = str_from_cstr(c->peer);
    return c->is_unix || str_eq(peer, STR("::1")) || str_starts_with(peer, STR("127.")) ||
           str_starts_with(peer, STR("::ffff:127."));
}

bool server_timing_is_requested(const struct conn *c)
{
    const struct request *r = &c->x->r;
    return c->server->options.timing && str_eq(r->field[FIELD_X_VIEWTALLY_TIMING], STR("1")) &&
           !r->field[FIELD_X_FORWARDED_FOR].p && is_local(c);
}

static void append_us(struct buf *b, const char *name, int64_t us)
{
    buf_printf(b, "%s;dur=%lld.%03lld, ", name, (long long)us / 1000, (long long)us % 1000);
}

void server_timing_add(struct request *r, int64_t now_us)
{
    enum { VALUE_BYTES = 256 }; /* five names and four numbers of at most 24 digits */
    const struct request_times *t = &r->times;
    const int64_t total_us = now_us > r->arrived_us ? now_us - r->arrived_us : 0;
    struct buf b = buf_on(arena_alloc(&r->arena, VALUE_BYTES), VALUE_BYTES);
    append_us(&b, "total", total_us);
    append_us(&b, "database", t->database_us);
    append_us(&b, "wait", t->waiting_us);
    append_us(&b, "sleep", t->asleep_us);
    buf_append(&b, r->from_cache ? STR("cache;desc=hit") : STR("cache;desc=none"));
    response_add_field(r, STR("Server-Timing"), buf_str(&b));
}
