/* The only file that knows libcurl: its multi interface, driven by the loop. Knows no platform.
 *
 * curl says which sockets it wants watched (on_socket: one uv_poll_t each) and when it wants to be called
 * (on_timer: one uv_timer_t); both call curl_multi_socket_action() and then take what is complete (deliver).
 * Nothing of the caller's runs inside a callback of curl's, where handles must not be added or removed.
 *
 * A call that could not even begin is delivered by a timer of its own, so that `done` never runs within
 * http_client_send(). curl leaves OpenSSL's queue of errors as it falls; hiredis, on the same thread, would
 * take an old error for its own: emptied after each turn. */
#include "net/http_client.h"

#include "base/build_info.h"
#include "base/check.h"
#include "base/fault.h"
#include "base/list.h"
#include "base/wiped.h"

#include <ctype.h>
#include <curl/curl.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>

struct http_client {
    uv_loop_t *loop;
    struct http_client_options options;
    CURLM *multi;
    uv_timer_t timer, failing; /* curl's; that of calls which could not begin */
    struct list calls, failed; /* in flight; those to deliver as they are */
    size_t count;
    unsigned open; /* handles of the loop that are not closed yet */
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
    enum transport_error refused; /* TRANSPORT_OK: it did begin */
    uint64_t started_ms;
    void (*done)(void *ctx, const struct http_result *result);
    void *ctx;
};

struct socket_watch {
    uv_poll_t poll;
    struct http_client *client;
    curl_socket_t socket;
};

const char *transport_error_name(enum transport_error e)
{
    static const char *const names[TRANSPORT_ERRORS] = {
        "ok", "dns", "connect", "tls", "timeout", "reset", "too_large", "protocol", "request",
    };
    CHECK((unsigned)e < TRANSPORT_ERRORS);
    return names[e];
}

/* ---- the library ---- */

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
        return error_set(error, ERR_INVALID, "libcurl has no asynchronous resolver");
    if (!(v->features & CURL_VERSION_SSL))
        return error_set(error, ERR_INVALID, "libcurl has no TLS");
    if (!(v->features & CURL_VERSION_LIBZ))
        return error_set(error, ERR_INVALID, "libcurl cannot decompress");
    return OK;
}

static void free_fields(struct curl_slist *fields)
{
    for (struct curl_slist *f = fields; f; f = f->next)
        explicit_bzero(f->data, strlen(f->data));
    curl_slist_free_all(fields);
}

static void drop_easy(struct http_call *c)
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
    drop_easy(c);
    list_remove(&c->link);
    c->client->count--;
    free_fields(c->fields);
    wiped_fini(&c->url);
    wiped_fini(&c->sent);
    wiped_fini(&c->head);
    wiped_fini(&c->body);
    free(c);
}

/* ---- what comes ---- */

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct http_call *c = ctx;
    if (n * size > c->client->options.body_max - c->body.len) {
        c->too_large = true;
        return 0;
    }
    return wiped_append(&c->body, str_make(p, n * size)) ? n * size : 0; /* less than came: curl gives up */
}

/* One line at a time, the status line first; that of an interim answer (100) begins again. */
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

static enum transport_error error_of(CURLcode code)
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

