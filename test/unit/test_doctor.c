/* Tests each check of `viewtally doctor` with problems that it must report, and with good states that it
 * must not report. Facts that a test machine cannot have are made up. */
#include "unit.h"

#include "base/build_info.h"
#include "doctor/clock_facts.h"
#include "doctor/doctor.h"
#include "doctor/file_systems.h"
#include "doctor/library_versions.h"
#include "doctor/nginx_view.h"
#include "doctor/redis_facts.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct rig {
    struct cli cli;
    struct doctor doctor;
    char path[64]; /* of the configuration of nginx */
};

static void set_up(struct rig *r)
{
    *r = (struct rig){.cli.lock.file.fd = -1};
    config_init(&r->cli.config);
    r->doctor = (struct doctor){.cli = &r->cli, .config = &r->cli.config};
}

static void tear_down(struct rig *r)
{
    doctor_fini(&r->doctor);
    config_fini(&r->cli.config);
    if (*r->path)
        (void)unlink(r->path);
}

static const struct finding *last(const struct rig *r)
{
    assert_true(r->doctor.findings.count > 0);
    return &r->doctor.findings.items[r->doctor.findings.count - 1];
}

/* Expects that the last finding has this state, names a fix if it is a problem, and contains `text`. */
static void expect(const struct rig *r, enum finding_state state, const char *text)
{
    const struct finding *f = last(r);
    if (f->state != state || !strstr(f->text, text))
        fail_msg("state %d: %s (expected state %d: %s)", (int)f->state, f->text, (int)state, text);
    assert_int_equal(*f->fix != '\0', state == FINDING_WARNING || state == FINDING_ERROR);
}

static void run_check(struct rig *r, const struct doctor_group *group, const char *name)
{
    for (size_t i = 0; i < group->count; i++)
        if (strcmp(group->checks[i].name, name) == 0) {
            r->doctor.group = group->name;
            r->doctor.check = name;
            group->checks[i].run(&r->doctor);
            return;
        }
    fail_msg("there is no check %s", name);
}

/* ---- clock, libraries, file systems ---- */

static void clock_must_be_synchronized(void **state)
{
    struct rig r;
    (void)state;
    set_up(&r);
    doctor_report_clock_sync(&r.doctor, &(struct clock_facts){.is_known = true, .is_synchronized = true});
    expect(&r, FINDING_OK, "is synchronized");
    doctor_report_clock_sync(&r.doctor, &(struct clock_facts){.is_known = true, .is_synchronized = false});
    expect(&r, FINDING_WARNING, "is not synchronized");
    doctor_report_clock_sync(&r.doctor, &(struct clock_facts){.is_known = false});
    expect(&r, FINDING_SKIPPED, "does not report");
    tear_down(&r);
}

static void clock_of_redis_must_agree_with_the_clock_of_the_machine(void **state)
{
    struct rig r;
    (void)state;
    set_up(&r);
    doctor_report_redis_clock(&r.doctor, &(struct redis_facts){.has_time = true, .ahead_ms = 2000});
    expect(&r, FINDING_OK, "agrees with ours");
    doctor_report_redis_clock(&r.doctor, &(struct redis_facts){.has_time = true, .ahead_ms = 2001});
    expect(&r, FINDING_WARNING, "2.0 s ahead of ours");
    doctor_report_redis_clock(&r.doctor, &(struct redis_facts){.has_time = true, .ahead_ms = -61500});
    expect(&r, FINDING_WARNING, "61.5 s behind ours");
    doctor_report_redis_clock(&r.doctor, &(struct redis_facts){.has_time = false});
    expect(&r, FINDING_SKIPPED, "unknown");
    tear_down(&r);
}

