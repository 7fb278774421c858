/* The only file that uses libcurl. The loop drives libcurl's multi interface.
 *
 * curl calls on_socket() to have a socket watched, for which this file uses one uv_poll_t per socket. It
 * calls on_timer() to be called back after a timeout. Both on_poll() and on_timeout() call
 * curl_multi_socket_action(), and then complete_calls() completes the finished calls. The caller's `done`
 * never runs inside a curl callback, because curl does not allow adding or removing handles there.
 *
 * A call that could not be started is completed from a timer, so that `done` never runs within
 * http_client_send(). curl leaves errors in OpenSSL's error queue. This file clears them after it has used
 * curl, because hiredis runs on the same thread and would mistake them for errors of its own connection. */
#include "net/http_client.h"

#include "base/build_info.h"
#include "base/ca_bundle.h"
#include "base/check.h"
#include "base/fault.h"
#include "base/list.h"
#include "base/wiped.h"

#include <curl/curl.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

struct http_client {
    uv_loop_t *loop;
    struct http_client_options options;
    CURLM *multi;
    uv_timer_t timer, failing; /* `timer` drives `multi`; `failing` completes the calls in `failed` */
    struct list calls, failed; /* calls in flight; calls to complete with an error */
    size_t count;
    unsigned open_handles; /* loop handles that are not closed yet */
    bool closing;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

struct http_call {
    struct list link;
    struct http_client *client;
    CURL *easy;
    struct wiped url, sent, head, body;
    struct curl_slist *fields;
    char why[CURL_ERROR_SIZE];
    struct http_header headers[HTTP_CLIENT_HEADERS_MAX];
    size_t header_count;
    bool too_large;
    bool refused;                 /* the address policy rejected an address of the server */
    enum transport_error failure; /* error that this file has detected; TRANSPORT_OK: none, so curl's result
                                     code determines the error */
    uint64_t started_ms;
    void (*done)(void *ctx, const struct http_result *result);
    void *ctx;
};

struct socket_watch {
    uv_poll_t poll;
    struct http_client *client;
    curl_socket_t socket;
};

/* ---- initializing libcurl, freeing calls ---- */

static void init_once(void)
{
    CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
}

static void init_library(void)
{
    static uv_once_t once = UV_ONCE_INIT;
    uv_once(&once, init_once);
}

enum err http_client_check(struct error *error)
{
    init_library();
    const curl_version_info_data *v = curl_version_info(CURLVERSION_NOW);
    if (!(v->features & CURL_VERSION_ASYNCHDNS))
        return error_set(error, ERR_INVALID,
                         "this libcurl was built without an asynchronous resolver; install one with c-ares "
                         "or the threaded resolver");
    if (!(v->features & CURL_VERSION_SSL))
        return error_set(error, ERR_INVALID, "this libcurl was built without TLS; install one with OpenSSL");
    if (!(v->features & CURL_VERSION_LIBZ))
        return error_set(error, ERR_INVALID,
                         "this libcurl was built without gzip support; install one with zlib");
    return OK;
}

static void wipe_fields(struct curl_slist *fields)
{
    for (struct curl_slist *field = fields; field; field = field->next)
        explicit_bzero(field->data, strlen(field->data));
    curl_slist_free_all(fields);
}

static void remove_easy(struct http_call *c)
{
    if (!c->easy)
        return;
    (void)curl_multi_remove_handle(c->client->multi, c->easy);
    curl_easy_cleanup(c->easy);
    c->easy = NULL;
    ERR_clear_error();
}

static void free_call(struct http_call *c)
{
    remove_easy(c);
    list_remove(&c->link);
    c->client->count--;
    wipe_fields(c->fields);
    wiped_fini(&c->url);
    wiped_fini(&c->sent);
    wiped_fini(&c->head);
    wiped_fini(&c->body);
    free(c);
}

/* ---- responses ---- */

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct http_call *c = ctx;
    if (n * size > c->client->options.body_max - c->body.len) {
        c->too_large = true;
        return 0;
    }
    return wiped_append(&c->body, str_make(p, n * size)) ? n * size : 0; /* 0 makes curl fail the call */
}

/* Called for each header line. If the line is a status line, discards the lines before it, because they
 * belong to an interim response (100). */