static void finish(struct http_call *c, CURLcode code)
{
    struct http_result r = {.took_ms = (int64_t)(uv_now(c->client->loop) - c->started_ms), .why = c->why};
    r.error = c->refused != TRANSPORT_OK ? c->refused : c->too_large ? TRANSPORT_TOO_LARGE : error_of(code);
    if (r.error == TRANSPORT_OK && !read_headers(c))
        r.error = TRANSPORT_TOO_LARGE;
    if (r.error == TRANSPORT_TOO_LARGE)
        (void)snprintf(c->why, sizeof c->why, "the answer is larger than it may be");
    else if (r.error != TRANSPORT_OK && !c->why[0])
        (void)snprintf(c->why, sizeof c->why, "%s", curl_easy_strerror(code));
    if (r.error == TRANSPORT_OK) {
        long status = 0;
        (void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
        r.response = (struct http_response){(int)status, str_make(c->body.p, c->body.len), c->headers,
                                            c->header_count};
        r.why = "";
    }
    drop_easy(c); /* first: `done` may close the whole */
    list_remove(&c->link);
    void (*done)(void *, const struct http_result *) = c->done;
    c->done = NULL;
    done(c->ctx, &r);
    free_call(c);
}

/* ---- the loop ---- */

static void on_failing(uv_timer_t *t);

static void deliver(struct http_client *f)
{
    CURLMsg *m;
    int left;
    ERR_clear_error();
    while (!f->closing && (m = curl_multi_info_read(f->multi, &left))) {
        char *call = NULL;
        if (m->msg != CURLMSG_DONE)
            continue;
        const CURLcode code = m->data.result; /* `m` dies with the handle's removal */
        CHECK(curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &call) == CURLE_OK);
        finish((struct http_call *)(void *)call, code);
    }
}

/* curl has failed as a whole, which is a lack of memory: every call ends with an error, one in each loop
 * iteration. Whether a request went out is unknown then. */
static void fail_all(struct http_client *f, CURLMcode code)
{
    while (!list_is_empty(&f->calls)) {
        struct http_call *c = LIST_ENTRY(f->calls.next, struct http_call, link);
        list_remove(&c->link);
        drop_easy(c);
        c->refused = TRANSPORT_RESET;
        (void)snprintf(c->why, sizeof c->why, "%s", curl_multi_strerror(code));
        list_add_last(&f->failed, &c->link);
    }
    (void)uv_timer_start(&f->failing, on_failing, 0, 0);
}

static void act(struct http_client *f, curl_socket_t socket, int events)
{
    int running;
    const CURLMcode code =
        FAULT_OR(CURLM_OUT_OF_MEMORY, curl_multi_socket_action(f->multi, socket, events, &running));
    if (code == CURLM_OK)
        deliver(f);
    else
        fail_all(f, code);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct socket_watch *w = poll->data;
    const int flags = status < 0 ? CURL_CSELECT_ERR
                                 : (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
                                       (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0);
    act(w->client, w->socket, flags);
}

static void on_timeout(uv_timer_t *t)
{
    act(t->data, CURL_SOCKET_TIMEOUT, 0);
}

static void on_failing(uv_timer_t *t)
{
    struct http_client *f = t->data;
    if (f->failed.next->next != &f->failed) /* one a turn: who begins it again at once gets no further */
        (void)uv_timer_start(t, on_failing, 0, 0);
    if (!list_is_empty(&f->failed))
        finish(LIST_ENTRY(f->failed.next, struct http_call, link), CURLE_OK);
}

static void one_closed(struct http_client *f)
{
    if (--f->open || !f->closing)
        return;
    void (*closed)(void *) = f->closed;
    void *ctx = f->closed_ctx;
    free(f);
    closed(ctx);
}

static void on_watch_closed(uv_handle_t *h)
{
    struct socket_watch *w = h->data;
    struct http_client *f = w->client;
    free(w);
    one_closed(f);
}

static struct socket_watch *socket_watch_new(struct http_client *f, curl_socket_t socket)
{
    struct socket_watch *w = FAULT_OR(NULL, calloc(1, sizeof *w));
    if (!w)
        return NULL;
    w->client = f;
    w->socket = socket;
    w->poll.data = w;
    if (uv_poll_init_socket(f->loop, &w->poll, socket) != 0) {
        free(w);
        return NULL;
    }
    f->open++;
    (void)curl_multi_assign(f->multi, socket, w);
    return w;
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *ctx, void *watch)
{
    struct http_client *f = ctx;
    struct socket_watch *w = watch;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        /* Stopped at once, as curl closes the socket next. */
        if (w) {
            (void)curl_multi_assign(f->multi, socket, NULL);
            uv_close((uv_handle_t *)&w->poll, on_watch_closed);
        }
        return 0;
    }
    if (!w && !(w = socket_watch_new(f, socket)))
        return -1;
    const int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&w->poll, events, on_poll) == 0 ? 0 : -1;
}