static void old_libraries_are_errors(void **state)
{
    const struct build_library old[] = {{"libuv", "1.50.0"}, {"sqlite", "3.51.2"}, {"zlib", "1.0"}};
    struct rig r;
    (void)state;
    set_up(&r);
    doctor_report_libraries(&r.doctor, build_libraries, build_library_count);
    expect(&r, FINDING_OK, "all libraries");
    doctor_report_libraries(&r.doctor, old, 3);
    expect(&r, FINDING_ERROR, "sqlite 3.51.2 has defects that affect viewtally; 3.51.3 or newer");
    assert_true(doctor_compare_versions("3.9", "3.10") < 0 && doctor_compare_versions("9.4.3", "9.4.2") > 0);
    assert_int_equal(doctor_compare_versions("1.2", "1.2.0"), 0);
    assert_true(doctor_compare_versions("4", "3.51.3") > 0 &&
                doctor_compare_versions("3.53.2+x", "3.53.2") == 0);
    tear_down(&r);
}

static void network_file_systems_are_errors(void **state)
{
    struct rig r;
    (void)state;
    set_up(&r);
    doctor_report_file_system(&r.doctor, EXT4_SUPER_MAGIC);
    expect(&r, FINDING_OK, "local file system");
    doctor_report_file_system(&r.doctor, NFS_SUPER_MAGIC);
    expect(&r, FINDING_ERROR, "network file system");
    doctor_report_file_system(&r.doctor, 0xFF534D42UL);
    expect(&r, FINDING_ERROR, "network file system");
    doctor_report_file_system(&r.doctor, TMPFS_MAGIC);
    expect(&r, FINDING_WARNING, "lost at a restart");
    tear_down(&r);
}

/* ---- Redis ---- */

static struct redis_facts *good_redis(struct rig *r)
{
    struct redis_facts *f = calloc(1, sizeof *f);
    *f = (struct redis_facts){.is_configured = true,
                              .is_connected = true,
                              .has_info = true,
                              .version = "7.0.15",
                              .policy = "noeviction",
                              .latency_us = 200};
    redis_facts_free(r->doctor.redis);
    r->doctor.redis = f;
    return f;
}

static void good_redis_passes_every_check(void **state)
{
    static const char *const names[] = {"connection", "version",  "permissions",
                                        "writable",   "eviction", "latency"};
    struct rig r;
    (void)state;
    set_up(&r);
    (void)good_redis(&r);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        run_check(&r, &doctor_redis, names[i]);
        expect(&r, FINDING_OK, "");
    }
    assert_int_equal(doctor_redis.count, sizeof names / sizeof *names);
    tear_down(&r);
}

static void problems_of_redis_are_reported(void **state)
{
    struct rig r;
    (void)state;
    set_up(&r);
    (void)snprintf(good_redis(&r)->version, 32, "5.0.14");
    run_check(&r, &doctor_redis, "version");
    expect(&r, FINDING_ERROR, "5.0.14 is too old");
    (void)snprintf(good_redis(&r)->missing, 32, " +mget +del");
    run_check(&r, &doctor_redis, "permissions");
    expect(&r, FINDING_ERROR, "lacks permissions: +mget +del");
    assert_non_null(strstr(last(&r)->fix, "~viewtally:* +mget +del"));
    (void)snprintf(good_redis(&r)->rejected, 32, "OOM command not allowed");
    run_check(&r, &doctor_redis, "writable");
    expect(&r, FINDING_ERROR, "OOM command not allowed");
    struct redis_facts *f = good_redis(&r);
    f->max_memory = 1000;
    run_check(&r, &doctor_redis, "eviction");
    expect(&r, FINDING_OK, "nothing is evicted");
    (void)snprintf(f->policy, 32, "allkeys-lru");
    run_check(&r, &doctor_redis, "eviction");
    expect(&r, FINDING_WARNING, "allkeys-lru");
    f->latency_us = 9999;
    run_check(&r, &doctor_redis, "latency");
    expect(&r, FINDING_OK, "10.0 ms");
    f->latency_us = 10000;
    run_check(&r, &doctor_redis, "latency");
    expect(&r, FINDING_WARNING, "10.0 ms");
    f->latency_us = 50000;
    run_check(&r, &doctor_redis, "latency");
    expect(&r, FINDING_ERROR, "50.0 ms");
    f->has_info = false;
    run_check(&r, &doctor_redis, "version");
    expect(&r, FINDING_SKIPPED, "may not run INFO");
    f->is_connected = false;
    (void)snprintf(f->reason, 64, "Connection refused");
    run_check(&r, &doctor_redis, "connection");
    expect(&r, FINDING_ERROR, "Connection refused");
    run_check(&r, &doctor_redis, "latency");
    expect(&r, FINDING_SKIPPED, "not connected");
    tear_down(&r);
}

