/* A small table of error codes with their expiry. */
#include "fetch/unknown_codes.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

bool text_copy(char *to, size_t size, struct str s)
{
    const size_t n = s.len < size ? s.len : size - 1;
    if (n)
        memcpy(to, s.p, n);
    to[n] = 0;
    return n == s.len;
}

bool unknown_codes_add(struct unknown_codes *u, struct str code)
{
    const int64_t now = clock_wall_ms();
    int unused = -1;
    for (int i = 0; i < UNKNOWN_CODES_MAX; i++) {
        const int64_t until = u->entries[i].until;
        if (until > now && str_eq(str_from_cstr(u->entries[i].text), code))
            return false;
        if (until <= now && (!until || unused < 0))
            unused = i;
    }
    if (unused < 0 || !text_copy(u->entries[unused].text, ERROR_CODE_MAX, code))
        return false;
    u->entries[unused].until = now + DAY_MS;
    return true;
}

/* Also loads expired codes, so that unknown_codes_save() deletes them. */
static bool on_limit(void *ctx, const struct platform_limit *limit)
{
    struct unknown_codes *u = ctx;
    int n = 0;
    while (n < UNKNOWN_CODES_MAX && u->entries[n].until)
        n++;
    if (n == UNKNOWN_CODES_MAX)
        return false;
    if (!str_starts_with(limit->name, LIMIT_UNKNOWN_CODE))
        return true;
    const size_t prefix = LIMIT_UNKNOWN_CODE.len;
    if (text_copy(u->entries[n].text, ERROR_CODE_MAX,
                  str_make(limit->name.p + prefix, limit->name.len - prefix)))
        u->entries[n].until = limit->until;
    return true;
}

enum err unknown_codes_load(struct unknown_codes *u, struct store *store, int api)
{
    return store_list_platform_limits(store, api, on_limit, u);
}

enum err unknown_codes_save(const struct unknown_codes *u, struct store *store, int api)
{
    const int64_t now = clock_wall_ms();
    for (int i = 0; i < UNKNOWN_CODES_MAX; i++) {
        char name[sizeof "unknown." + ERROR_CODE_MAX];
        const int64_t until = u->entries[i].until;
        if (!until)
            continue;
        (void)snprintf(name, sizeof name, "%.*s%s", (int)LIMIT_UNKNOWN_CODE.len, LIMIT_UNKNOWN_CODE.p,
                       u->entries[i].text);
        const struct platform_limit limit = {
            .api = api, .name = str_from_cstr(name), .value = 1, .until = until};
        const enum err err = until > now ? store_put_platform_limit(store, &limit)
                                         : store_delete_platform_limit(store, api, limit.name);
        if (err)
            return err;
    }
    return OK;
}
