/* Tests the configuration: defaults, file, environment, error messages. */
#include "unit.h"

#include "config/config.h"
#include "config/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MORE_SCOPES_ERROR                                                                                    \
    ":2: [facebook] more_scopes must be a comma-separated list of permissions without spaces, for example "  \
    "business_management; it is "

struct attempt {
    struct config config;
    struct buf message;
    enum err err;
    char path[64];
};

/* Loads a configuration from a file with the content `text` (no file if NULL) and from `environment`. */
static void load(struct attempt *a, const char *text, const char *const *environment)
{
    snprintf(a->path, sizeof a->path, "/tmp/viewtally-config-XXXXXX");
    if (text) {
        int fd = mkstemp(a->path);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        close(fd);
    }
    config_init(&a->config);
    buf_init(&a->message, 1 << 20);
    a->err = config_load(&a->config, text ? a->path : NULL, environment, &a->message);
}

static void unload(struct attempt *a)
{
    (void)unlink(a->path);
    buf_fini(&a->message);
    config_fini(&a->config);
}

static void expect_message(const char *text, const char *const *environment, const char *expected)
{
    struct attempt a;
    char whole[600];
    load(&a, text, environment);
    snprintf(whole, sizeof whole, "%s%s", text ? a.path : "", expected);
    assert_int_equal(a.err, ERR_INVALID);
    assert_str(buf_str(&a.message), whole);
    assert_string_equal(a.config.server.listen, "127.0.0.1:8080"); /* the default value again */
    unload(&a);
}

static void unset_keys_have_their_default_values(void **state)
{
    struct attempt a;
    (void)state;
    load(&a, NULL, NULL);
    assert_int_equal(a.err, OK);
    assert_string_equal(a.config.server.base_url, "http://127.0.0.1:8080/v1");
    assert_int_equal(a.config.limits.requests_per_minute, 60);
    assert_true(a.config.limits.headers);
    assert_string_equal(a.config.keys.prefix, "service_live_");
    assert_int_equal(a.config.events.history_start, 1781481600000); /* 2026-06-15 */
    assert_int_equal(a.config.viral.multiplier_milli, 5000);
    assert_int_equal(a.config.viral.compare_min_age_hours, 168);
    unload(&a);
}

static void file_sets_values(void **state)
{
    struct attempt a;
    (void)state;
    load(&a,
         "; comment\n[server]\nlisten =  127.0.0.1:1 , [::1]:2,, unix:/x \n# other "
         "comment\n\n[viral]\nmultiplier = 2.125 ; inline\n"
         "min_views=9007199254740991\n[limits]\nheaders = No\n[events]\nhistory_start = "
         "2020-02-29\n[log]\nlevel = warn\nformat = json",
         NULL);
    assert_str(buf_str(&a.message), "");
    assert_int_equal(a.err, OK);
    assert_string_equal(a.config.server.listen, "127.0.0.1:1,[::1]:2,unix:/x");
    assert_int_equal(a.config.viral.multiplier_milli, 2125);
    assert_int_equal(a.config.viral.min_views, INT64_C(9007199254740991));
    assert_false(a.config.limits.headers);
    assert_int_equal(a.config.log.level, LOG_WARN);
    assert_int_equal(a.config.log.format, LOG_JSON);
    unload(&a);
}

