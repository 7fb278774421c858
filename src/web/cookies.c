/* Sets cookies with their prefixes and attributes, and finds the cookies of a request. */
#include "web/cookies.h"

#include "auth/session.h"
#include "base/check.h"
#include "base/clock.h"

static const struct str SESSION_COOKIE = {"viewtally-session", 17};

static struct str cookie_name(struct request *r, struct str name)
{
    return arena_printf(&r->arena, "%s%.*s", page_context_of(r)->web->secure ? "__Host-" : "", (int)name.len,
                        name.p);
}

struct str web_cookie_find(struct request *r, struct str name)
{
    return cookie_find(r->field[FIELD_COOKIE], cookie_name(r, name));
}

void web_cookie_set(struct request *r, struct str name, struct str value, int64_t max_age_s)
{
    struct page_context *page = page_context_of(r);
    struct str full = cookie_name(r, name), age = STR("");
    if (max_age_s >= 0)
        age = arena_printf(&r->arena, "; Max-Age=%lld", (long long)max_age_s);
    CHECK(page->cookie_count < sizeof page->cookies / sizeof page->cookies[0]);
    page->cookies[page->cookie_count++] = arena_printf(
        &r->arena, "%.*s=%.*s; Path=/; HttpOnly; SameSite=Lax%s%.*s", (int)full.len, full.p, (int)value.len,
        value.p ? value.p : "", page->web->secure ? "; Secure" : "", (int)age.len, age.p);
}

void session_cookie_set(struct request *r, const struct secret *session)
{
    web_cookie_set(r, SESSION_COOKIE, secret_format(&r->arena, session), SESSION_LIFE_MS / SECOND_MS);
}

void session_cookie_clear(struct request *r)
{
    web_cookie_set(r, SESSION_COOKIE, STR(""), 0);
}

struct str session_cookie_find(struct request *r)
{
    return web_cookie_find(r, SESSION_COOKIE);
}
