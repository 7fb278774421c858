/* The test server and its clients. */
#include "lib/http_rig.h"

#include "base/check.h"
#include "base/clock.h"
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CLOCK_START_MS = 1000000, NARROW_BYTES = 32 << 10 };

struct http_limits rig_limits(void)
{
    return (struct http_limits){.head_bytes = 16 << 10,
                                .target_bytes = 8 << 10,
                                .field_lines = 100,
                                .body_bytes = 16 << 10,
                                .max_connections = 100,
                                .header_timeout_ms = 30000,
                                .body_timeout_ms = 20000,
                                .idle_timeout_ms = 75000,
                                .write_timeout_ms = 60000,
                                .request_timeout_ms = 90000,
                                .drain_ms = 5000};
}

static void open_clock(struct rig *rig, bool fake)
{
    char path[96];
    int64_t zero[2] = {0, 0};
    memcpy(rig->dir, "/tmp/vt-http-XXXXXX", 20);
    assert_non_null(mkdtemp(rig->dir));
    (void)snprintf(path, sizeof path, "%s/clock", rig->dir);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, zero, sizeof zero), sizeof zero);
    rig->clock = mmap(NULL, sizeof zero, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(rig->clock != MAP_FAILED);
    (void)close(fd);
    rig->clock[1] = fake ? CLOCK_START_MS : 0;
    assert_int_equal(setenv("VIEWTALLY_TEST_CLOCK", path, 1), 0);
    assert_true(clock_use_test_file());
    (void)unlink(path);
}

void rig_options(struct rig *rig, const struct http_limits *limits, struct http_options *out)
{
    static const char *const loopback[] = {"127.0.0.1:0"};
    *out = (struct http_options){.limits = limits ? *limits : rig_limits(),
                                 .listen = loopback,
                                 .listen_count = 1,
                                 .router = &rig->app.router};
}

static void prepare(struct rig *rig, bool fake_clock)
{
    *rig = (struct rig){0};
    open_clock(rig, fake_clock);
    assert_int_equal(uv_loop_init(&rig->loop), 0);
    test_app_init(&rig->app, &rig->loop);
}

enum err rig_open(struct rig *rig, const struct http_options *options, struct error *error)
{
    return http_server_open(&rig->server, &rig->loop, options, error);
}

void rig_init(struct rig *rig, const struct http_limits *limits, bool fake_clock)
{
    struct http_options options;
    struct error error;
    prepare(rig, fake_clock);
    rig_options(rig, limits, &options);
    if (limits && limits->max_connections == 0)
        return; /* the test opens the server */
    if (rig_open(rig, &options, &error) != OK)
        fail_msg("%s", error.text);
}

void rig_on_closed(void *ctx)
{
    struct rig *rig = ctx;
    rig->closed = true;
    rig->server = NULL;
}

void rig_close(struct rig *rig)
{
    http_server_close(rig->server, rig_on_closed, rig);
}

void rig_fini(struct rig *rig)
{
    if (rig->server && !rig->server->draining)
        rig_close(rig);
    rig->clock[1] = 0;
    if (rig->server)
        rig_until(rig, rig->closed);
    rig_iterate_n(rig, 2);
    assert_int_equal(rig->app.begun, rig->app.freed);
    test_app_fini(&rig->app);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    rig->clock[0] = rig->clock[1] = 0;
    (void)rmdir(rig->dir);
}

void rig_advance(struct rig *rig, int64_t ms)
{
    CHECK(rig->clock[1]);
    rig->clock[1] += ms;
}

void rig_iterate(struct rig *rig)
{
    (void)uv_run(&rig->loop, UV_RUN_NOWAIT);
}

void rig_iterate_n(struct rig *rig, int n)
{
    while (n-- > 0)
        rig_iterate(rig);
}

void rig_tick(struct rig *rig)
{
    enum { TWO_TICKS_US = 110000 };
    int64_t until_us = clock_work_us() + TWO_TICKS_US;
    while (clock_work_us() < until_us)
        (void)uv_run(&rig->loop, UV_RUN_ONCE); /* the timer of the tick makes uv_run() return */
}

int rig_setup(void **state)
{
    struct rig *rig = xmalloc(sizeof *rig);
    rig_init(rig, NULL, false);
    *state = rig;
    return 0;
}