static void errors_name_file_and_line(void **state)
{
    (void)state;
    expect_message("[server]\nlisten = 127.0.0.1:1\nlisten = 127.0.0.1:2\n", NULL,
                   ":3: [server] listen is already set in line 2");
    expect_message("[server]\n\nliste = x\n", NULL,
                   ":3: [server] has no key \"liste\" (did you mean listen?)");
    expect_message("[sever]\nlisten = x\n", NULL, ":2: unknown section [sever] (did you mean [server]?)");
    expect_message("listen = x\n", NULL, ":1: \"listen\" must follow a [section]");
    expect_message("[limits]\nrequests_per_minute = -1\n", NULL,
                   ":2: [limits] requests_per_minute must be a whole number from 0 to 10000; it is \"-1\"");
    expect_message("[limits]\nrequests_per_minute =\n", NULL,
                   ":2: [limits] requests_per_minute must be a whole number from 0 to 10000; it is empty");
    expect_message("[limits]\nrequests_per_minute = 99999999999999999999\n", NULL,
                   ":2: [limits] requests_per_minute must be a whole number from 0 to 10000; it is "
                   "\"99999999999999999999\"");
    expect_message("[viral]\nmultiplier = 5.0001\n", NULL,
                   ":2: [viral] multiplier must be a number from 1 to 1000 with at most three decimals; it "
                   "is \"5.0001\"");
    expect_message("[viral]\nmultiplier = 0.999\n", NULL,
                   ":2: [viral] multiplier must be a number from 1 to 1000 with at most three decimals; it "
                   "is \"0.999\"");
    expect_message(
        "[facebook]\ngraph_version = 26\n", NULL,
        ":2: [facebook] graph_version must be a version of the Graph API such as v26.0; it is \"26\"");
    for (int i = 0; i < 3; i++)
        expect_message((const char *const[]){"[facebook]\nmore_scopes = a, b\n",
                                             "[facebook]\nmore_scopes = a,\n",
                                             "[facebook]\nmore_scopes = ,a\n"}[i],
                       NULL,
                       (const char *const[]){MORE_SCOPES_ERROR "\"a, b\"", MORE_SCOPES_ERROR "\"a,\"",
                                             MORE_SCOPES_ERROR "\",a\""}[i]);
    expect_message("[limits]\nheaders = maybe\n", NULL,
                   ":2: [limits] headers must be on or off; it is \"maybe\"");
    expect_message(
        "[events]\nhistory_start = 2026-02-30\n", NULL,
        ":2: [events] history_start must be a valid date in the form YYYY-MM-DD; it is \"2026-02-30\"");
    expect_message("[server]\nlisten = ,\n", NULL,
                   ":2: [server] listen must be at least one address such as 127.0.0.1:8080, [::1]:8080 or "
                   "unix:/run/viewtally.sock; it is \",\"");
    expect_message("[server]\nlisten = [::1]:1\n[limits]\nnonsense\n", NULL,
                   ":4: must be [section], name = value or a comment");
    expect_message("[server]\nbase_url = ftp://x/v1\n", NULL,
                   ":2: [server] base_url must be a URL that ends in /v1, such as "
                   "https://stats.example.com/v1; it is \"ftp://x/v1\"");
    expect_message("[server]\nbase_url = https://\xC3\xBC.example/v1\n", NULL,
                   ":2: [server] base_url must be a URL that ends in /v1, such as "
                   "https://stats.example.com/v1; it is \"https://\xC3\xBC.example/v1\"");
    expect_message("[server]\nbase_url = https://x/v2\n", NULL,
                   ":2: [server] base_url must be a URL that ends in /v1, such as "
                   "https://stats.example.com/v1; it is \"https://x/v2\"");
    expect_message("[keys]\nprefix = a b\n", NULL,
                   ":2: [keys] prefix must be 1 to 32 letters, digits or underscores; it is \"a b\"");
}

static void missing_file_and_overlong_line_are_rejected(void **state)
{
    struct attempt a;
    struct buf long_line;
    (void)state;
    buf_init(&long_line, 1 << 20);
    buf_append(&long_line, STR("[store]\npath = "));
    for (int i = 0; i < 100000; i++)
        buf_append_char(&long_line, 'a');
    buf_append_char(&long_line, '\n');
    buf_append_char(&long_line, '\0');
    load(&a, long_line.p, NULL);
    assert_int_equal(a.err, ERR_INVALID);
    assert_non_null(strstr(a.message.p, ":2: "));
    unload(&a);
    buf_fini(&long_line);
    config_init(&a.config);
    buf_init(&a.message, 1000);
    assert_int_equal(config_load(&a.config, "/nonexistent/config.ini", NULL, &a.message), ERR_INVALID);
    assert_str(buf_str(&a.message),
               "/nonexistent/config.ini: cannot read the file: No such file or directory");
    unload(&a);
}