static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct http_call *c = ctx;
    const struct str line = str_make(p, n * size);
    if (str_starts_with(line, STR("HTTP/")))
        c->head.len = 0;
    if (line.len > HTTP_CLIENT_HEADER_BYTES - c->head.len) {
        c->too_large = true;
        return 0;
    }
    return wiped_append(&c->head, line) ? line.len : 0;
}

static bool read_headers(struct http_call *c)
{
    struct str line, rest = str_make(c->head.p, c->head.len);
    while (rest.p) {
        struct str name;
        rest = str_cut(rest, '\n', &line);
        if (line.len && line.p[line.len - 1] == '\r')
            line.len--;
        struct str value = str_cut(line, ':', &name);
        if (!value.p || str_starts_with(line, STR("HTTP/")))
            continue;
        if (c->header_count == HTTP_CLIENT_HEADERS_MAX)
            return false;
        c->headers[c->header_count++] = (struct http_header){str_trim(name), str_trim(value)};
    }
    return true;
}

static enum transport_error transport_error_from(CURLcode code)
{
    switch (code) {
    case CURLE_OK: return TRANSPORT_OK;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return TRANSPORT_DNS;
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
    case CURLE_INTERFACE_FAILED:
    case CURLE_NO_CONNECTION_AVAILABLE: return TRANSPORT_CONNECT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_USE_SSL_FAILED: return TRANSPORT_TLS;
    case CURLE_OPERATION_TIMEDOUT: return TRANSPORT_TIMEOUT;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_SSL_SHUTDOWN_FAILED: return TRANSPORT_RESET;
    case CURLE_FILESIZE_EXCEEDED:
    case CURLE_TOO_LARGE: return TRANSPORT_TOO_LARGE;
    case CURLE_URL_MALFORMAT: return TRANSPORT_REQUEST;
    default: return TRANSPORT_PROTOCOL;
    }
}

