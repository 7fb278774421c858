/* Listeners: which addresses are taken, Unix sockets that others left behind or still use, who the client is,
 * and what a failed start leaves: nothing. */
#include "unit.h"

#include "lib/http_rig.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define GET(x) "GET " x " HTTP/1.1\r\nHost: a\r\n\r\n"

enum { PATH_BYTES = 96 };

static void init_closed(struct rig *rig)
{
    struct http_limits none = rig_limits();
    none.max_connections = 0;
    rig_init(rig, &none, false);
}

static enum err open_at(struct rig *rig, const char *const *listen, size_t count, struct error *error)
{
    struct http_options options;
    rig_options(rig, NULL, &options);
    options.listen = listen;
    options.listen_count = count;
    return rig_open(rig, &options, error);
}

static void path_in(const struct rig *rig, const char *name, char out[PATH_BYTES],
                    char address[PATH_BYTES + 8])
{
    (void)snprintf(out, PATH_BYTES, "%s/%s", rig->dir, name);
    (void)snprintf(address, PATH_BYTES + 8, "unix:%s", out);
}

static void several_listeners(void **state)
{
    struct rig rig;
    struct stat st;
    char path[PATH_BYTES], address[PATH_BYTES + 8];
    struct error error = {0};
    (void)state;
    init_closed(&rig);
    path_in(&rig, "socket", path, address);
    const char *const listen[] = {"127.0.0.1:0", "[::1]:0", address};
    if (open_at(&rig, listen, 3, &error) != OK)
        fail_msg("%s", error.text);
    static const char *const clients[] = {"127.0.0.1", "::1", "unix"};
    for (int i = 0; i < 3; i++) {
        struct peer p;
        peer_open_at(&p, &rig, i);
        struct answer a = peer_ask(&p, GET("/plain"), 1);
        assert_str(a.body, "hello");
        assert_string_equal(rig.app.last_address, clients[i]);
        peer_fini(&p);
    }
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
    rig_close(&rig);
    rig_until(&rig, rig.closed);
    assert_int_not_equal(stat(path, &st), 0); /* unlinked */
    rig_fini(&rig);
}

static void expect_failure(const char *const *listen, size_t count, enum err want, const char *word)
{
    struct rig rig;
    struct error error = {0};
    init_closed(&rig);
    assert_int_equal(open_at(&rig, listen, count, &error), want);
    if (!strstr(error.text, word))
        fail_msg("%s: does not contain %s", error.text, word);
    rig.server = NULL;
    rig_turns(&rig, 5);
    rig_fini(&rig); /* no handle is left */
}

static void addresses_that_are_none(void **state)
{
    static const char *const bad[] = {"",
                                      "8080",
                                      ":8080",
                                      "localhost:8080",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:-1",
                                      "::1:8080",
                                      "[::1]",
                                      "[127.0.0.1]:80",
                                      "[::1:80",
                                      "1.2.3:80",
                                      "unix:",
                                      "http://127.0.0.1:80"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const listen[] = {"127.0.0.1:0", bad[i]};
        expect_failure(listen, 2, ERR_INVALID, bad[i]);
    }
}

static void an_address_in_use(void **state)
{
    struct rig rig;
    char address[sizeof rig.server->listeners->name];
    (void)state;
    rig_init(&rig, NULL, false);
    (void)snprintf(address, sizeof address, "%s", rig.server->listeners->name);
    const char *const listen[] = {"127.0.0.1:0", address};
    expect_failure(listen, 2, ERR_BUSY, "in use");
    rig_fini(&rig);
}

static void leave_socket(const char *path, int *listening)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memcpy(address.sun_path, path, strlen(path));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    if (listening) {
        assert_int_equal(listen(fd, 1), 0);
        *listening = fd;
    } else {
        (void)close(fd);
    }
}