static int on_timer(CURLM *multi, long timeout_ms, void *ctx)
{
    struct http_client *f = ctx;
    (void)multi;
    if (timeout_ms < 0)
        return uv_timer_stop(&f->timer);
    uv_update_time(f->loop); /* it counts from the loop's time, which may be old */
    return uv_timer_start(&f->timer, on_timeout, (uint64_t)timeout_ms, 0);
}

/* ---- what goes ---- */

/* No byte that could end a line or begin another part of the request. */
static bool is_line(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    return true;
}

static bool is_path(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] >= 0x7f || s.p[i] == '#')
            return false;
    return s.len > 0 && s.p[0] == '/';
}

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!isalnum((unsigned char)s.p[i]) && s.p[i] != '-' && s.p[i] != '_')
            return false;
    return s.len > 0;
}

static bool add_field(struct http_call *c, struct str name, struct str value)
{
    struct wiped line = {0};
    if (!is_name(name) || !is_line(value))
        return false;
    /* A semicolon is curl's way to send an empty field. */
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
    struct curl_slist *none = curl_slist_append(NULL, "Expect:"); /* a body goes without asking first */
    c->fields = none;
    bool ok = none && add_field(c, STR("Accept"), STR("application/json"));
    if (r->content_type.p)
        ok = ok && add_field(c, STR("Content-Type"), r->content_type);
    for (size_t i = 0; i < r->header_count; i++)
        ok = ok && add_field(c, r->headers[i].name, r->headers[i].value);
    return ok;
}

static bool is_own_machine(const char *origin)
{
    return strncmp(origin, "http://127.", 11) == 0 || strncmp(origin, "https://127.", 12) == 0 ||
           strncmp(origin, "http://[::1]", 12) == 0 || strncmp(origin, "https://[::1]", 13) == 0;
}

/* The only protocol that curl may use for the origin; NULL: the origin is not allowed. */
static const char *protocol_of(const struct http_client *f, const char *origin)
{
    if (strncmp(origin, "http://", 7) == 0 && f->options.allow_http)
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

static void set_limits(CURL *e, const struct http_client_options *o)
{
    (void)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)o->connect_timeout_ms);
    (void)curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)o->timeout_ms);
    (void)curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, 16L);
    (void)curl_easy_setopt(e, CURLOPT_LOW_SPEED_TIME, (long)(o->timeout_ms / 1500 + 1));
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
    (void)curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L); /* cancelling does not wait for a name's look-up */
    (void)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    /* Rather share a connection than open many at once. Over TLS the handshake says whether one can be
     * shared; without, the first answer would, and all others wait for it. */
    (void)curl_easy_setopt(e, CURLOPT_PIPEWAIT, (long)(strncmp(origin, "https:", 6) == 0));
    (void)curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    (void)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(e, CURLOPT_HEADERDATA, c);
    (void)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(e, CURLOPT_WRITEDATA, c);
    if (is_own_machine(origin) || o->allow_http)
        (void)curl_easy_setopt(e, CURLOPT_PROXY, "");
    bool ok = curl_easy_setopt(e, CURLOPT_URL, c->url.p) == CURLE_OK &&
              curl_easy_setopt(e, CURLOPT_HTTPHEADER, c->fields) == CURLE_OK &&
              curl_easy_setopt(e, CURLOPT_USERAGENT, agent) == CURLE_OK &&
              curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, protocol_of(c->client, origin)) == CURLE_OK &&
              curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS) == CURLE_OK &&
              curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "") == CURLE_OK &&
              curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
              curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
              curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK;
    if (o->unix_socket)
        ok = ok && curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, o->unix_socket) == CURLE_OK;
    if (o->ca_file && *o->ca_file)
        ok = ok && curl_easy_setopt(e, CURLOPT_CAINFO, o->ca_file) == CURLE_OK;
    return ok;
}