static void reply_of_redis_to_info_is_parsed(void **state)
{
    const struct str info = STR("# Server\r\nredis_version:7.0.15\r\nx:y:z\r\nmaxmemory_policy:noeviction");
    char text[32];
    (void)state;
    assert_true(redis_facts_find(info, "redis_version", text, sizeof text));
    assert_string_equal(text, "7.0.15");
    assert_true(redis_facts_find(info, "x", text, sizeof text));
    assert_string_equal(text, "y:z");
    assert_true(redis_facts_find(info, "maxmemory_policy", text, 4));
    assert_string_equal(text, "noe");
    assert_false(redis_facts_find(info, "version", text, sizeof text));
    assert_false(redis_facts_find(STR(""), "version", text, sizeof text));
}

/* ---- nginx ---- */

static const char GOOD[] =
    "upstream v { server 127.0.0.1:8080; keepalive 64; keepalive_timeout 60s; }\n"
    "log_format safe '$remote_addr $request_id \"$request_method\" $status';\n"
    "server {\n"
    "  access_log /var/log/a safe;\n"
    "  proxy_http_version 1.1;\n"
    "  proxy_set_header Connection \"\";\n"
    "  proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n"
    "  proxy_read_timeout 65s;\n"
    "  location / { proxy_pass http://v; }\n"
    "  location ~* /(invite|platforms/callback)(/|$) { error_log /var/log/e emerg; proxy_pass http://v; }\n"
    "}\n";

/* Loads `text`, in which the first `old` is replaced by `new`, as the configuration of nginx. */
static void load_nginx(struct rig *r, const char *text, const char *old, const char *new)
{
    const char *at = old ? strstr(text, old) : text;
    assert_non_null(at);
    snprintf(r->path, sizeof r->path, "/tmp/viewtally-nginx-XXXXXX");
    const int fd = mkstemp(r->path);
    assert_true(fd >= 0);
    const size_t skip = old ? strlen(old) : 0;
    assert_true(write(fd, text, (size_t)(at - text)) >= 0 && write(fd, new, strlen(new)) >= 0 &&
                write(fd, at + skip, strlen(at + skip)) >= 0);
    close(fd);
    r->doctor.nginx_file = r->path;
}

/* Runs a check of nginx with the good configuration after a replacement. */
static void expect_nginx(const char *check, const char *old, const char *new, enum finding_state state,
                         const char *text)
{
    struct rig r;
    set_up(&r);
    load_nginx(&r, GOOD, old, new);
    run_check(&r, &doctor_nginx, check);
    expect(&r, state, text);
    tear_down(&r);
}

