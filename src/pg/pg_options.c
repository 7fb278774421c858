/* Checks the URL and splits its host list. libpq parses the URL itself (pg_conninfo_parse()). */
#include "pg/pg_options.h"

#include "base/check.h"
#include "base/str.h"
#include "pg/pg_connection.h"
#include "pg/pg_password.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { CONNECT_DEFAULT_S = 3, CONNECT_MAX_S = 60, NAME_MAX_LEN = 40 };

static const char *const allowed[] = {
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "options",
    "passfile",
    "port",
    "require_auth",
    "sslcert",
    "sslcertmode",
    "sslcrl",
    "sslcrldir",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslrootcert",
    "sslsni",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
};

static char *copy(struct str s)
{
    char *p = xmalloc(s.len + 1);
    if (s.len)
        memcpy(p, s.p, s.len);
    p[s.len] = 0;
    return p;
}

static bool is_allowed(struct str name)
{
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (str_eq(name, str_from_cstr(allowed[i])))
            return true;
    return false;
}

static bool is_word(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || s.p[i] == '_'))
            return false;
    return s.len > 0 && s.len <= NAME_MAX_LEN;
}

static enum err check_parameter(struct str name, struct error *error)
{
    if (is_allowed(name))
        return OK;
    if (str_eq(name, STR("password")) || str_eq(name, STR("sslpassword")))
        return error_set(error, ERR_INVALID, "the URL must not contain a password; write it to a file");
    if (str_eq(name, STR("hostaddr")))
        return error_set(error, ERR_INVALID,
                         "hostaddr is not supported; write the addresses in place of the hosts");
    /* The message quotes only a plausible name, because other text may be part of a password that contains a
     * question mark. */
    if (is_word(name))
        return error_set(error, ERR_INVALID, "unknown parameter %.*s", (int)name.len, name.p);
    return error_set(error, ERR_INVALID, "unknown parameter after the question mark");
}

/* Repeats some checks of libpq, because libpq's messages quote the URL. */
static enum err check_url(struct str url, struct error *error)
{
    struct str scheme, rest = str_cut(url, ':', &scheme), path, parameter;
    if ((!str_eq(scheme, STR("postgresql")) && !str_eq(scheme, STR("postgres"))) ||
        !str_starts_with(rest, STR("//")) || !str_is_utf8(url))
        return error_set(error, ERR_INVALID, "expected postgresql://user@host[:port][,host…]/database");
    struct str query = str_cut(str_make(rest.p + 2, rest.len - 2), '?', &path);
    while (query.p && query.len) {
        struct str name;
        query = str_cut(query, '&', &parameter);
        (void)str_cut(parameter, '=', &name);
        enum err err = check_parameter(name, error);
        if (err)
            return err;
    }
    return OK;
}

/* ---- checking the options of the URL ---- */

struct parsed {
    struct pg_options *o;
    char *hosts, *ports;
    struct error *error;
    enum err err;
};

static enum err parse_connect_timeout(struct pg_options *o, const char *value, struct error *error)
{
    unsigned long long seconds;
    if (!str_to_u64(str_from_cstr(value), CONNECT_MAX_S, &seconds) || seconds == 0)
        return error_set(error, ERR_INVALID, "connect_timeout must be a number of seconds from 1 to %d",
                         CONNECT_MAX_S);
    o->connect_ms = (int)seconds * 1000;
    return OK;
}

static bool is_sslmode(const char *value)
{
    static const char *const modes[] = {"verify-full", "verify-ca", "require", "prefer", "allow", "disable"};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(value, modes[i]) == 0)
            return true;
    return false;
}

static void add_setting(struct pg_options *o, const char *keyword, const char *value)
{
    CHECK(o->setting_count < PG_SETTINGS_MAX);
    o->settings[o->setting_count++] =
        (struct pg_setting){copy(str_from_cstr(keyword)), copy(str_from_cstr(value))};
}

