/* Redirect URIs. A registered URI contains only printable ASCII, so URIs can be compared byte by byte and
 * cannot inject other header fields into a response. */
#include "oauth/redirect.h"

#include "http/grammar.h"

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static const char *check_characters(struct str uri)
{
    for (size_t i = 0; i < uri.len; i++) {
        char c = uri.p[i];
        if (c == '#')
            return "has a fragment (#…), which a redirect address must not have";
        if (c <= ' ' || c >= 0x7F || strchr("\"<>\\^`{|}*", c))
            return "contains a character that must be percent-encoded (%XX)";
        if (c == '%' && !(i + 2 < uri.len && is_hex(uri.p[i + 1]) && is_hex(uri.p[i + 2])))
            return "has a % without two hexadecimal digits";
    }
    return NULL;
}

/* Returns the scheme without the ':'; empty if none exists. */
static struct str scheme_of(struct str uri)
{
    size_t n = 0;
    while (n < uri.len && (is_lower(uri.p[n]) || (n && (is_digit(uri.p[n]) || strchr("+-.", uri.p[n])))))
        n++;
    return str_make(uri.p, n < uri.len && uri.p[n] == ':' ? n : 0);
}

/* Returns everything after "scheme:". */
static struct str after_scheme(struct str uri)
{
    size_t n = scheme_of(uri).len + 1;
    return str_make(uri.p + n, uri.len - n);
}

/* Returns the part between "//" and the path or query. p is NULL if there is no "//". */
static struct str authority_of(struct str uri)
{
    struct str rest = after_scheme(uri);
    size_t n = 2;
    if (!str_starts_with(rest, STR("//")))
        return str_make(NULL, 0);
    while (n < rest.len && rest.p[n] != '/' && rest.p[n] != '?')
        n++;
    return str_make(rest.p + 2, n - 2);
}

/* Returns true for "." and "..", also if a dot is written as %2e. */
static bool is_dot_segment(struct str segment)
{
    size_t dots = 0;
    for (size_t i = 0; i < segment.len; dots++) {
        if (segment.p[i] == '.')
            i++;
        else if (i + 2 < segment.len && str_eq_nocase(str_make(segment.p + i, 3), STR("%2e")))
            i += 3;
        else
            return false;
    }
    return dots == 1 || dots == 2;
}

static bool has_dot_segment(struct str uri)
{
    struct str rest = after_scheme(uri), path, segment;
    (void)str_cut(rest, '?', &path);
    while (path.p) {
        path = str_cut(path, '/', &segment);
        if (is_dot_segment(segment))
            return true;
    }
    return false;
}

/* Returns true if the query of the URI has a parameter that the response also adds (code, state, error …).
 * Such a URI is rejected, because the response would be ambiguous. */
static bool has_response_parameter(struct str uri)
{
    static const char *const names[] = {"code", "state", "iss", "error", "error_description", "error_uri"};
    struct str path, pair, name;
    struct str query = str_cut(uri, '?', &path);
    while (query.p) {
        query = str_cut(query, '&', &pair);
        (void)str_cut(pair, '=', &name);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (str_eq(name, str_from_cstr(names[i])))
                return true;
    }
    return false;
}

/* Returns the length of the leading digits if they are a port from 1 to 65535, else 0. */
static size_t port_len(struct str s)
{
    unsigned long long port;
    size_t n = 0;
    while (n < s.len && is_digit(s.p[n]))
        n++;
    return n <= 5 && str_to_u64(str_make(s.p, n), 65535, &port) && port ? n : 0;
}

/* Returns NULL if `authority` consists of letters, digits, dots and hyphens, or is an address in brackets,
 * optionally followed by a port; else the reason. This is stricter than the URI syntax, because the host
 * becomes part of a Content-Security-Policy. */
static const char *check_authority(struct str authority)
{
    static const char no_host[] = "has no valid host";
    struct str host, port;
    if (!authority.len || !grammar_is_host(authority))
        return no_host;
    size_t end = authority.len;
    while (end && is_digit(authority.p[end - 1]))
        end--;
    bool has_port = end && authority.p[end - 1] == ':' && authority.p[0] != '[';
    has_port |= end > 1 && authority.p[end - 1] == ':' && authority.p[end - 2] == ']';
    host = str_make(authority.p, has_port ? end - 1 : authority.len);
    port = str_make(authority.p + end, has_port ? authority.len - end : 0);
    if (!host.len)
        return no_host;
    if (has_port && !port_len(port))
        return "has a port that is not a number from 1 to 65535";
    for (size_t i = 0; i < host.len && host.p[0] != '['; i++)
        if (!is_digit(host.p[i]) && !is_lower(host.p[i] | 0x20) && !strchr(".-", host.p[i]))
            return no_host;
    return NULL;
}