static void good_nginx_configuration_passes_every_check(void **state)
{
    static const char *const names[] = {"proxy", "keepalive", "timeout", "fields", "access_log", "error_log"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_nginx(names[i], NULL, "", FINDING_OK, "");
    assert_int_equal(doctor_nginx.count, sizeof names / sizeof *names);
}

/* Checks the shipped files, in the form in which `nginx -T` prints them. */
static void shipped_nginx_configuration_passes_every_check(void **state)
{
    struct rig r;
    struct buf text;
    char line[1024];
    (void)state;
    buf_init(&text, 1 << 20);
    buf_append(&text, STR("# configuration file /etc/nginx/nginx.conf:\n"
                          "http {\n  include /etc/nginx/conf.d/*.conf;\n}\n\n"
                          "# configuration file /etc/nginx/conf.d/viewtally.conf:\n"));
    FILE *f = fopen("packaging/nginx/viewtally.conf", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        buf_append(&text, str_from_cstr(line));
    fclose(f);
    buf_append_char(&text, '\0');
    set_up(&r);
    load_nginx(&r, text.p, NULL, "");
    for (size_t i = 0; i < doctor_nginx.count; i++) {
        run_check(&r, &doctor_nginx, doctor_nginx.checks[i].name);
        expect(&r, FINDING_OK, "");
    }
    tear_down(&r);
    buf_fini(&text);
}

static void nginx_must_pass_requests_to_the_server(void **state)
{
    struct rig r;
    (void)state;
    expect_nginx("proxy", "127.0.0.1:8080", "127.0.0.1:8081", FINDING_WARNING,
                 "no proxy_pass to [server] listen");
    expect_nginx("proxy", "127.0.0.1:8080", "localhost:8080", FINDING_OK, "2 locations lead");
    expect_nginx("proxy", "127.0.0.1:8080", "unix:/run/viewtally/1.sock", FINDING_OK, "2 locations lead");
    expect_nginx("proxy", "proxy_pass http://v", "proxy_pass http://127.0.0.1:8080/x", FINDING_OK,
                 "2 locations");
    set_up(&r);
    r.doctor.nginx_file = "/nonexistent/nginx.conf";
    run_check(&r, &doctor_nginx, "proxy");
    expect(&r, FINDING_WARNING, "/nonexistent/nginx.conf: No such file");
    tear_down(&r);
}

static void nginx_must_close_idle_connections_before_the_server_does(void **state)
{
    (void)state;
    expect_nginx("keepalive", "keepalive_timeout 60s;", "keepalive_timeout 74s;", FINDING_OK, "");
    expect_nginx("keepalive", "keepalive_timeout 60s;", "keepalive_timeout 75s;", FINDING_ERROR,
                 "for 75 s, viewtally for 75 s");
    expect_nginx("keepalive", "keepalive_timeout 60s;", "keepalive_timeout 2m;", FINDING_ERROR, "for 120 s");
    expect_nginx("keepalive", "keepalive_timeout 60s;", "", FINDING_OK, "");
    expect_nginx("keepalive", "keepalive 64;", "", FINDING_WARNING, "new connection");
    expect_nginx("keepalive", "proxy_http_version 1.1;", "", FINDING_WARNING, "HTTP/1.0");
    expect_nginx("keepalive", "Connection \"\"", "Connection close", FINDING_WARNING, "HTTP/1.0");
}

static void nginx_read_timeout_must_exceed_a_long_poll(void **state)
{
    (void)state;
    expect_nginx("timeout", "proxy_read_timeout 65s;", "", FINDING_OK, "");
    expect_nginx("timeout", "proxy_read_timeout 65s;", "proxy_read_timeout 30;", FINDING_ERROR, "after 30 s");
}

static void nginx_must_set_the_forwarded_fields(void **state)
{
    static const char field[] = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;";
    struct rig r;
    (void)state;
    expect_nginx("fields", field, "", FINDING_ERROR, ":9 does not set X-Forwarded-For");
    expect_nginx("fields", field, "proxy_set_header x-forwarded-for $remote_addr;", FINDING_OK, "");
    expect_nginx("fields", field, "proxy_set_header X-Forwarded-For $http_x_forwarded_for;", FINDING_ERROR,
                 "can choose the address");
    /* In nginx, a location that contains a proxy_set_header inherits none from its parents. */
    expect_nginx("fields", "location / {", "location / { proxy_set_header Host $host;", FINDING_ERROR,
                 "does not set");
    set_up(&r);
    free(r.cli.config.account.auth_header);
    r.cli.config.account.auth_header = strdup("X-Remote-User");
    load_nginx(&r, GOOD, NULL, "");
    run_check(&r, &doctor_nginx, "fields");
    expect(&r, FINDING_ERROR, "forwards a client's own X-Remote-User");
    tear_down(&r);
}

static void nginx_logs_must_contain_no_secrets(void **state)
{
    static const char secret_location[] = "  location ~* /(invite|platforms/callback)(/|$) { error_log "
                                          "/var/log/e emerg; proxy_pass http://v; }\n";
    (void)state;
    expect_nginx("access_log", "access_log /var/log/a safe;", "", FINDING_ERROR,
                 "format combined with $request");
    expect_nginx("access_log", "access_log /var/log/a safe;", "access_log /var/log/a;", FINDING_ERROR,
                 "combined");
    expect_nginx("access_log", "access_log /var/log/a safe;", "access_log off;", FINDING_OK, "");
    expect_nginx("access_log", "$status", "${request_uri}", FINDING_ERROR, "$request_uri");
    expect_nginx("access_log", "$status", "$http_authorization", FINDING_ERROR, "$http_authorization");
    expect_nginx("access_log", "error_log /var/log/e emerg;", "access_log /x;", FINDING_ERROR, "combined");
    /* URLs with secrets match the other location, so this one may log URLs. */
    expect_nginx("access_log", "location / {", "location / { access_log /x;", FINDING_OK, "");
    expect_nginx("access_log", "location / {", "location /v1 { access_log /x;", FINDING_OK, "");
    expect_nginx("access_log", secret_location, "  location /v1 { access_log /x; proxy_pass http://v; }\n",
                 FINDING_OK, "");
    expect_nginx("error_log", secret_location, "", FINDING_WARNING, "no location keeps URLs");
    expect_nginx("error_log", "/var/log/e emerg", "/var/log/e crit", FINDING_WARNING,
                 "writes URLs with \"invite\"");
    expect_nginx("error_log", "/var/log/e emerg", "/dev/null", FINDING_OK, "");
    expect_nginx("error_log", "platforms/callback", "x", FINDING_WARNING, "\"callback\"");
}

/* Expects that parsing an nginx configuration fails with `expected`, or succeeds if `expected` is empty. */
static void expect_syntax(const char *text, const char *expected)
{
    struct arena a;
    struct error error = {0};
    arena_init(&a, 4096);
    const bool ok = nginx_parse(&a, str_from_cstr(text), STR("f"), &error);
    assert_string_equal(error.text, expected);
    assert_int_equal(ok, !*expected);
    arena_fini(&a);
}

static void bad_nginx_configurations_are_errors(void **state)
{
    char deep[200];
    (void)state;
    expect_syntax("", "");
    expect_syntax("# only a comment", "");
    expect_syntax("a 'b;{}' \"c\\\"\" d\\;e ${x}y; g { h i; }", "");
    expect_syntax("a b", "f:1: the file ends inside a directive");
    expect_syntax("a {\n b;\n", "f:3: a closing } is missing");
    expect_syntax("a;\n}\n", "f:2: unexpected }");
    expect_syntax("a }", "f:1: unexpected }");
    expect_syntax("a 'b", "f:1: a closing quote is missing");
    expect_syntax("; a;", "f:1: a directive has no name");
    expect_syntax("a {\n# configuration file g:\n}", "f:2: a closing } is missing");
    memset(deep, 0, sizeof deep);
    for (int i = 0; i < 33; i++)
        memcpy(deep + 2 * i, "a{", 2);
    expect_syntax(deep, "f:1: blocks are nested too deeply");
}

static void each_included_nginx_file_is_inserted_once(void **state)
{
    const char *text =
        "# configuration file /e/n.conf:\ninclude *.d/a;\nhttp { include c.d/*; x; }\n"
        "# configuration file /e/c.d/b:\ninclude c.d/*;\ny 1;\n# configuration file /e/m.d/a:\nz;\n";
    struct arena a;
    struct error error = {0};
    (void)state;
    arena_init(&a, 4096);
    const struct nginx_directive *root = nginx_parse(&a, str_from_cstr(text), STR("f"), &error);
    assert_non_null(root);
    assert_non_null(nginx_next_child(root, NULL, "z"));
    const struct nginx_directive *http = nginx_next_child(root, NULL, "http"),
                                 *y = nginx_next_child(http, NULL, "y");
    assert_non_null(y);
    assert_int_equal(y->line, 2);
    assert_str(y->file, "/e/c.d/b");
    assert_non_null(nginx_next_child(http, y, "x"));
    assert_null(nginx_next_child(http, y, "y"));
    arena_fini(&a);
}

static void times_and_variables_of_nginx_are_parsed(void **state)
{
    (void)state;
    assert_int_equal(nginx_parse_time(STR("60")), 60000);
    assert_int_equal(nginx_parse_time(STR("75s")), 75000);
    assert_int_equal(nginx_parse_time(STR("500ms")), 500);
    assert_int_equal(nginx_parse_time(STR("1h 30m")), 5400000);
    assert_int_equal(nginx_parse_time(STR("1m30s")), 90000);
    assert_int_equal(nginx_parse_time(STR("")), -1);
    assert_int_equal(nginx_parse_time(STR("x")), -1);
    assert_int_equal(nginx_parse_time(STR("5x")), -1);
    assert_true(nginx_has_variable(STR("a$request "), "request"));
    assert_true(nginx_has_variable(STR("a${request}b"), "request"));
    assert_false(nginx_has_variable(STR("$request_id ${request_id} request"), "request"));
    assert_false(nginx_has_variable(STR("$"), "request"));
}

enum err __wrap_store_read_server_load(struct store *s, struct store_server_load *out);

enum err __wrap_store_read_server_load(struct store *s, struct store_server_load *out)
{
    (void)s;
    (void)out;
    return ERR_IO;
}

static void use_database_server(struct rig *r)
{
    free(r->cli.config.store.url);
    r->cli.config.store.url = strdup("postgresql://viewtally@db.example/viewtally");
}

/* While doctor runs, nothing is logged, so a fix must not refer to the log. */
static void unreadable_load_of_a_database_server_is_reported_with_a_fix(void **state)
{
    struct rig r;
    (void)state;
    set_up(&r);
    use_database_server(&r);
    run_check(&r, &doctor_database, "server_load");
    expect(&r, FINDING_ERROR, "cannot be read");
    assert_non_null(strstr(last(&r)->fix, "psql URL"));
    tear_down(&r);
}

/* The check must not blame the directory in which the operator has started the command. */
static void relative_path_beside_a_database_server_is_reported(void **state)
{
    struct rig r;
    (void)state;
    set_up(&r);
    use_database_server(&r);
    run_check(&r, &doctor_files, "directory");
    expect(&r, FINDING_WARNING, "is relative");
    free(r.cli.config.store.path);
    r.cli.config.store.path = strdup("/nowhere/viewtally.db");
    run_check(&r, &doctor_files, "directory");
    expect(&r, FINDING_ERROR, "/nowhere");
    tear_down(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_must_be_synchronized),
        cmocka_unit_test(clock_of_redis_must_agree_with_the_clock_of_the_machine),
        cmocka_unit_test(old_libraries_are_errors),
        cmocka_unit_test(network_file_systems_are_errors),
        cmocka_unit_test(good_redis_passes_every_check),
        cmocka_unit_test(problems_of_redis_are_reported),
        cmocka_unit_test(reply_of_redis_to_info_is_parsed),
        cmocka_unit_test(good_nginx_configuration_passes_every_check),
        cmocka_unit_test(shipped_nginx_configuration_passes_every_check),
        cmocka_unit_test(nginx_must_pass_requests_to_the_server),
        cmocka_unit_test(nginx_must_close_idle_connections_before_the_server_does),
        cmocka_unit_test(nginx_read_timeout_must_exceed_a_long_poll),
        cmocka_unit_test(nginx_must_set_the_forwarded_fields),
        cmocka_unit_test(nginx_logs_must_contain_no_secrets),
        cmocka_unit_test(bad_nginx_configurations_are_errors),
        cmocka_unit_test(each_included_nginx_file_is_inserted_once),
        cmocka_unit_test(times_and_variables_of_nginx_are_parsed),
        cmocka_unit_test(relative_path_beside_a_database_server_is_reported),
        cmocka_unit_test(unreadable_load_of_a_database_server_is_reported_with_a_fix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