static void on_keyword(void *ctx, const char *keyword, const char *value)
{
    struct parsed *p = ctx;
    if (p->err) /* a later keyword must not replace the error */
        return;
    if (strcmp(keyword, "host") == 0)
        p->hosts = copy(str_from_cstr(value));
    else if (strcmp(keyword, "port") == 0)
        p->ports = copy(str_from_cstr(value));
    else if (strcmp(keyword, "password") == 0)
        p->err = error_set(p->error, ERR_INVALID, "the URL must not contain a password; write it to a file");
    else if (strcmp(keyword, "connect_timeout") == 0)
        p->err = parse_connect_timeout(p->o, value, p->error);
    else if (strcmp(keyword, "target_session_attrs") == 0 && strcmp(value, "read-write") != 0)
        p->err = error_set(p->error, ERR_INVALID,
                           "target_session_attrs must be read-write: viewtally needs the primary");
    else if (strcmp(keyword, "sslmode") == 0 && !is_sslmode(value))
        p->err = error_set(p->error, ERR_INVALID,
                           "sslmode must be verify-full, verify-ca, require, prefer, allow or disable");
    else
        add_setting(p->o, keyword, value);
}

static enum err set_form(struct error *error, const char *what)
{
    return error_set(error, ERR_INVALID, "%sexpected postgresql://user@host[:port][,host…]/database", what);
}

/* Requires a user and a database in the URL: otherwise libpq would use the name of the operating system's
 * user. */
static enum err check_names(const struct pg_options *o, struct error *error)
{
    bool has_user = false, has_database = false;
    for (int i = 0; i < o->setting_count; i++) {
        has_user = has_user || strcmp(o->settings[i].keyword, "user") == 0;
        has_database = has_database || strcmp(o->settings[i].keyword, "dbname") == 0;
    }
    return !has_user       ? set_form(error, "the URL names no user: ")
           : !has_database ? set_form(error, "the URL names no database: ")
                           : OK;
}

static enum err check_port(struct str port, struct error *error)
{
    unsigned long long number;
    if (!str_to_u64(port, 65535, &number) || number == 0)
        return error_set(error, ERR_INVALID, "port must be a number from 1 to 65535");
    return OK;
}

/* As in libpq, there is one port for each host or one for all hosts. An empty port is the default port. */
static enum err split_hosts(struct pg_options *o, struct str hosts, struct str ports, struct error *error)
{
    const bool one_port = !ports.p || !memchr(ports.p, ',', ports.len);
    struct str port = ports;
    do {
        struct str host;
        if (o->host_count == PG_HOSTS_MAX)
            return error_set(error, ERR_INVALID, "at most %d hosts are supported", PG_HOSTS_MAX);
        hosts = str_cut(hosts, ',', &host);
        if (!one_port)
            ports = str_cut(ports, ',', &port);
        const struct str number = port.len ? port : STR("5432");
        enum err err = check_port(number, error);
        if (err)
            return err;
        o->hosts[o->host_count++] =
            (struct pg_host){copy(host.len ? host : STR("/var/run/postgresql")), copy(number)};
    } while (hosts.p);
    return OK;
}

enum err pg_options_parse(struct pg_options *o, const char *url, const char *password,
                          const char *password_file, struct error *error)
{
    *o = (struct pg_options){.connect_ms = CONNECT_DEFAULT_S * 1000};
    struct parsed p = {.o = o, .error = error};
    enum err err = check_url(str_from_cstr(url), error);
    if (!err && !pg_conninfo_parse(url, on_keyword, &p))
        err = set_form(error, "");
    if (!err)
        err = p.err;
    if (!err)
        err = check_names(o, error);
    if (!err)
        err = split_hosts(o, str_from_cstr(p.hosts), str_from_cstr(p.ports), error);
    if (!err && password && *password)
        o->password = copy(str_from_cstr(password));
    if (!err && password_file && *password_file)
        o->password_file = copy(str_from_cstr(password_file));
    free(p.hosts);
    free(p.ports);
    return err;
}

static void free_password(struct pg_options *o)
{
    if (o->password)
        explicit_bzero(o->password, strlen(o->password));
    free(o->password);
}

/* The content of a pipe can be read only once. */
static bool can_be_read_again(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

void pg_options_reload_password(struct pg_options *o)
{
    char password[PG_PASSWORD_SIZE];
    struct error ignored;
    if (!o->password_file || !can_be_read_again(o->password_file))
        return;
    if (pg_password_read(o->password_file, password, &ignored) == OK) {
        free_password(o);
        o->password = copy(str_from_cstr(password));
    }
    explicit_bzero(password, sizeof password);
}

void pg_options_fini(struct pg_options *o)
{
    for (int i = 0; i < o->host_count; i++) {
        free(o->hosts[i].name);
        free(o->hosts[i].port);
    }
    for (int i = 0; i < o->setting_count; i++) {
        free(o->settings[i].keyword);
        free(o->settings[i].value);
    }
    free_password(o);
    free(o->password_file);
    *o = (struct pg_options){0};
}