/* Returns everything after the host and port of a loopback URI. p is NULL if it is not a loopback URI. */
static struct str after_loopback(struct str uri)
{
    static const struct str starts[] = {{"http://127.0.0.1", 16}, {"http://[::1]", 12}};
    for (size_t i = 0; i < 2; i++) {
        if (!str_starts_with(uri, starts[i]))
            continue;
        struct str rest = str_make(uri.p + starts[i].len, uri.len - starts[i].len);
        if (rest.len && rest.p[0] == ':') {
            size_t n = port_len(str_make(rest.p + 1, rest.len - 1));
            if (!n)
                break;
            rest = str_make(rest.p + 1 + n, rest.len - 1 - n);
        }
        if (rest.len == 0 || rest.p[0] == '/' || rest.p[0] == '?')
            return rest;
    }
    return str_make(NULL, 0);
}

static const char *check_scheme(struct str uri)
{
    struct str scheme = scheme_of(uri), authority = authority_of(uri);
    if (!scheme.len)
        return "does not begin with a lower-case scheme such as https://";
    if (str_eq(scheme, STR("https")))
        return check_authority(authority);
    if (str_eq(scheme, STR("http")))
        return after_loopback(uri).p
                   ? NULL
                   : "uses http, which is allowed only for http://127.0.0.1 and http://[::1] "
                     "(not localhost), each without or with a port from 1 to 65535: use https";
    if (!memchr(scheme.p, '.', scheme.len))
        return "has a scheme that is neither https nor a private one with a dot such as com.example.app:";
    const char *reason = authority.len ? check_authority(authority) : NULL;
    if (reason)
        return reason;
    return after_scheme(uri).len && after_scheme(uri).p[0] == '/'
               ? NULL
               : "has no path that begins with / after its scheme";
}

const char *redirect_check(struct str uri)
{
    if (!uri.len)
        return "is empty";
    if (uri.len > REDIRECT_MAX)
        return "is longer than 2,000 bytes";
    const char *reason = check_characters(uri);
    if (reason)
        return reason;
    const struct str authority = scheme_of(uri).len ? authority_of(uri) : str_make(NULL, 0);
    if (authority.p && memchr(authority.p, '@', authority.len))
        return "contains a user name (…@)";
    reason = check_scheme(uri);
    if (reason)
        return reason;
    if (has_dot_segment(uri))
        return "has . or .. as a segment of its path";
    if (has_response_parameter(uri))
        return "has a parameter in its query that the response adds (code, state, iss, error, "
               "error_description or error_uri)";
    return NULL;
}

enum redirect_kind redirect_kind_of(struct str uri)
{
    if (str_starts_with(uri, STR("https:")))
        return REDIRECT_WEB;
    return str_starts_with(uri, STR("http:")) ? REDIRECT_LOOPBACK : REDIRECT_PRIVATE;
}

bool redirect_matches(struct str registered, struct str given)
{
    struct str a, b;
    if (given.len > REDIRECT_MAX)
        return false;
    if (str_eq(registered, given))
        return true;
    a = after_loopback(registered);
    b = after_loopback(given);
    return a.p && b.p && (registered.p[7] == '[') == (given.p[7] == '[') && str_eq(a, b);
}

struct str redirect_origin(struct str uri)
{
    struct str authority = authority_of(uri);
    if (redirect_kind_of(uri) == REDIRECT_PRIVATE)
        return str_make(uri.p, scheme_of(uri).len + 1);
    return str_make(uri.p, (size_t)(authority.p - uri.p) + authority.len);
}

struct str redirect_display_name(struct str uri)
{
    return redirect_kind_of(uri) == REDIRECT_PRIVATE ? scheme_of(uri) : authority_of(uri);
}

static void append_encoded(struct buf *b, struct str s)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain =
            is_digit(s.p[i]) || is_lower(s.p[i]) || (c >= 'A' && c <= 'Z') || (c && strchr("-._~", (int)c));
        if (plain) {
            buf_append_char(b, s.p[i]);
            continue;
        }
        const char text[] = {'%', hex[c >> 4], hex[c & 15]};
        buf_append(b, str_make(text, sizeof text));
    }
}

struct str redirect_add_parameters(struct arena *a, struct str uri, const struct redirect_param *params,
                                   size_t count)
{
    struct buf b;
    bool has_query = memchr(uri.p, '?', uri.len);
    buf_init(&b, 64 << 10);
    buf_append(&b, uri);
    for (size_t i = 0; i < count; i++) {
        if (!params[i].value.p)
            continue;
        if (!has_query)
            buf_append_char(&b, '?');
        else if (b.p[b.len - 1] != '?' && b.p[b.len - 1] != '&')
            buf_append_char(&b, '&');
        has_query = true;
        buf_append(&b, str_from_cstr(params[i].name));
        buf_append_char(&b, '=');
        append_encoded(&b, params[i].value);
    }
    struct str out = arena_copy(a, buf_str(&b));
    buf_fini(&b);
    return out;
}
