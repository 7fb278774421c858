/* Runs the HTTP client on a loop of its own until the response is complete. */
#include "cli/local_get.h"

#include "base/check.h"
#include "config/address.h"
#include "net/http_client.h"

#include <netinet/in.h>
#include <stdio.h>

enum { ORIGIN_MAX = 128, HOST_MAX = 64 };

struct local_call {
    const char *address;
    int timeout_ms, *status;
    struct buf *body;
    struct error *error;
};

/* Writes the origin of `address`: "http://127.0.0.1:8080", or "http://localhost" for a Unix socket. Returns
 * false if `address` is invalid or its port is 0. */
static bool origin_of(const char *address, char origin[ORIGIN_MAX])
{
    struct sockaddr_storage at = {0};
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&at;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&at;
    char host[HOST_MAX];
    if (address_unix_path(address)) {
        (void)snprintf(origin, ORIGIN_MAX, "http://localhost");
        return *address_unix_path(address) != '\0';
    }
    if (!address_parse_tcp(address, &at) || uv_ip_name((const struct sockaddr *)&at, host, sizeof host) != 0)
        return false;
    const bool is_v4 = at.ss_family == AF_INET;
    const unsigned port = ntohs(is_v4 ? v4->sin_port : v6->sin6_port);
    if (is_v4 && v4->sin_addr.s_addr == htonl(INADDR_ANY))
        (void)snprintf(host, sizeof host, "127.0.0.1");
    else if (!is_v4 && IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr))
        (void)snprintf(host, sizeof host, "::1");
    (void)snprintf(origin, ORIGIN_MAX, is_v4 ? "http://%s:%u" : "http://[%s]:%u", host, port);
    return port != 0;
}

static void on_done(void *ctx, const struct http_result *result)
{
    const struct local_call *call = ctx;
    if (result->error == TRANSPORT_OK) {
        *call->status = result->response.status;
        buf_append(call->body, result->response.body);
    } else if (result->error == TRANSPORT_TIMEOUT) {
        (void)error_set(call->error, ERR_TIMEOUT, "%s: no response within %d ms", call->address,
                        call->timeout_ms);
    } else if (result->error == TRANSPORT_CONNECT) {
        (void)error_set(call->error, ERR_IO,
                        "%s: cannot connect, so the server is not running or has another address",
                        call->address);
    } else {
        (void)error_set(call->error, ERR_IO, "%s: not a valid HTTP response: %s", call->address, result->why);
    }
}

static void on_client_closed(void *ctx)
{
    (void)ctx;
}

enum err local_get(const char *address, const char *path, int timeout_ms, int *status, struct buf *body,
                   struct error *error)
{
    char origin[ORIGIN_MAX];
    struct local_call call = {
        .address = address, .timeout_ms = timeout_ms, .status = status, .body = body, .error = error};
    const struct http_client_options options = {.unix_socket = address_unix_path(address),
                                                .allow_http = true,
                                                .connect_timeout_ms = timeout_ms,
                                                .timeout_ms = timeout_ms,
                                                .body_max = body->max,
                                                .host_connections = 1};
    uv_loop_t loop;
    if (!origin_of(address, origin))
        return error_set(
            error, ERR_INVALID,
            "%s: not an address that can be connected to: set `listen` in [admin] (or in [server], if "
            "[admin] listen is empty) to HOST:PORT with a port other than 0, or to unix:PATH",
            address);
    *error = (struct error){OK, ""};
    CHECK(uv_loop_init(&loop) == 0);
    struct http_client *client = http_client_new(&loop, &options);
    if (!client)
        out_of_memory();
    const struct http_request request = {.origin = origin, .method = "GET", .path = str_from_cstr(path)};
    (void)http_client_send(client, &request, on_done, &call);
    while (http_client_count_calls(client))
        (void)uv_run(&loop, UV_RUN_ONCE);
    http_client_close(client, on_client_closed, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&loop) == 0);
    return error->code;
}