static void a_dead_servers_socket_is_replaced(void **state)
{
    struct rig rig;
    struct peer p;
    char path[PATH_BYTES], address[PATH_BYTES + 8];
    struct error error = {0};
    (void)state;
    init_closed(&rig);
    path_in(&rig, "socket", path, address);
    const char *const listen[] = {address};
    leave_socket(path, NULL);
    if (open_at(&rig, listen, 1, &error) != OK)
        fail_msg("%s", error.text);
    peer_open_at(&p, &rig, 0);
    (void)peer_ask(&p, GET("/plain"), 1);
    peer_fini(&p);
    rig_fini(&rig);
}

static void a_living_servers_socket_is_not(void **state)
{
    struct rig rig;
    struct stat st;
    char path[PATH_BYTES], address[PATH_BYTES + 8];
    int fd = -1;
    (void)state;
    init_closed(&rig);
    path_in(&rig, "socket", path, address);
    const char *const listen[] = {address};
    leave_socket(path, &fd);
    expect_failure(listen, 1, ERR_BUSY, "in use");
    assert_int_equal(stat(path, &st), 0);
    (void)close(fd);
    (void)unlink(path);
    rig_fini(&rig);
}

static void a_file_that_is_no_socket_is_kept(void **state)
{
    struct rig rig;
    struct stat st;
    char path[PATH_BYTES], address[PATH_BYTES + 8];
    (void)state;
    init_closed(&rig);
    path_in(&rig, "precious", path, address);
    const char *const listen[] = {address};
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "x", 1), 1);
    (void)close(fd);
    expect_failure(listen, 1, ERR_BUSY, "in use");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 1);
    (void)unlink(path);
    rig_fini(&rig);
}

static void a_path_that_is_too_long(void **state)
{
    char address[200] = "unix:/tmp/";
    (void)state;
    memset(address + 10, 'x', 150);
    const char *const listen[] = {address};
    expect_failure(listen, 1, ERR_IO, "long");
    const char *const nowhere[] = {"unix:/nonexistent/socket"};
    expect_failure(nowhere, 1, ERR_IO, "no such file");
}

static void open_with_proxies(struct rig *rig, const char *const *proxies, size_t count, enum err want)
{
    struct http_options options;
    struct error error = {0};
    init_closed(rig);
    rig_options(rig, NULL, &options);
    options.trusted_proxies = proxies;
    options.trusted_proxy_count = count;
    assert_int_equal(rig_open(rig, &options, &error), want);
    if (want)
        rig->server = NULL;
}

static void trusted_proxies(void **state)
{
    static const char *const good[] = {"127.0.0.0/8", "::1"}, *const bad[] = {"127.0.0.1", "nonsense"};
    struct rig rig;
    struct peer p;
    (void)state;
    open_with_proxies(&rig, good, 2, OK);
    peer_open(&p, &rig);
    (void)peer_ask(
        &p, "GET /plain HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n",
        1);
    assert_string_equal(rig.app.last_address, "1.2.3.4");
    (void)peer_ask(&p, GET("/plain"), 2);
    assert_string_equal(rig.app.last_address, "127.0.0.1");
    peer_fini(&p);
    rig_fini(&rig);
    open_with_proxies(&rig, bad, 2, ERR_INVALID);
    rig_fini(&rig);
}

/* The cap stays below the limit of open files, and others can still open some. */
static void descriptors_are_kept_for_others(void **state)
{
    enum { FILES = 150 };
    struct rig rig;
    struct rlimit before, low, raised;
    struct http_limits limits = rig_limits();
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){FILES, before.rlim_max};
    limits.max_connections = 100000000;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    rig_init(&rig, &limits, false);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &raised), 0);
    assert_int_equal(raised.rlim_cur, before.rlim_max); /* as far as allowed */
    assert_true((rlim_t)rig.server->options.limits.max_connections < raised.rlim_cur);
    rig_fini(&rig);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_listeners),
        cmocka_unit_test(addresses_that_are_none),
        cmocka_unit_test(an_address_in_use),
        cmocka_unit_test(a_dead_servers_socket_is_replaced),
        cmocka_unit_test(a_living_servers_socket_is_not),
        cmocka_unit_test(a_file_that_is_no_socket_is_kept),
        cmocka_unit_test(a_path_that_is_too_long),
        cmocka_unit_test(trusted_proxies),
        cmocka_unit_test(descriptors_are_kept_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
