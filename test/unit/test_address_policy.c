/* Tests which addresses authors may make the service connect to, and that the HTTP client checks the address
 * of each connection, even if a name resolves to another address than before (DNS rebinding). */
#include "unit.h"

#include "lib/http_peers.h"
#include "net/address_policy.h"
#include "net/http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool allows(const struct address_policy *policy, const char *text)
{
    struct ip_address address;
    if (!ip_address_parse(str_from_cstr(text), &address, NULL))
        fail_msg("%s is not an address", text);
    return address_policy_allows(policy, &address);
}

static void only_public_addresses_are_allowed(void **state)
{
    (void)state;
    static const char *const private_ones[] = {"0.0.0.0",
                                               "10.0.0.1",
                                               "100.64.0.1",
                                               "100.100.100.200",
                                               "127.0.0.1",
                                               "127.255.255.255",
                                               "169.254.169.254",
                                               "172.16.0.1",
                                               "172.31.255.255",
                                               "192.0.0.192",
                                               "192.0.2.1",
                                               "192.168.1.1",
                                               "198.18.0.1",
                                               "198.19.255.255",
                                               "224.0.0.1",
                                               "255.255.255.255",
                                               "::",
                                               "::1",
                                               "::ffff:127.0.0.1",
                                               "::ffff:10.0.0.1",
                                               "::127.0.0.1",
                                               "64:ff9b::7f00:1",
                                               "64:ff9b::a9fe:a9fe",
                                               "64:ff9b:1::1",
                                               "100::1",
                                               "2001::1",
                                               "2001:db8::1",
                                               "2002:7f00:1::",
                                               "2002:a9fe:a9fe::1",
                                               "3fff::1",
                                               "fc00::1",
                                               "fd00:ec2::254",
                                               "fe80::1",
                                               "fec0::1",
                                               "ff02::1",
                                               "5f00::1"};
    static const char *const public_ones[] = {"1.1.1.1",         "8.8.8.8",          "9.255.255.255",
                                              "11.0.0.0",        "100.63.255.255",   "100.128.0.0",
                                              "126.255.255.255", "128.0.0.1",        "169.253.255.255",
                                              "169.255.0.0",     "172.15.255.255",   "172.32.0.0",
                                              "192.167.255.255", "192.169.0.0",      "198.17.255.255",
                                              "198.20.0.0",      "223.255.255.255",  "2606:4700:4700::1111",
                                              "::ffff:1.1.1.1",  "64:ff9b::101:101", "2002:101:101::1",
                                              "2001:200::1",     "2a00:1450:4001::1"};
    struct address_policy policy;
    assert_true(address_policy_init(&policy, STR("")));
    for (size_t i = 0; i < sizeof private_ones / sizeof *private_ones; i++)
        if (allows(&policy, private_ones[i]))
            fail_msg("%s is allowed", private_ones[i]);
    for (size_t i = 0; i < sizeof public_ones / sizeof *public_ones; i++)
        if (!allows(&policy, public_ones[i]))
            fail_msg("%s is not allowed", public_ones[i]);
}

static void operator_can_allow_networks(void **state)
{
    (void)state;
    struct address_policy policy;
    assert_true(address_policy_init(&policy, STR("10.1.0.0/16, fd00::/8,127.0.0.1")));
    assert_true(allows(&policy, "10.1.2.3") && allows(&policy, "fd12::1") && allows(&policy, "127.0.0.1"));
    assert_true(allows(&policy, "::ffff:10.1.2.3"));
    assert_false(allows(&policy, "10.2.0.0") || allows(&policy, "127.0.0.2") || allows(&policy, "::1"));
    assert_true(address_policy_init(&policy, STR("0.0.0.0/0,::/0")));
    assert_true(allows(&policy, "169.254.169.254") && allows(&policy, "::1"));
}

static void invalid_networks_are_rejected(void **state)
{
    (void)state;
    static const char *const wrong[] = {"10.0.0.0/33", "10.1", "::/129",      "example.com",
                                        "10.0.0.0/",   "/8",   "10.0.0.0/-1", "unix"};
    struct address_policy policy;
    char many[1024];
    size_t len = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (address_policy_init(&policy, str_from_cstr(wrong[i])))
            fail_msg("%s is accepted", wrong[i]);
    for (int i = 0; i <= ADDRESS_POLICY_NETWORKS_MAX; i++) {
        if (i == ADDRESS_POLICY_NETWORKS_MAX)
            assert_true(address_policy_init(&policy, str_make(many, len)));
        len += (size_t)snprintf(many + len, sizeof many - len, "10.0.0.%d,", i);
    }
    assert_false(address_policy_init(&policy, str_make(many, len)));
}

static void address_that_is_neither_ipv4_nor_ipv6_is_rejected(void **state)
{
    (void)state;
    struct address_policy policy;
    const struct sockaddr local = {.sa_family = AF_UNIX};
    assert_true(address_policy_init(&policy, STR("0.0.0.0/0,::/0")));
    assert_false(address_policy_allows_socket(&policy, &local));
}

/* ---- connections ---- */

/* The address of "rebind.test". This program defines its own getaddrinfo(), which replaces that of libc and
 * resolves only this name. */