static void environment_overrides_the_file(void **state)
{
    const char *good[] = {"PATH=/bin", "VIEWTALLY_LIMITS_REQUESTS_PER_MINUTE=7", "VIEWTALLY_TEST_CLOCK=x",
                          "VIEWTALLY_BIN=y", NULL};
    const char *bad[] = {"VIEWTALLY_LIMITS_HEADERS=x", NULL},
               *unknown[] = {"VIEWTALLY_LIMITS_REQUESTS=5", NULL};
    struct attempt a;
    (void)state;
    load(&a, "[limits]\nrequests_per_minute = 6\n", good);
    assert_int_equal(a.err, OK);
    assert_int_equal(a.config.limits.requests_per_minute, 7);
    unload(&a);
    expect_message(NULL, bad, "VIEWTALLY_LIMITS_HEADERS: must be on or off; it is \"x\"");
    expect_message(NULL, unknown,
                   "VIEWTALLY_LIMITS_REQUESTS: unknown configuration key (did you mean "
                   "VIEWTALLY_LIMITS_REQUESTS_PER_MINUTE?)");
}

/* Expects that loading fails with exactly the lines `expected`. In `expected`, @ stands for the path of the
 * file, and ~ for the character @. */
static void expect_lines(const char *text, const char *const *environment, const char *expected)
{
    struct attempt a;
    struct buf whole;
    load(&a, text, environment);
    buf_init(&whole, 1 << 20);
    for (; *expected; expected++)
        buf_append(&whole, *expected == '@'   ? str_from_cstr(a.path)
                           : *expected == '~' ? STR("@")
                                              : str_make(expected, 1));
    assert_int_equal(a.err, ERR_INVALID);
    if (!str_eq(buf_str(&a.message), buf_str(&whole)))
        fail_msg("got:\n%.*s\nexpected:\n%.*s", (int)a.message.len, a.message.p, (int)whole.len, whole.p);
    buf_fini(&whole);
    unload(&a);
}

static void all_mistakes_are_reported_at_once(void **state)
{
    const char *environment[] = {"VIEWTALLY_LIMITS_HEADERS=maybe", "VIEWTALLY_STORE_PTAH=/x", NULL};
    (void)state;
    expect_lines("[server]\nlisten = x\nnonsense\nbase_url = https://a/v1\nbase_url = https://b/v1\n"
                 "[log]\nlevel = loud\n[viral\nmin_views = 1\n[redis]\nurl = localhost\n"
                 "also nonsense\n[limits]\nrequests_per_minute = many\n",
                 environment,
                 "@:2: [server] listen must be addresses such as 127.0.0.1:8080, [::1]:8080 or "
                 "unix:/run/viewtally.sock; it is \"x\"\n"
                 "@:3: must be [section], name = value or a comment\n"
                 "@:5: [server] base_url is already set in line 4\n"
                 "@:7: [log] level must be debug, info, warn or error; it is \"loud\"\n"
                 "@:8: must be [section], name = value or a comment\n"
                 "@:11: [redis] url must begin with redis://, rediss:// or unix:; it is \"localhost\"\n"
                 "@:12: must be [section], name = value or a comment\n"
                 "@:14: [limits] requests_per_minute must be a whole number from 0 to 10000; it is \"many\"\n"
                 "VIEWTALLY_LIMITS_HEADERS: must be on or off; it is \"maybe\"\n"
                 "VIEWTALLY_STORE_PTAH: unknown configuration key (did you mean VIEWTALLY_STORE_PATH?)");
}

static void unknown_section_is_reported_once(void **state)
{
    (void)state;
    expect_lines("[redsi]\nurl = x\npassword = y\n[limits]\nheader = on\n", NULL,
                 "@:2: unknown section [redsi] (did you mean [redis]?)\n"
                 "@:5: [limits] has no key \"header\" (did you mean headers?)");
}

/* Rules about several keys are checked too. A violated rule is not reported if another reported mistake
 * may be the cause. */
