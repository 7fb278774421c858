/* Logs one line per failure, but only a limited number of lines in each second. */
#include "auth/failure_log.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

struct failure_log {
    uint64_t counts[FAILURE_KINDS];
    int64_t second; /* the second in which `lines` were logged */
    int lines;
    uint64_t omitted; /* failures in that second that were not logged */
};

static const struct {
    const char *name, *text;
} kinds[] = {
    [FAILURE_SIGN_IN] = {"sign_in", "sign-in"},
    [FAILURE_API_KEY] = {"api_key", "API key"},
    [FAILURE_APP] = {"app", "app"},
    [FAILURE_INVITATION] = {"invitation", "invitation"},
};

struct failure_log *failure_log_new(void)
{
    return xcalloc(1, sizeof(struct failure_log));
}

void failure_log_free(struct failure_log *l)
{
    free(l);
}

static void begin_second(struct failure_log *l, int64_t second)
{
    if (second == l->second)
        return;
    if (l->omitted)
        log_info("%llu failed authentications were not logged, because there were more than %d in a second",
                 (unsigned long long)l->omitted, FAILURE_LINES_PER_SECOND);
    l->second = second;
    l->lines = 0;
    l->omitted = 0;
}

void failure_log_record(struct failure_log *l, enum failure_kind kind, struct str address, int64_t now_ms)
{
    l->counts[kind]++;
    begin_second(l, now_ms / SECOND_MS);
    if (l->lines == FAILURE_LINES_PER_SECOND) {
        l->omitted++;
        return;
    }
    l->lines++;
    log_info("authentication failed: %s from %.*s", kinds[kind].text, (int)address.len, address.p);
}

uint64_t failure_log_get_count(const struct failure_log *l, enum failure_kind kind)
{
    return l->counts[kind];
}

const char *failure_kind_name(enum failure_kind kind)
{
    return kinds[kind].name;
}