static void complete(struct http_call *c, CURLcode code)
{
    struct http_result r = {.took_ms = (int64_t)(uv_now(c->client->loop) - c->started_ms), .why = c->why};
    r.error = c->failure != TRANSPORT_OK       ? c->failure
              : c->too_large                   ? TRANSPORT_TOO_LARGE
              : c->refused && code != CURLE_OK ? TRANSPORT_ADDRESS
                                               : transport_error_from(code);
    if (r.error == TRANSPORT_OK && !read_headers(c))
        r.error = TRANSPORT_TOO_LARGE;
    if (r.error == TRANSPORT_TOO_LARGE)
        (void)snprintf(c->why, sizeof c->why, "the response exceeds the size limit");
    else if (r.error == TRANSPORT_ADDRESS)
        (void)snprintf(c->why, sizeof c->why, "the address of the server is not public");
    else if (r.error != TRANSPORT_OK && !c->why[0])
        (void)snprintf(c->why, sizeof c->why, "curl error %d", (int)code);
    char *last = strrchr(c->why, ':'); /* the pinned curl has no texts for its codes: it appends "Error" */
    if (last && strcmp(last, ": Error") == 0)
        *last = '\0';
    if (r.error == TRANSPORT_OK) {
        long status = 0;
        (void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
        r.response = (struct http_response){(int)status, str_make(c->body.p, c->body.len), c->headers,
                                            c->header_count};
        r.why = "";
    }
    remove_easy(c); /* remove the handle before calling `done`, which may close the client */
    list_remove(&c->link);
    void (*done)(void *, const struct http_result *) = c->done;
    c->done = NULL;
    done(c->ctx, &r);
    free_call(c);
}

/* ---- checking the address of each connection ---- */

/* Checks the address here, because curl has resolved the name and will connect to exactly this address. */
static curl_socket_t on_open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_call *c = ctx;
    const struct http_client_options *o = &c->client->options;
    (void)purpose;
    if (!o->allow_address(o->allow_address_ctx, &address->addr)) {
        c->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static bool guard_connections(struct http_call *c)
{
    return !c->client->options.allow_address ||
           (curl_easy_setopt(c->easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket) == CURLE_OK &&
            curl_easy_setopt(c->easy, CURLOPT_OPENSOCKETDATA, c) == CURLE_OK &&
            curl_easy_setopt(c->easy, CURLOPT_PROXY, "") == CURLE_OK);
}

/* ---- driving libcurl in the event loop ---- */

static void on_failing(uv_timer_t *t);

static void complete_calls(struct http_client *client)
{
    CURLMsg *m;
    int left;
    ERR_clear_error();
    while (!client->closing && (m = curl_multi_info_read(client->multi, &left))) {
        char *call = NULL;
        if (m->msg != CURLMSG_DONE)
            continue;
        const CURLcode code = m->data.result; /* removing the handle invalidates `m` */
        CHECK(curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &call) == CURLE_OK);
        complete((struct http_call *)(void *)call, code);
    }
}

/* Called when the curl multi handle has failed, for example because memory ran out. Ends every call with
 * TRANSPORT_RESET, because its request may have been sent. */
static void fail_all(struct http_client *client, CURLMcode code)
{
    while (!list_is_empty(&client->calls)) {
        struct http_call *c = LIST_ENTRY(client->calls.next, struct http_call, link);
        list_remove(&c->link);
        remove_easy(c);
        c->failure = TRANSPORT_RESET;
        (void)snprintf(c->why, sizeof c->why, "%s", curl_multi_strerror(code));
        list_add_last(&client->failed, &c->link);
    }
    (void)uv_timer_start(&client->failing, on_failing, 0, 0);
}

static void run_curl(struct http_client *client, curl_socket_t socket, int events)
{
    int running;
    const CURLMcode code =
        FAULT_OR(CURLM_OUT_OF_MEMORY, curl_multi_socket_action(client->multi, socket, events, &running));
    if (code == CURLM_OK)
        complete_calls(client);
    else
        fail_all(client, code);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct socket_watch *w = poll->data;
    const int flags = status < 0 ? CURL_CSELECT_ERR
                                 : (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
                                       (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0);
    run_curl(w->client, w->socket, flags);
}

static void on_timeout(uv_timer_t *t)
{
    run_curl(t->data, CURL_SOCKET_TIMEOUT, 0);
}

static void on_failing(uv_timer_t *t)
{
    struct http_client *client = t->data;
    if (client->failed.next->next != &client->failed) /* completes one call per loop iteration, so that an
                                                         immediate retry cannot starve the loop */
        (void)uv_timer_start(t, on_failing, 0, 0);
    if (!list_is_empty(&client->failed))
        complete(LIST_ENTRY(client->failed.next, struct http_call, link), CURLE_OK);
}

static void handle_closed(struct http_client *client)
{
    if (--client->open_handles || !client->closing)
        return;
    void (*closed)(void *) = client->closed;
    void *ctx = client->closed_ctx;
    free(client);
    closed(ctx);
}

static void on_watch_closed(uv_handle_t *h)
{
    struct socket_watch *w = h->data;
    struct http_client *client = w->client;
    free(w);
    handle_closed(client);
}

static struct socket_watch *socket_watch_new(struct http_client *client, curl_socket_t socket)
{
    struct socket_watch *w = FAULT_OR(NULL, calloc(1, sizeof *w));
    if (!w)
        return NULL;
    w->client = client;
    w->socket = socket;
    w->poll.data = w;
    if (uv_poll_init_socket(client->loop, &w->poll, socket) != 0) {
        free(w);
        return NULL;
    }
    client->open_handles++;
    (void)curl_multi_assign(client->multi, socket, w);
    return w;
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *ctx, void *watch)
{
    struct http_client *client = ctx;
    struct socket_watch *w = watch;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        /* curl closes the socket next, so stop watching it now. */
        if (w) {
            (void)curl_multi_assign(client->multi, socket, NULL);
            uv_close((uv_handle_t *)&w->poll, on_watch_closed);
        }
        return 0;
    }
    if (!w && !(w = socket_watch_new(client, socket)))
        return -1;
    const int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&w->poll, events, on_poll) == 0 ? 0 : -1;
}

static int on_timer(CURLM *multi, long timeout_ms, void *ctx)
{
    struct http_client *client = ctx;
    (void)multi;
    if (timeout_ms < 0)
        return uv_timer_stop(&client->timer);
    uv_update_time(client->loop); /* uv_timer_start() counts from the loop's cached time */
    return uv_timer_start(&client->timer, on_timeout, (uint64_t)timeout_ms, 0);
}