static void violated_rules_are_reported_with_the_line_of_the_key(void **state)
{
    const char *environment[] = {"VIEWTALLY_REFRESH_SOURCE=spool", NULL};
    (void)state;
    expect_lines("[limits]\nheaders = x\n[refresh]\nsource = spool\ninterval_s = 5\n", NULL,
                 "@:2: [limits] headers must be on or off; it is \"x\"\n"
                 "@:4: [refresh] source = spool requires spool_dir\n"
                 "@:5: [refresh] interval_s requires source = simulated");
    expect_lines("[refresh]\nsource = spool\nspol_dir = /x\n", NULL,
                 "@:3: [refresh] has no key \"spol_dir\" (did you mean spool_dir?)");
    expect_lines("[refresh]\nsource = platforms\n[youtube]\nclient_id = a\n[secret]\nkey_file = /x\n", NULL,
                 "@:6: unknown section [secret] (did you mean [secrets]?)");
    expect_lines(NULL, environment, "VIEWTALLY_REFRESH_SOURCE: [refresh] source = spool requires spool_dir");
}

static void environment_variables_are_checked_like_the_file(void **state)
{
    const char *section[] = {"VIEWTALLY_REDSI_URL=redis://h", NULL},
               *twice[] = {"VIEWTALLY_REDIS_PASSWORD=a", "VIEWTALLY_REDIS_PASSWORD_FILE=/x", NULL},
               *file[] = {"VIEWTALLY_REDIS_PASWORD_FILE=/x", NULL};
    (void)state;
    expect_lines(NULL, section,
                 "VIEWTALLY_REDSI_URL: unknown configuration key (did you mean VIEWTALLY_REDIS_URL?)");
    expect_lines(
        NULL, twice,
        "VIEWTALLY_REDIS_PASSWORD_FILE: the key is already set by VIEWTALLY_REDIS_PASSWORD; remove one of "
        "them");
    expect_lines(NULL, file,
                 "VIEWTALLY_REDIS_PASWORD_FILE: unknown configuration key (did you mean "
                 "VIEWTALLY_REDIS_PASSWORD_FILE?)");
}

/* Kubernetes sets such variables for each service of the namespace, here viewtally-redis, viewtally-admin and
 * viewtally-store-db. */
static void variables_of_kubernetes_services_are_ignored(void **state)
{
    const char *services[] = {"VIEWTALLY_REDIS_SERVICE_HOST=10.0.0.11",
                              "VIEWTALLY_REDIS_SERVICE_PORT=6379",
                              "VIEWTALLY_REDIS_SERVICE_PORT_TCP_REDIS=6379",
                              "VIEWTALLY_REDIS_PORT=tcp://10.0.0.11:6379",
                              "VIEWTALLY_REDIS_PORT_6379_TCP=tcp://10.0.0.11:6379",
                              "VIEWTALLY_REDIS_PORT_6379_TCP_PROTO=tcp",
                              "VIEWTALLY_REDIS_PORT_6379_TCP_PORT=6379",
                              "VIEWTALLY_REDIS_PORT_6379_TCP_ADDR=10.0.0.11",
                              "VIEWTALLY_ADMIN_PORT=udp://10.0.0.12:9187",
                              "VIEWTALLY_STORE_DB_SERVICE_HOST=fd00::1",
                              "VIEWTALLY_STORE_DB_PORT_5432_SCTP=sctp://[fd00::1]:5432",
                              NULL},
               *keys[] = {"VIEWTALLY_SERVER_PORT=8080", "VIEWTALLY_SERVER_REUSEPORT=on",
                          "VIEWTALLY_REDIS_SERVICE=x", "VIEWTALLY_REDIS_PORT_TCP=x", NULL};
    struct attempt a;
    (void)state;
    load(&a, NULL, services);
    assert_int_equal(a.err, OK);
    unload(&a);
    load(&a, NULL, keys);
    assert_int_equal(a.err, ERR_INVALID);
    for (const char *const *key = keys; *key; key++) {
        struct str name;
        (void)str_cut(str_from_cstr(*key), '=', &name);
        assert_non_null(memmem(a.message.p, a.message.len, name.p, name.len));
    }
    unload(&a);
}

