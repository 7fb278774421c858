/* Reads the state of Redis in a session of its own. */
#include "cli/redis_state.h"

#include "base/json.h"
#include "cli/output.h"
#include "cli/redis_session.h"

#include <stdio.h>

void redis_state_read(struct redis_state *s, const struct config *c)
{
    struct redis_session session = {.timed_out = false};
    struct error error = {0};
    *s = (struct redis_state){.is_configured = *c->redis.url};
    if (!s->is_configured)
        return;
    if (redis_session_open(&session, c, &error)) {
        (void)snprintf(s->reason, sizeof s->reason, "%s", error.text);
        return;
    }
    const char *reason = redis_failure_reason(session.redis);
    s->is_up = redis_is_up(session.redis);
    if (!s->is_up)
        (void)snprintf(s->reason, sizeof s->reason, "%s", *reason ? reason : "no reply in time");
    redis_session_close(&session);
}

void redis_state_json(const struct redis_state *s, struct buf *b)
{
    JSON_KEY(b, "redis");
    json_open(b, '{');
    JSON_BOOL(b, "configured", s->is_configured);
    JSON_BOOL(b, "up", s->is_up);
    JSON_STR(b, "reason", *s->reason ? str_from_cstr(s->reason) : (struct str){0});
    json_close(b, '}');
}

void redis_state_text(const struct redis_state *s, struct buf *b)
{
    if (!s->is_configured)
        return;
    buf_printf(b, "redis      %s", s->is_up ? "up" : "UNAVAILABLE: ");
    cli_append_text(b, str_from_cstr(s->reason));
    buf_append_char(b, '\n');
}
