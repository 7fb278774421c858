/* Redis addresses. */
#include "base/check.h"
#include "config/config.h"
#include "redis/redis.h"

#include <stdio.h>
#include <stdlib.h>

static char *copy(struct str s)
{
    char *p = xmalloc(s.len + 1);
    memcpy(p, s.p, s.len);
    p[s.len] = '\0';
    return p;
}

static bool refuse(const char **why, const char *text)
{
    *why = text;
    return false;
}

static bool read_database(struct redis_options *o, struct str text, const char **why)
{
    unsigned long long n;
    if (!str_to_u64(text, 1000000, &n))
        return refuse(why, "the database is no number");
    o->database = (int)n;
    return true;
}

/* user, :password, user:password. A password elsewhere (password_file) wins. */
static void read_user(struct redis_options *o, struct str text)
{
    struct str user, password = str_cut(text, ':', &user);
    if (user.len)
        o->user = copy(user);
    if (password.len && !o->password)
        o->password = copy(password);
}

/* host, host:port, [v6], [v6]:port */
static bool read_host(struct redis_options *o, struct str text, const char **why)
{
    struct str host, port = {NULL, 0};
    unsigned long long n;
    if (text.len && text.p[0] == '[') {
        struct str rest = str_cut(str_make(text.p + 1, text.len - 1), ']', &host);
        if (!rest.p || (rest.len && rest.p[0] != ':'))
            return refuse(why, "the address in brackets does not end");
        port = rest.len ? str_make(rest.p + 1, rest.len - 1) : port;
    } else {
        port = str_cut(text, ':', &host);
    }
    if (!host.len)
        return refuse(why, "there is no host");
    if (port.p && (!str_to_u64(port, 65535, &n) || n == 0))
        return refuse(why, "the port is no number from 1 to 65535");
    o->port = port.p ? (int)n : 6379;
    o->host = copy(host);
    return true;
}

static bool read_tcp(struct redis_options *o, struct str rest, const char **why)
{
    struct str authority, database = str_cut(rest, '/', &authority), user;
    struct str host = str_cut(authority, '@', &user);
    if (host.p)
        read_user(o, user);
    else
        host = authority;
    return read_host(o, host, why) && (!database.len || read_database(o, database, why));
}

static bool read_unix(struct redis_options *o, struct str rest, const char **why)
{
    struct str path, query = str_cut(rest, '?', &path);
    if (!path.len)
        return refuse(why, "there is no path");
    o->unix_path = copy(path);
    if (!query.p)
        return true;
    if (!str_starts_with(query, STR("database=")))
        return refuse(why, "only ?database=N may follow the path");
    return read_database(o, str_make(query.p + 9, query.len - 9), why);
}

bool redis_options_parse(struct redis_options *o, const char *url, const char *password, const char **why)
{
    struct str s = str_from_cstr(url);
    *o = (struct redis_options){0};
    if (password && *password)
        o->password = copy(str_from_cstr(password));
    if (str_starts_with(s, STR("redis://")))
        return read_tcp(o, str_make(s.p + 8, s.len - 8), why);
    if (str_starts_with(s, STR("rediss://"))) {
        o->tls = true;
        return read_tcp(o, str_make(s.p + 9, s.len - 9), why);
    }
    if (str_starts_with(s, STR("unix:")))
        return read_unix(o, str_make(s.p + 5, s.len - 5), why);
    return refuse(why, "it begins with none of redis://, rediss:// and unix:");
}

void redis_options_fini(struct redis_options *o)
{
    free(o->host);
    free(o->unix_path);
    free(o->user);
    free(o->password);
    *o = (struct redis_options){0};
}

static bool files_fit(const struct redis_options *o, char *message, size_t size)
{
    char why[256];
    struct redis_tls *tls = o->tls ? redis_tls_new(&o->files, why, sizeof why) : NULL;
    if (o->tls && !tls)
        (void)snprintf(message, size, "[redis] %s", why);
    redis_tls_free(tls);
    return !o->tls || tls;
}

bool redis_options_configured(struct redis_options *o, const struct config *c, char *message, size_t size)
{
    const char *why = "";
    bool ok = redis_options_parse(o, c->redis.url, c->redis.password, &why);
    if (!ok)
        (void)snprintf(message, size, "[redis] url: %s", why);
    o->files = (struct redis_tls_files){.ca_file = c->redis.ca_file,
                                        .cert_file = c->redis.client_cert_file,
                                        .key_file = c->redis.client_key_file};
    ok = ok && files_fit(o, message, size);
    if (!ok)
        redis_options_fini(o);
    return ok;
}