static void messages_contain_no_secret(void **state)
{
    (void)state;
    expect_lines("[redis]\nurl = redis://u:hunter2@h:x\n", NULL,
                 "@:2: [redis] url must have a port from 1 to 65535; it is \"~h:x\" and a hidden part, which "
                 "may contain a password");
    expect_lines(
        "[redis]\nurl = redis://u:hunter2\n", NULL,
        "@:2: [redis] url must have a port from 1 to 65535; it is \"redis:\" and a hidden part, which may "
        "contain a password");
    expect_lines("[refresh]\nping_url = hunter2\n", NULL,
                 "@:2: [refresh] ping_url must be a URL such as https://hc-ping.com/UUID, without user name, "
                 "password or fragment");
    expect_lines("[redis]\npasword = hunter2\n[x]\nhunter2\n", NULL,
                 "@:2: [redis] has no key \"pasword\" (did you mean password?)\n"
                 "@:4: must be [section], name = value or a comment");
}

static void hostile_files_are_rejected(void **state)
{
    struct buf text;
    struct attempt a;
    (void)state;
    expect_lines(
        "[keys]\nprefix = \xFF\"\n[x\x01]\ny = 1\n", NULL,
        "@:2: [keys] prefix must be 1 to 32 letters, digits or underscores; it is \"\xEF\xBF\xBD\\\"\"\n"
        "@:3: the line contains a control character");
    buf_init(&text, 1 << 21);
    for (int i = 0; i < 200; i++)
        buf_printf(&text, "[server]\nport%d = 1\n", i);
    buf_append_char(&text, '\0');
    load(&a, text.p, NULL);
    assert_int_equal(a.err, ERR_INVALID);
    assert_non_null(memmem(a.message.p, a.message.len, ":200: [server] has no key \"port99\"", 33));
    assert_null(memmem(a.message.p, a.message.len, "port100", 7));
    assert_non_null(memmem(a.message.p, a.message.len, "and more mistakes", 17));
    unload(&a);
    buf_reset(&text, 0);
    for (int i = 0; i < 60; i++)
        buf_append(&text, STR("nonsense\n"));
    buf_append_char(&text, '\0');
    load(&a, text.p, NULL);
    assert_non_null(memmem(a.message.p, a.message.len, "more than 50 lines are not", 26));
    unload(&a);
    buf_fini(&text);
}

static void long_values_are_not_truncated(void **state)
{
    struct buf text;
    struct attempt a;
    (void)state;
    buf_init(&text, 1 << 20);
    buf_append(&text, STR("[server]\ntrusted_proxies = 10.0.0.0/8"));
    for (int i = 0; i < 50; i++)
        buf_printf(&text, ", 192.168.1.%d", i);
    buf_append_char(&text, '\0');
    load(&a, text.p, NULL);
    assert_int_equal(a.err, OK);
    assert_string_equal(strrchr(a.config.server.trusted_proxies, ','), ",192.168.1.49");
    unload(&a);
    text.len--;
    buf_append(&text, STR("\n[limits]\nheaders = x\n"));
    buf_append_char(&text, '\0');
    load(&a, text.p, NULL);
    assert_non_null(memmem(a.message.p, a.message.len, ":4: [limits] headers", 20));
    assert_null(memmem(a.message.p, a.message.len, "trusted_proxies", 15));
    unload(&a);
    buf_fini(&text);
}

static void origin_of_each_value_is_recorded(void **state)
{
    const char *environment[] = {"VIEWTALLY_LOG_LEVEL=warn", NULL};
    struct attempt a;
    struct config copy;
    (void)state;
    load(&a, "[store]\npath = /x\n[log]\nlevel = info\n", environment);
    config_copy(&copy, &a.config);
    assert_int_equal(config_origin_of(&copy, "store", "path")->line, 2);
    assert_false(config_origin_of(&copy, "store", "path")->is_from_environment);
    assert_true(config_origin_of(&copy, "log", "level")->is_from_environment);
    assert_true(config_is_set(&copy, "log", "level") && !config_is_set(&copy, "log", "format"));
    config_fini(&copy);
    unload(&a);
}