static bool begin(struct http_call *c, const struct http_request *r)
{
    const char *origin = r->origin;
    if (!protocol_of(c->client, origin) || !is_path(r->path) || !(c->easy = curl_easy_init()))
        return false;
    if (!wiped_append(&c->url, str_from_cstr(origin)) || !wiped_append(&c->url, r->path))
        return false;
    /* Only what goes by a kept connection is sent again when nothing comes back. */
    (void)curl_easy_setopt(c->easy, CURLOPT_FRESH_CONNECT, (long)r->once);
    return add_fields(c, r) && set_options(c, origin) && set_body(c, r) &&
           curl_multi_add_handle(c->client->multi, c->easy) == CURLM_OK;
}

struct http_call *http_client_send(struct http_client *f, const struct http_request *request,
                                   void (*done)(void *ctx, const struct http_result *result), void *ctx)
{
    CHECK(!f->closing && request->origin);
    struct http_call *c = xcalloc(1, sizeof *c);
    c->client = f;
    c->done = done;
    c->ctx = ctx;
    c->started_ms = uv_now(f->loop);
    f->count++;
    if (begin(c, request)) {
        list_init(&c->link);
        list_add_last(&f->calls, &c->link);
        return c;
    }
    drop_easy(c);
    c->refused = TRANSPORT_REQUEST;
    (void)snprintf(c->why, sizeof c->why, "the request is malformed, or there is no memory to send it");
    list_init(&c->link);
    list_add_last(&f->failed, &c->link);
    (void)uv_timer_start(&f->failing, on_failing, 0, 0);
    return c;
}

void http_client_cancel(struct http_call *c)
{
    CHECK(c->done); /* not from within its own `done`, nor after it */
    free_call(c);
}

size_t http_client_call_count(const struct http_client *f)
{
    return f->count;
}

/* ---- the whole ---- */

struct http_client *http_client_new(uv_loop_t *loop, const struct http_client_options *options)
{
    init_library();
    struct http_client *f = FAULT_OR(NULL, calloc(1, sizeof *f));
    CURLM *multi = f ? FAULT_OR(NULL, curl_multi_init()) : NULL;
    if (!multi) {
        free(f);
        return NULL;
    }
    f->loop = loop;
    f->options = *options;
    list_init(&f->calls);
    list_init(&f->failed);
    CHECK(uv_timer_init(loop, &f->timer) == 0 && uv_timer_init(loop, &f->failing) == 0);
    f->timer.data = f->failing.data = f;
    f->open = 2;
    f->multi = multi;
    (void)curl_multi_setopt(f->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(f->multi, CURLMOPT_SOCKETDATA, f);
    (void)curl_multi_setopt(f->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    (void)curl_multi_setopt(f->multi, CURLMOPT_TIMERDATA, f);
    (void)curl_multi_setopt(f->multi, CURLMOPT_MAX_HOST_CONNECTIONS, options->host_connections);
    return f;
}

static void on_timer_closed(uv_handle_t *h)
{
    one_closed(h->data);
}

void http_client_close(struct http_client *f, void (*closed)(void *ctx), void *ctx)
{
    CHECK(!f->closing);
    f->closing = true;
    f->closed = closed;
    f->closed_ctx = ctx;
    while (!list_is_empty(&f->calls))
        free_call(LIST_ENTRY(f->calls.next, struct http_call, link));
    while (!list_is_empty(&f->failed))
        free_call(LIST_ENTRY(f->failed.next, struct http_call, link));
    (void)curl_multi_cleanup(f->multi);
    ERR_clear_error();
    uv_close((uv_handle_t *)&f->timer, on_timer_closed);
    uv_close((uv_handle_t *)&f->failing, on_timer_closed);
}