/* ---- starting requests ---- */

static bool add_field(struct http_call *c, struct str name, struct str value)
{
    struct wiped line = {0};
    if (!http_is_field_name(name) || !http_is_field_value(value))
        return false;
    /* curl sends a header with an empty value only if the name ends in a semicolon. */
    const bool complete = wiped_append(&line, name) &&
                          wiped_append(&line, value.len ? STR(": ") : STR(";")) && wiped_append(&line, value);
    struct curl_slist *more = complete ? curl_slist_append(c->fields, line.p) : NULL;
    wiped_fini(&line);
    if (more)
        c->fields = more;
    return more != NULL;
}

static bool add_fields(struct http_call *c, const struct http_request *r)
{
    c->fields = curl_slist_append(NULL, "Expect:"); /* do not wait for 100 Continue */
    if (!c->fields || !add_field(c, STR("Accept"), STR("application/json")))
        return false;
    if (r->content_type.p && !add_field(c, STR("Content-Type"), r->content_type))
        return false;
    for (size_t i = 0; i < r->header_count; i++)
        if (!add_field(c, r->headers[i].name, r->headers[i].value))
            return false;
    return true;
}

static bool is_own_machine(const char *origin)
{
    return strncmp(origin, "http://127.", 11) == 0 || strncmp(origin, "https://127.", 12) == 0 ||
           strncmp(origin, "http://[::1]", 12) == 0 || strncmp(origin, "https://[::1]", 13) == 0;
}

/* Returns the protocol to which curl is restricted for this origin, or NULL if the origin is not allowed. */
static const char *protocol_of(const struct http_client *client, const char *origin)
{
    if (strncmp(origin, "http://", 7) == 0 && client->options.allow_http)
        return "http";
#ifdef VT_TEST_SEAMS
    if (strncmp(origin, "http://", 7) == 0 && is_own_machine(origin))
        return "http";
#endif
    return strncmp(origin, "https://", 8) == 0 ? "https" : NULL;
}

static bool set_body(struct http_call *c, const struct http_request *r)
{
    if (strcmp(r->method, "GET") == 0)
        return !r->body.len && curl_easy_setopt(c->easy, CURLOPT_HTTPGET, 1L) == CURLE_OK;
    if (strcmp(r->method, "POST") != 0)
        return false;
    return wiped_append(&c->sent, r->body) && curl_easy_setopt(c->easy, CURLOPT_POST, 1L) == CURLE_OK &&
           curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, c->sent.p) == CURLE_OK &&
           curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->sent.len) == CURLE_OK;
}

/* Does not set CURLOPT_LOW_SPEED_TIME: it would also end the wait for the first byte of the response. */
static void set_limits(CURL *e, const struct http_client_options *o)
{
    (void)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)o->connect_timeout_ms);
    (void)curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)o->timeout_ms);
    (void)curl_easy_setopt(e, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)o->body_max);
}

static bool set_options(struct http_call *c, const char *origin)
{
    const struct http_client_options *o = &c->client->options;
    CURL *e = c->easy;
    char agent[64];
    (void)snprintf(agent, sizeof agent, "viewtally/%s", build_version);
    set_limits(e, o);
    (void)curl_easy_setopt(e, CURLOPT_PRIVATE, c);
    (void)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, c->why);
    (void)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L); /* canceling must not wait for the resolver thread */
    (void)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    /* If a connection to the host is being opened, wait for its handshake instead of opening another one,
     * because with HTTP/2 the calls can share it. Only with TLS: without TLS, the first response shows
     * whether the connection can be shared, so all calls would wait for that response. */
    (void)curl_easy_setopt(e, CURLOPT_PIPEWAIT,
                           (long)(strncmp(origin, "https:", 6) == 0 && !o->opens_connections_in_parallel));
    (void)curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    (void)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(e, CURLOPT_HEADERDATA, c);
    (void)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(e, CURLOPT_WRITEDATA, c);
    if (is_own_machine(origin) || o->allow_http)
        (void)curl_easy_setopt(e, CURLOPT_PROXY, "");
    if (o->unix_socket && curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, o->unix_socket) != CURLE_OK)
        return false;
    if (o->ca_file && *o->ca_file && curl_easy_setopt(e, CURLOPT_CAINFO, o->ca_file) != CURLE_OK)
        return false;
    return curl_easy_setopt(e, CURLOPT_URL, c->url.p) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HTTPHEADER, c->fields) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_USERAGENT, agent) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, protocol_of(c->client, origin)) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "") == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK;
}