/* A secret may be given in the file, in the environment, or in a file that the configuration file or the
 * environment names. It is never printed. */
static void secrets_are_read_from_files(void **state)
{
    struct attempt a, named;
    struct buf printed, text;
    (void)state;
    load(&a, "  hunter2 \nsecond line\n", NULL);
    buf_init(&text, 1000);
    buf_printf(&text, "[redis]\npassword_file = %s\n", a.path);
    buf_append_char(&text, '\0');
    struct buf variable;
    buf_init(&variable, 1000);
    buf_printf(&variable, "VIEWTALLY_REDIS_PASSWORD_FILE=%s", a.path);
    buf_append_char(&variable, '\0');
    const char *environment[] = {variable.p, NULL};
    load(&named, text.p, NULL);
    assert_int_equal(named.err, OK);
    assert_string_equal(named.config.redis.password, "hunter2");
    buf_init(&printed, 1 << 20);
    config_print(&named.config, &printed);
    buf_append_char(&printed, '\0');
    assert_null(strstr(printed.p, "hunter2"));
    assert_non_null(strstr(printed.p, "password = (hidden)"));
    unload(&named);
    load(&named, NULL, environment);
    assert_int_equal(named.err, OK);
    assert_string_equal(named.config.redis.password, "hunter2");
    unload(&named);
    unload(&a);
    expect_message("[redis]\npassword_file = /nonexistent/secret\n", NULL,
                   ":2: [redis] password_file cannot read /nonexistent/secret: No such file or directory");
    expect_message("[redis]\npassword = a\npassword_file = /x\n", NULL,
                   ":3: [redis] password_file is already set in line 2");
    expect_message("[redis]\nurl_file = /x\n", NULL, ":2: [redis] has no key \"url_file\"");
    buf_fini(&printed);
    buf_fini(&text);
    buf_fini(&variable);
}

static void load_with_secret_file(struct attempt *a, const char *content)
{
    struct attempt secret;
    char text[100];
    load(&secret, content, NULL);
    snprintf(text, sizeof text, "[redis]\npassword_file = %s\n", secret.path);
    load(a, text, NULL);
    unload(&secret);
}

static void secret_files_may_end_lines_with_cr_lf(void **state)
{
    const char *const contents[] = {"hunter2\r\n", "hunter2\r\nsecond line\r\n", "hunter2\r",
                                    " hunter2 \r\n"};
    struct attempt a;
    (void)state;
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        load_with_secret_file(&a, contents[i]);
        assert_int_equal(a.err, OK);
        assert_string_equal(a.config.redis.password, "hunter2");
        unload(&a);
    }
}

/* The values are short, because the lines begin with blanks. */
static void secret_file_with_a_long_line_is_rejected(void **state)
{
    enum { LINE_MAX = 4096 };
    char text[LINE_MAX + 3];
    struct attempt a;
    (void)state;
    snprintf(text, sizeof text, "%*s\n", LINE_MAX, "hunter2");
    load_with_secret_file(&a, text);
    assert_int_equal(a.err, OK);
    assert_string_equal(a.config.redis.password, "hunter2");
    unload(&a);
    snprintf(text, sizeof text, "%*s\n", LINE_MAX + 1, "hunter2");
    load_with_secret_file(&a, text);
    assert_int_equal(a.err, ERR_INVALID);
    buf_append_char(&a.message, '\0');
    assert_non_null(strstr(a.message.p, " has a first line of more than 4096 bytes"));
    unload(&a);
}