int rig_setup_with_clock(void **state)
{
    struct rig *rig = xmalloc(sizeof *rig);
    rig_init(rig, NULL, true);
    *state = rig;
    return 0;
}

int rig_teardown(void **state)
{
    rig_fini(*state);
    free(*state);
    return 0;
}

/* ---- clients ---- */

static const struct listener *listener_at(const struct rig *rig, int n)
{
    const struct listener *l = rig->server->listeners;
    while (l && n-- > 0)
        l = l->next;
    CHECK(l);
    return l;
}

static void connect_peer(struct peer *p, struct rig *rig, const char *name, int receive_bytes)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un un;
    } to = {0};
    socklen_t len = sizeof to.v4;
    const char *colon = strrchr(name, ':');
    if (strncmp(name, "unix:", 5) == 0) {
        to.un.sun_family = AF_UNIX;
        memcpy(to.un.sun_path, name + 5, strlen(name + 5));
        len = sizeof to.un;
    } else if (name[0] == '[') {
        assert_int_equal(uv_ip6_addr("::1", (int)strtol(colon + 1, NULL, 10), &to.v6), 0);
        len = sizeof to.v6;
    } else {
        assert_int_equal(uv_ip4_addr("127.0.0.1", (int)strtol(colon + 1, NULL, 10), &to.v4), 0);
    }
    *p = (struct peer){.rig = rig, .fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_true(p->fd >= 0);
    if (receive_bytes)
        (void)setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    assert_int_equal(connect(p->fd, &to.any, len), 0);
    assert_int_equal(fcntl(p->fd, F_SETFL, O_NONBLOCK), 0);
}

void peer_open_on_listener(struct peer *p, struct rig *rig, int listener)
{
    connect_peer(p, rig, listener_at(rig, listener)->name, 0);
}

void peer_open(struct peer *p, struct rig *rig)
{
    peer_open_on_listener(p, rig, 0);
}

void peer_open_narrow(struct peer *p, struct rig *rig)
{
    connect_peer(p, rig, listener_at(rig, 0)->name, NARROW_BYTES);
}

void peer_fini(struct peer *p)
{
    if (p->fd >= 0)
        (void)close(p->fd);
    p->fd = -1;
    free(p->in);
    p->in = NULL;
}

size_t peer_send_some(struct peer *p, struct str bytes)
{
    ssize_t n = send(p->fd, bytes.p, bytes.len, MSG_NOSIGNAL);
    if (n >= 0 || errno == EAGAIN)
        return n > 0 ? (size_t)n : 0;
    peer_read(p); /* reads the bytes that arrived before the connection ended */
    p->ended = true;
    return 0;
}

bool peer_send(struct peer *p, struct str bytes)
{
    int64_t limit = clock_work_us() + 60000000;
    while (bytes.len && !p->ended) {
        size_t n = peer_send_some(p, bytes);
        bytes = str_make(bytes.p + n, bytes.len - n);
        rig_iterate(p->rig);
        if (n == 0)
            peer_read(p);
        if (clock_work_us() > limit)
            fail_msg("the server does not read the remaining %zu bytes", bytes.len);
    }
    return !p->ended;
}

bool peer_send_text(struct peer *p, const char *text)
{
    return peer_send(p, str_from_cstr(text));
}

void peer_shut(struct peer *p)
{
    (void)shutdown(p->fd, SHUT_WR);
}

void peer_reset(struct peer *p)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    (void)close(p->fd);
    p->fd = -1;
}

void peer_read_some(struct peer *p, size_t max)
{
    size_t end = p->len + max;
    while (!p->ended && p->len < end) {
        if (p->cap - p->len < 65536) {
            /* realloc() instead of try_realloc(), because fault injection must not count it. */
            p->in = realloc(p->in, p->cap = p->cap * 2 + 131072);
            assert_non_null(p->in);
        }
        size_t room = p->cap - p->len < end - p->len ? p->cap - p->len : end - p->len;
        ssize_t n = recv(p->fd, p->in + p->len, room, 0);
        if (n > 0) {
            p->len += (size_t)n;
            continue;
        }
        if (n < 0 && errno == EAGAIN)
            return;
        p->ended = true;
        p->reset = n < 0;
    }
}

void peer_read(struct peer *p)
{
    peer_read_some(p, SIZE_MAX / 4);
}

/* ---- responses ---- */