static bool start_call(struct http_call *c, const struct http_request *r)
{
    const char *origin = r->origin;
    if (!protocol_of(c->client, origin) || !http_is_path(r->path) || !(c->easy = curl_easy_init()))
        return false;
    if (!wiped_append(&c->url, str_from_cstr(origin)) || !wiped_append(&c->url, r->path))
        return false;
    /* curl sends a request again only if it was sent on a reused connection. So a request that must not be
     * sent twice gets a new connection. */
    (void)curl_easy_setopt(c->easy, CURLOPT_FRESH_CONNECT, (long)r->once);
    return add_fields(c, r) && set_options(c, origin) && guard_connections(c) && set_body(c, r) &&
           curl_multi_add_handle(c->client->multi, c->easy) == CURLM_OK;
}

struct http_call *http_client_send(struct http_client *client, const struct http_request *request,
                                   void (*done)(void *ctx, const struct http_result *result), void *ctx)
{
    CHECK(!client->closing && request->origin);
    struct http_call *c = xcalloc(1, sizeof *c);
    c->client = client;
    c->done = done;
    c->ctx = ctx;
    c->started_ms = uv_now(client->loop);
    client->count++;
    if (start_call(c, request)) {
        list_init(&c->link);
        list_add_last(&client->calls, &c->link);
        return c;
    }
    remove_easy(c);
    c->failure = TRANSPORT_REQUEST;
    (void)snprintf(c->why, sizeof c->why, "cannot start the call: the request is invalid, or out of memory");
    list_init(&c->link);
    list_add_last(&client->failed, &c->link);
    (void)uv_timer_start(&client->failing, on_failing, 0, 0);
    return c;
}

void http_client_cancel(struct http_call *c)
{
    CHECK(c->done); /* fails within the call's own `done`; after `done`, the call has been freed */
    free_call(c);
}

size_t http_client_count_calls(const struct http_client *client)
{
    return client->count;
}

/* ---- creating and closing the client ---- */

struct http_client *http_client_new(uv_loop_t *loop, const struct http_client_options *options)
{
    init_library();
    struct http_client *client = FAULT_OR(NULL, calloc(1, sizeof *client));
    CURLM *multi = client ? FAULT_OR(NULL, curl_multi_init()) : NULL;
    if (!multi) {
        free(client);
        return NULL;
    }
    client->loop = loop;
    client->options = *options;
    if (!options->ca_file || !*options->ca_file)
        client->options.ca_file = ca_bundle_find();
    list_init(&client->calls);
    list_init(&client->failed);
    CHECK(uv_timer_init(loop, &client->timer) == 0 && uv_timer_init(loop, &client->failing) == 0);
    client->timer.data = client->failing.data = client;
    client->open_handles = 2;
    client->multi = multi;
    (void)curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    (void)curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    (void)curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    (void)curl_multi_setopt(client->multi, CURLMOPT_MAX_HOST_CONNECTIONS, options->host_connections);
    return client;
}

static void on_timer_closed(uv_handle_t *h)
{
    handle_closed(h->data);
}

void http_client_close(struct http_client *client, void (*closed)(void *ctx), void *ctx)
{
    CHECK(!client->closing);
    client->closing = true;
    client->closed = closed;
    client->closed_ctx = ctx;
    while (!list_is_empty(&client->calls))
        free_call(LIST_ENTRY(client->calls.next, struct http_call, link));
    while (!list_is_empty(&client->failed))
        free_call(LIST_ENTRY(client->failed.next, struct http_call, link));
    (void)curl_multi_cleanup(client->multi);
    ERR_clear_error();
    uv_close((uv_handle_t *)&client->timer, on_timer_closed);
    uv_close((uv_handle_t *)&client->failing, on_timer_closed);
}