/* A refresh run reads its copy while a reload frees values of the original. */
static void copied_configuration_outlives_its_original(void **state)
{
    (void)state;
    struct attempt a;
    struct config copy;
    struct buf before, after;
    load(&a,
         "[pinterest]\nbulk = off\n[server]\ncors_origins = https://a.example\n[viral]\nmultiplier = 7.5\n",
         NULL);
    buf_init(&before, 1 << 20);
    buf_init(&after, 1 << 20);
    config_print(&a.config, &before);
    config_copy(&copy, &a.config);
    memset(a.config.platform[PLATFORM_PINTEREST].bulk, 'x', 3);
    assert_true(copy.platform[PLATFORM_PINTEREST].bulk != a.config.platform[PLATFORM_PINTEREST].bulk);
    unload(&a);
    config_print(&copy, &after);
    assert_string_equal(copy.platform[PLATFORM_PINTEREST].bulk, "off");
    assert_true(str_eq(buf_str(&before), buf_str(&after)));
    buf_fini(&before);
    buf_fini(&after);
    config_fini(&copy);
}

static void printed_configuration_can_be_loaded(void **state)
{
    struct attempt a, again;
    struct buf first, second;
    (void)state;
    buf_init(&first, 1 << 20);
    buf_init(&second, 1 << 20);
    load(&a, "[viral]\nmultiplier = 2.5\n[server]\ncors_origins = https://a, https://b\n", NULL);
    config_print(&a.config, &first);
    buf_append_char(&first, '\0');
    first.len--;
    load(&again, first.p, NULL);
    assert_int_equal(again.err, OK);
    config_print(&again.config, &second);
    assert_true(str_eq(buf_str(&first), buf_str(&second)));
    assert_non_null(strstr(first.p, "multiplier = 2.5\n"));
    unload(&a);
    unload(&again);
    buf_fini(&first);
    buf_fini(&second);
}

static void example_file_matches_the_table(void **state)
{
    struct buf expected;
    char *actual = calloc(1, 1 << 16);
    (void)state;
    buf_init(&expected, 1 << 20);
    config_print_example(&expected);
    FILE *f = fopen("config.example.ini", "r");
    assert_non_null(f);
    size_t n = fread(actual, 1, (1 << 16) - 1, f);
    fclose(f);
    assert_int_equal(n, expected.len);
    assert_memory_equal(actual, expected.p, n);
    free(actual);
    buf_fini(&expected);
}

static void rejected_duration_does_not_change_the_configuration(void **state)
{
    (void)state;
    struct config c;
    struct buf why;
    size_t at;
    config_init(&c);
    buf_init(&why, 256);
    const int64_t before = c.backup.every_ms;
    assert_false(value_set(&c, config_find_key("backup", "every", &at), STR("400d"), &why));
    assert_int_equal(c.backup.every_ms, before);
    buf_fini(&why);
    config_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unset_keys_have_their_default_values),
        cmocka_unit_test(file_sets_values),
        cmocka_unit_test(errors_name_file_and_line),
        cmocka_unit_test(all_mistakes_are_reported_at_once),
        cmocka_unit_test(unknown_section_is_reported_once),
        cmocka_unit_test(violated_rules_are_reported_with_the_line_of_the_key),
        cmocka_unit_test(environment_variables_are_checked_like_the_file),
        cmocka_unit_test(variables_of_kubernetes_services_are_ignored),
        cmocka_unit_test(messages_contain_no_secret),
        cmocka_unit_test(hostile_files_are_rejected),
        cmocka_unit_test(long_values_are_not_truncated),
        cmocka_unit_test(origin_of_each_value_is_recorded),
        cmocka_unit_test(missing_file_and_overlong_line_are_rejected),
        cmocka_unit_test(environment_overrides_the_file),
        cmocka_unit_test(printed_configuration_can_be_loaded),
        cmocka_unit_test(example_file_matches_the_table),
        cmocka_unit_test(secrets_are_read_from_files),
        cmocka_unit_test(secret_files_may_end_lines_with_cr_lf),
        cmocka_unit_test(secret_file_with_a_long_line_is_rejected),
        cmocka_unit_test(copied_configuration_outlives_its_original),
        cmocka_unit_test(rejected_duration_does_not_change_the_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
