/* The pattern of a location determines whether URLs with secrets may reach it. They reach a location whose
 * pattern contains "invite" or "callback". They do not reach a location of the API. They reach any other
 * location unless there are locations for "invite" and for "callback". */
#include "doctor/nginx_logs.h"

enum { FORMAT_MAX = 8192 };

static const char *const url_variables[] = {"request",      "request_uri", "uri",
                                            "document_uri", "args",        "query_string",
                                            "http_referer", "arg_code",    NULL};
static const char *const field_variables[] = {"http_cookie", "http_authorization", "request_body", NULL};

/* Returns the pattern of a location, which is its last word. */
static struct str pattern_of(const struct nginx_directive *location)
{
    return str_eq(nginx_word(location, 0), STR("location")) ? nginx_word(location, location->count - 1)
                                                            : STR("/");
}

static bool mentions(const struct nginx_directive *location, const char *word)
{
    const struct str pattern = pattern_of(location);
    return pattern.len && memmem(pattern.p, pattern.len, word, strlen(word));
}

static bool any_mentions(const struct nginx_view *v, const char *word)
{
    for (size_t i = 0; i < v->proxies.count; i++)
        if (mentions(v->proxies.items[i].location, word))
            return true;
    return false;
}

/* Returns true if URLs with secrets may reach the location. */
static bool serves_secrets(const struct nginx_view *v, const struct nginx_directive *location,
                           const char *base_url)
{
    const char *scheme = strstr(base_url, "://"), *path = scheme ? strchr(scheme + 3, '/') : NULL;
    if (mentions(location, "invite") || mentions(location, "callback"))
        return true;
    if (path && str_starts_with(pattern_of(location), str_from_cstr(path)))
        return false;
    return !any_mentions(v, "invite") || !any_mentions(v, "callback");
}

/* Returns the first variable in `variables` that `format` contains, or NULL if it contains none of them. */
static const char *find_variable(struct str format, const char *const *variables)
{
    for (; *variables; variables++)
        if (nginx_has_variable(format, *variables))
            return *variables;
    return NULL;
}

static struct str format_named(const struct nginx_view *v, struct str name, char room[FORMAT_MAX])
{
    struct buf format = buf_on(room, FORMAT_MAX);
    for (const struct nginx_directive *d = v->root; d; d = nginx_next_in_text(d))
        if (str_eq(nginx_word(d, 0), STR("log_format")) && str_eq(nginx_word(d, 1), name)) {
            for (int i = 2; i < d->count; i++)
                buf_append(&format, nginx_word(d, i));
            return buf_str(&format);
        }
    return STR("$remote_addr $request $http_referer"); /* the predefined format "combined" */
}

static bool log_has_secret(const struct nginx_view *v, const struct nginx_directive *location,
                           const struct nginx_directive *log, bool has_secret_urls, struct error *why)
{
    char room[FORMAT_MAX];
    const struct str target = nginx_word(log, 1), given = nginx_word(log, 2),
                     name = given.p ? given : STR("combined");
    if (str_eq(target, STR("off")) || str_eq(target, STR("/dev/null")))
        return false;
    const struct str format = format_named(v, name, room);
    const char *variable = find_variable(format, field_variables);
    if (!variable && has_secret_urls)
        variable = find_variable(format, url_variables);
    if (!variable)
        return false;
    (void)error_set(
        why, ERR_INVALID,
        "the access log of %.*s:%d has the format %.*s with $%s, which contains invitations, codes of "
        "platforms or keys",
        (int)location->file.len, location->file.p, location->line, (int)name.len, name.p, variable);
    return true;
}

bool nginx_access_log_can_have_secrets(const struct nginx_view *v, const char *base_url, struct error *why)
{
    static const struct nginx_directive initial = {.words = {{"access_log", 10}, {"logs/access.log", 15}},
                                                   .count = 2};
    for (size_t i = 0; i < v->proxies.count; i++) {
        const struct nginx_directive *location = v->proxies.items[i].location, *log = NULL;
        const struct nginx_directive *block = nginx_find_inherited(location, "access_log");
        const bool has_secret_urls = serves_secrets(v, location, base_url);
        if (!block && log_has_secret(v, location, &initial, has_secret_urls, why))
            return true;
        while (block && (log = nginx_next_child(block, log, "access_log")))
            if (log_has_secret(v, location, log, has_secret_urls, why))
                return true;
    }
    return false;
}

/* Returns true if the error log of the location excludes messages about requests, to which nginx adds the
 * request line. These messages have the level crit or a less severe one, so only the levels alert and emerg
 * exclude them. */
static bool is_quiet(const struct nginx_directive *location)
{
    const struct nginx_directive *block = nginx_find_inherited(location, "error_log"), *log = NULL;
    while (block && (log = nginx_next_child(block, log, "error_log"))) {
        const struct str level = nginx_word(log, 2);
        if (!str_eq(nginx_word(log, 1), STR("/dev/null")) && !str_eq(level, STR("emerg")) &&
            !str_eq(level, STR("alert")))
            return false;
    }
    return block;
}

bool nginx_error_log_can_have_secrets(const struct nginx_view *v, struct error *why)
{
    static const char *const words[] = {"invite", "callback"};
    for (size_t w = 0; w < 2; w++) {
        if (!any_mentions(v, words[w]))
            return error_set(
                       why, ERR_INVALID,
                       "no location keeps URLs with \"%s\" out of nginx's error log, which quotes them if "
                       "viewtally does not respond",
                       words[w]) != OK;
        for (size_t i = 0; i < v->proxies.count; i++) {
            const struct nginx_directive *location = v->proxies.items[i].location;
            if (mentions(location, words[w]) && !is_quiet(location))
                return error_set(why, ERR_INVALID, "%.*s:%d writes URLs with \"%s\" to nginx's error log",
                                 (int)location->file.len, location->file.p, location->line, words[w]) != OK;
        }
    }
    return false;
}
