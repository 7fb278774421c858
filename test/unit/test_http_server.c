/* Tests listeners: valid addresses, stale and live Unix sockets, client addresses, and cleanup after a failed
 * start. */
#include "unit.h"

#include "http/shared_body.h"
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

static void listens_on_several_addresses(void **state)
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
        peer_open_on_listener(&p, &rig, i);
        struct peer_response a = peer_request(&p, GET("/plain"), 1);
        assert_str(a.body, "hello");
        assert_string_equal(rig.app.last_address, clients[i]);
        peer_fini(&p);
    }
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
    rig_close(&rig);
    rig_until(&rig, rig.closed);
    assert_int_not_equal(stat(path, &st), 0); /* the socket file is deleted */
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
    rig_iterate_n(&rig, 5);
    rig_fini(&rig); /* no handle is left */
}

static void rejects_invalid_addresses(void **state)
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

static void reports_an_address_in_use(void **state)
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

static void replaces_the_socket_file_of_a_dead_server(void **state)
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
    peer_open_on_listener(&p, &rig, 0);
    (void)peer_request(&p, GET("/plain"), 1);
    peer_fini(&p);
    rig_fini(&rig);
}

static void keeps_the_socket_file_of_a_running_server(void **state)
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

static void keeps_a_socket_file_that_has_replaced_its_own(void **state)
{
    struct rig rig;
    struct stat st;
    char path[PATH_BYTES], address[PATH_BYTES + 8];
    struct error error = {0};
    int fd = -1;
    (void)state;
    init_closed(&rig);
    path_in(&rig, "socket", path, address);
    const char *const listen[] = {address};
    if (open_at(&rig, listen, 1, &error) != OK)
        fail_msg("%s", error.text);
    assert_int_equal(unlink(path), 0);
    leave_socket(path, &fd);
    rig_close(&rig);
    rig_until(&rig, rig.closed);
    assert_int_equal(stat(path, &st), 0);
    (void)close(fd);
    (void)unlink(path);
    rig_fini(&rig);
}

static void keeps_a_file_that_is_not_a_socket(void **state)
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

static void rejects_a_socket_path_that_is_too_long_or_in_a_missing_directory(void **state)
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

static void client_address_comes_from_trusted_proxies(void **state)
{
    static const char *const good[] = {"127.0.0.0/8", "::1"}, *const bad[] = {"127.0.0.1", "nonsense"};
    struct rig rig;
    struct peer p;
    (void)state;
    open_with_proxies(&rig, good, 2, OK);
    peer_open(&p, &rig);
    (void)peer_request(
        &p, "GET /plain HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n",
        1);
    assert_string_equal(rig.app.last_address, "1.2.3.4");
    (void)peer_request(&p, GET("/plain"), 2);
    assert_string_equal(rig.app.last_address, "127.0.0.1");
    peer_fini(&p);
    rig_fini(&rig);
    open_with_proxies(&rig, bad, 2, ERR_INVALID);
    rig_fini(&rig);
}

/* The server lowers max_connections below the limit on open files, so that descriptors are left for other
 * files. */
static void reserves_descriptors_for_other_uses(void **state)
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
    /* The server has raised the soft limit to the hard limit. */
    assert_int_equal(raised.rlim_cur, before.rlim_max);
    assert_true((rlim_t)rig.server->options.limits.max_connections < raised.rlim_cur);
    rig_fini(&rig);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* The response cache may fill before the connections are opened. */
static void large_bodies_use_no_descriptor_that_is_reserved_for_connections(void **state)
{
    static char bytes[SHARED_BODY_FILE_MIN_BYTES];
    struct rig rig;
    struct http_limits limits = rig_limits();
    (void)state;
    limits.max_connections = 100000000;
    rig_init(&rig, &limits, false);
    struct shared_body *body = shared_body_new(str_make(bytes, sizeof bytes));
    assert_false(shared_body_is_file(body));
    shared_body_release(body);
    rig_fini(&rig);
    body = shared_body_new(str_make(bytes, sizeof bytes));
    assert_true(shared_body_is_file(body));
    shared_body_release(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listens_on_several_addresses),
        cmocka_unit_test(rejects_invalid_addresses),
        cmocka_unit_test(reports_an_address_in_use),
        cmocka_unit_test(replaces_the_socket_file_of_a_dead_server),
        cmocka_unit_test(keeps_the_socket_file_of_a_running_server),
        cmocka_unit_test(keeps_a_socket_file_that_has_replaced_its_own),
        cmocka_unit_test(keeps_a_file_that_is_not_a_socket),
        cmocka_unit_test(rejects_a_socket_path_that_is_too_long_or_in_a_missing_directory),
        cmocka_unit_test(client_address_comes_from_trusted_proxies),
        cmocka_unit_test(reserves_descriptors_for_other_uses),
        cmocka_unit_test(large_bodies_use_no_descriptor_that_is_reserved_for_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