struct str peer_response_field(const struct peer_response *a, const char *name)
{
    struct str rest = a->head, line, value;
    while (rest.p) {
        rest = str_cut(rest, '\n', &line);
        value = str_cut(line, ':', &line);
        if (value.p && str_eq_nocase(line, str_from_cstr(name)))
            return str_trim(str_make(value.p, value.len - (value.len && value.p[value.len - 1] == '\r')));
    }
    return (struct str){NULL, 0};
}

/* Returns the length of the chunked body at the start of `s`, or 0 if it is incomplete. */
static size_t chunks_length(struct str s)
{
    size_t at = 0;
    for (;;) {
        char *end;
        const char *line = memmem(s.p + at, s.len - at, "\r\n", 2);
        if (!line)
            return 0;
        size_t n = strtoul(s.p + at, &end, 16);
        assert_ptr_equal(end, line);
        at = (size_t)(line - s.p) + 2 + n + 2;
        if (at > s.len)
            return 0;
        assert_memory_equal(s.p + at - 2, "\r\n", 2);
        if (n == 0)
            return at;
    }
}

/* Removes the first response from `*s`. Returns false if its head is incomplete. */
static bool cut_response(struct str *s, bool is_head, bool ended, struct peer_response *a)
{
    const char *end = s->len ? memmem(s->p, s->len, "\r\n\r\n", 4) : NULL;
    unsigned long long length = 0;
    *a = (struct peer_response){0};
    if (!end)
        return false;
    a->head = str_make(s->p, (size_t)(end - s->p) + 4);
    assert_memory_equal(s->p, "HTTP/1.1 ", 9);
    a->status = (int)strtol(s->p + 9, NULL, 10);
    struct str rest = str_make(s->p + a->head.len, s->len - a->head.len), field;
    a->chunked = peer_response_field(a, "Transfer-Encoding").p != NULL;
    field = peer_response_field(a, "Content-Length");
    bool has_length = str_to_u64(field, SIZE_MAX, &length);
    assert_false(a->chunked && has_length);
    if (is_head || a->status < 200 || a->status == 204 || a->status == 304) {
        a->complete = true;
        length = 0;
    } else if (a->chunked) {
        length = chunks_length(rest);
        a->complete = length > 0;
    } else if (has_length) {
        a->complete = rest.len >= length;
    } else { /* the end of the connection ends the body */
        length = rest.len;
        a->complete = ended;
    }
    a->body = str_make(rest.p, a->complete ? (size_t)length : rest.len);
    *s = str_make(rest.p + a->body.len, rest.len - a->body.len);
    return true;
}

size_t peer_responses(const struct peer *p, const char *heads, struct peer_response *out, size_t max)
{
    struct str rest = str_make(p->in, p->len);
    size_t n = 0;
    while (n < max && rest.len) {
        bool is_head = heads && strlen(heads) > n && heads[n] == 'H';
        if (!cut_response(&rest, is_head, p->ended, &out[n]))
            break;
        n++;
    }
    return n;
}

size_t peer_complete(struct peer *p, const char *heads)
{
    enum { MAX = 2048 };
    static struct peer_response responses[MAX];
    peer_read(p);
    size_t n = peer_responses(p, heads, responses, MAX);
    return n && !responses[n - 1].complete ? n - 1 : n;
}

void peer_expect(const struct peer *p, const char *statuses)
{
    enum { MAX = 64 };
    struct peer_response responses[MAX];
    char text[512] = "";
    size_t n = peer_responses(p, NULL, responses, MAX), at = 0;
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, i ? " %d" : "%d", responses[i].status);
    assert_string_equal(text, statuses);
}

size_t peer_chunk_bytes(const struct peer_response *a)
{
    const char *at = a->body.p;
    size_t total = 0, n;
    while ((n = strtoul(at, NULL, 16)) != 0) {
        total += n;
        at = (const char *)memchr(at, '\n', 20) + 1 + n + 2;
    }
    return total;
}

struct peer_response peer_request(struct peer *p, const char *request, size_t n)
{
    enum { MAX = 64 };
    struct peer_response responses[MAX];
    CHECK(n && n <= MAX);
    (void)peer_send_text(p, request);
    rig_until(p->rig, peer_complete(p, NULL) >= n || p->ended);
    if (peer_responses(p, NULL, responses, MAX) < n)
        fail_msg("expected %zu responses; the connection ended after: %.*s", n, (int)p->len,
                 p->in ? p->in : "");
    return responses[n - 1];
}