static const char *resolves_to;
static int lookups;

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
    struct {
        struct addrinfo info;
        struct sockaddr_in address;
    } *r = calloc(1, sizeof *r);
    (void)hints;
    if (!r || strcmp(name, "rebind.test") != 0) {
        free(r);
        return EAI_NONAME;
    }
    lookups++;
    r->address.sin_family = AF_INET;
    r->address.sin_port = htons((uint16_t)strtol(service ? service : "0", NULL, 10));
    assert_int_equal(inet_pton(AF_INET, resolves_to, &r->address.sin_addr), 1);
    r->info = (struct addrinfo){.ai_family = AF_INET,
                                .ai_socktype = SOCK_STREAM,
                                .ai_addrlen = sizeof r->address,
                                .ai_addr = (struct sockaddr *)&r->address};
    *out = &r->info;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    free(list);
}

static void on_done(void *ctx, const struct http_result *r)
{
    *(int *)ctx = (int)r->error;
}

static void on_closed(void *ctx)
{
    *(bool *)ctx = true;
}

/* Sends one request to `origin` with a new client, which has no cached names or connections. */
static int call(struct address_policy *policy, const char *origin)
{
    uv_loop_t loop;
    bool closed = false;
    int error = -1;
    const struct http_client_options options = {.ca_file = http_peers_ca(),
                                                .connect_timeout_ms = 10000,
                                                .timeout_ms = 20000,
                                                .body_max = HTTP_CLIENT_BODY_BYTES,
                                                .host_connections = 10,
                                                .allow_address = policy ? address_policy_allows_socket : NULL,
                                                .allow_address_ctx = policy};
    assert_int_equal(uv_loop_init(&loop), 0);
    struct http_client *client = http_client_new(&loop, &options);
    const struct http_request request = {.method = "GET", .origin = origin, .path = STR("/ok")};
    (void)http_client_send(client, &request, on_done, &error);
    while (error < 0)
        (void)uv_run(&loop, UV_RUN_ONCE);
    http_client_close(client, on_closed, &closed);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_true(closed);
    assert_int_equal(uv_loop_close(&loop), 0);
    return error;
}

static const char *origin_at(const char *host, int port)
{
    static char origin[96];
    (void)snprintf(origin, sizeof origin, "https://%s:%d", host, port);
    return origin;
}

static const char *origin_of(const char *host, const char *peer)
{
    return origin_at(host, http_peer_port(peer));
}

/* Returns a non-blocking socket that listens on 127.0.0.1, and stores its port in `*port`. */
static int listen_on_loopback(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void private_addresses_are_refused_before_connecting(void **state)
{
    (void)state;
    static const char *const hosts[] = {"127.0.0.1",          "localhost",  "[::1]",
                                        "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"};
    struct address_policy none, loopback;
    int port;
    const int listener = listen_on_loopback(&port);
    assert_true(address_policy_init(&none, STR("")) &&
                address_policy_init(&loopback, STR("127.0.0.0/8,::1")));
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (call(&none, origin_at(hosts[i], port)) != TRANSPORT_ADDRESS)
            fail_msg("%s is not rejected", hosts[i]);
    assert_int_equal(accept4(listener, NULL, NULL, SOCK_CLOEXEC), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(close(listener), 0);
    assert_int_equal(call(&loopback, origin_of("127.0.0.1", "good")), TRANSPORT_OK);
    assert_int_equal(call(NULL, origin_of("127.0.0.1", "good")), TRANSPORT_OK);
}

/* The certificate is not valid for the name, so TRANSPORT_TLS shows that a connection was made. */
static void address_is_checked_again_when_the_name_resolves_differently(void **state)
{
    (void)state;
    struct address_policy policy;
    assert_true(address_policy_init(&policy, STR("127.0.0.1")));
    lookups = 0;
    resolves_to = "127.0.0.1";
    assert_int_equal(call(&policy, origin_of("rebind.test", "good")), TRANSPORT_TLS);
    resolves_to = "169.254.169.254";
    assert_int_equal(call(&policy, origin_of("rebind.test", "good")), TRANSPORT_ADDRESS);
    resolves_to = "127.0.0.2";
    assert_int_equal(call(&policy, origin_of("rebind.test", "good")), TRANSPORT_ADDRESS);
    resolves_to = "127.0.0.1";
    assert_int_equal(call(&policy, origin_of("rebind.test", "good")), TRANSPORT_TLS);
    assert_int_equal(lookups, 4);
}

static void proxy_named_in_the_environment_is_not_used_for_checked_addresses(void **state)
{
    (void)state;
    struct address_policy policy;
    char proxy[64];
    assert_true(address_policy_init(&policy, STR("127.0.0.1")));
    resolves_to = "169.254.169.254";
    (void)snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", http_peer_port("proxy"));
    assert_int_equal(setenv("https_proxy", proxy, 1), 0);
    assert_int_equal(call(&policy, origin_of("rebind.test", "good")), TRANSPORT_ADDRESS);
    assert_int_equal(unsetenv("https_proxy"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_public_addresses_are_allowed),
        cmocka_unit_test(operator_can_allow_networks),
        cmocka_unit_test(invalid_networks_are_rejected),
        cmocka_unit_test(address_that_is_neither_ipv4_nor_ipv6_is_rejected),
        cmocka_unit_test(private_addresses_are_refused_before_connecting),
        cmocka_unit_test(address_is_checked_again_when_the_name_resolves_differently),
        cmocka_unit_test(proxy_named_in_the_environment_is_not_used_for_checked_addresses),
    };
    return cmocka_run_group_tests(tests, http_peers_start, http_peers_stop);
}
