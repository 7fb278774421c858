/* Parses Redis URLs, and builds the options from the configuration. */
#include "base/check.h"
#include "base/number.h"
#include "config/key_rows.h"
#include "redis/redis.h"

#include <stdlib.h>

static char *copy(struct str s)
{
    char *p = xmalloc(s.len + 1);
    memcpy(p, s.p, s.len);
    p[s.len] = '\0';
    return p;
}

static bool parse_database(struct redis_options *o, struct str text)
{
    unsigned long long n;
    if (!str_to_u64(text, 1000000, &n))
        return false;
    o->database = (int)n;
    return true;
}

/* Decodes %XX in place. Returns false if a percent-encoding is invalid or encodes a NUL. */
static bool decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from == '%') {
            const int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);
            if (low < 0 || !(high | low))
                return false;
            *to++ = (char)(high << 4 | low);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return true;
}

/* Parses "user", ":password" or "user:password". */
static const char *parse_user(struct redis_options *o, struct str text)
{
    struct str user, password = str_cut(text, ':', &user);
    bool ok = true;
    if (user.len)
        ok = decode(o->user = copy(user));
    if (password.len && !o->password)
        ok = decode(o->password = copy(password)) && ok;
    return ok ? NULL
              : "must have % only before two hexadecimal digits other than 00; write % in a password as %25";
}

/* Parses "host", "host:port", "[IPv6]" or "[IPv6]:port". */
static const char *parse_host(struct redis_options *o, struct str text)
{
    struct str host, port = {NULL, 0};
    unsigned long long n = 6379;
    if (text.len && text.p[0] == '[') {
        struct str rest = str_cut(str_make(text.p + 1, text.len - 1), ']', &host);
        if (!rest.p || (rest.len && rest.p[0] != ':'))
            return "must have an address in brackets that ends with ] or ]:PORT";
        port = rest.len ? str_make(rest.p + 1, rest.len - 1) : port;
    } else {
        port = str_cut(text, ':', &host);
    }
    if (!host.len)
        return "must contain a host";
    if (port.p && (!str_to_u64(port, 65535, &n) || n == 0))
        return "must have a port from 1 to 65535";
    o->port = (int)n;
    o->host = copy(host);
    return NULL;
}

/* Splits at the last @, because an @ or / in a password may be unencoded. */
static const char *parse_tcp(struct redis_options *o, struct str rest)
{
    const char *at = rest.len ? memrchr(rest.p, '@', rest.len) : NULL, *why = NULL;
    if (at) {
        const size_t len = (size_t)(at - rest.p);
        why = parse_user(o, str_make(rest.p, len));
        rest = str_make(at + 1, rest.len - len - 1);
    }
    struct str host, database = str_cut(rest, '/', &host);
    why = why ? why : parse_host(o, host);
    if (why || !database.len || parse_database(o, database))
        return why;
    return "must end in the number of a database from 0 to 1000000, such as /0";
}

static const char *parse_unix(struct redis_options *o, struct str rest)
{
    struct str path, query = str_cut(rest, '?', &path);
    if (!path.len)
        return "must contain the path of the Unix socket";
    o->unix_path = copy(path);
    if (!query.p)
        return NULL;
    if (!str_starts_with(query, STR("database=")))
        return "may have only ?database=N after the path of the Unix socket";
    return parse_database(o, str_make(query.p + 9, query.len - 9))
               ? NULL
               : "must end in the number of a database from 0 to 1000000, such as ?database=0";
}

static const char *parse_url(struct redis_options *o, struct str s, struct str password)
{
    *o = (struct redis_options){0};
    if (password.len)
        o->password = copy(password);
    if (str_starts_with(s, STR("redis://")))
        return parse_tcp(o, str_make(s.p + 8, s.len - 8));
    if (str_starts_with(s, STR("rediss://"))) {
        o->tls = true;
        return parse_tcp(o, str_make(s.p + 9, s.len - 9));
    }
    if (str_starts_with(s, STR("unix:")))
        return parse_unix(o, str_make(s.p + 5, s.len - 5));
    return "must begin with redis://, rediss:// or unix:";
}

enum err redis_options_parse(struct redis_options *o, const char *url, const char *password,
                             struct error *error)
{
    const char *why = parse_url(o, str_from_cstr(url), str_from_cstr(password));
    return why ? error_set(error, ERR_INVALID, "%s", why) : OK;
}

enum err config_check_redis_url(struct str value, struct error *error)
{
    struct redis_options o;
    if (!value.len)
        return OK;
    const char *why = parse_url(&o, value, (struct str){NULL, 0});
    redis_options_fini(&o);
    return why ? error_set(error, ERR_INVALID, "%s", why) : OK;
}

void redis_options_fini(struct redis_options *o)
{
    free(o->host);
    free(o->unix_path);
    free(o->user);
    free(o->password);
    *o = (struct redis_options){0};
}

static enum err check_tls_files(const struct redis_options *o, struct error *error)
{
    struct error tls_error = {0};
    struct redis_tls *tls = redis_tls_new(&o->files, &tls_error);
    redis_tls_free(tls);
    return tls ? OK : error_set(error, tls_error.code, "[redis] %s", tls_error.text);
}

enum err redis_options_from_config(struct redis_options *o, const struct config *c, struct error *error)
{
    struct error url_error = {0};
    enum err err = redis_options_parse(o, c->redis.url, c->redis.password, &url_error);
    if (err) {
        redis_options_fini(o);
        return error_set(error, err, "[redis] url %s", url_error.text);
    }
    o->files = (struct redis_tls_files){.ca_file = c->redis.ca_file,
                                        .cert_file = c->redis.client_cert_file,
                                        .key_file = c->redis.client_key_file};
    if (!o->tls)
        return OK;
    err = check_tls_files(o, error);
    if (err)
        redis_options_fini(o);
    return err;
}
