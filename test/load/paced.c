/* Asks a server at a fixed rate, which wrk cannot, and tells how long the answers took.
 *
 *   paced PORT REQUESTS CONNECTIONS RATE SECONDS [START]
 *
 * On 127.0.0.1. REQUESTS has lines `KEY TARGET [ETAG]`, as requests.lua reads them, asked in turn from line
 * START on. RATE is that of all connections together, a second; 0: each connection asks again when it has its
 * answer. A request is due at its time whether or not a connection is free, and its answer is counted from
 * then ("coordinated omission" would hide what waits). The first tenth of the time counts for nothing. Prints
 * `RESULT {…}`, times in microseconds; `refused` are answers other than 2xx and 3xx. */
#include <arpa/inet.h>
#include <errno.h>
#include <llhttp.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_LEN = 2048, EVENTS = 256 };
static const int64_t SECOND = 1000 * 1000 * 1000;

struct text {
    char *p;
    size_t len;
};

struct conn {
    int fd;
    bool busy;
    int64_t due;
    llhttp_t parser;
};

static struct text *requests;
static size_t request_count, next_request;
static struct conn *conns;
static int *idle; /* a ring: the one that has been idle for longest is next */
static size_t conn_count, idle_first, idle_count;
static int64_t interval, next_due, begin, count_from, end;
static uint32_t *times; /* ns, at most UINT32_MAX */
static size_t time_count, time_room, refused;
static uint64_t bytes;
static llhttp_settings_t settings;

static void die(const char *what)
{
    fprintf(stderr, "paced: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

static void *room_for(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (!p)
        die("out of memory");
    return p;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

static void load_requests(const char *name)
{
    char line[LINE_MAX_LEN], head[2 * LINE_MAX_LEN], key[LINE_MAX_LEN], target[LINE_MAX_LEN],
        etag[LINE_MAX_LEN];
    size_t room = 0;
    FILE *f = fopen(name, "r");
    if (!f)
        die(name);
    while (fgets(line, sizeof line, f)) {
        int n = sscanf(line, "%s %s %s", key, target, etag);
        if (n < 2)
            die("a line is not KEY TARGET [ETAG]");
        int len = snprintf(
            head, sizeof head, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n%s%s%s\r\n",
            target, key, n == 3 ? "If-None-Match: " : "", n == 3 ? etag : "", n == 3 ? "\r\n" : "");
        if (request_count == room) {
            room = room ? 2 * room : 1024;
            requests = realloc(requests, room * sizeof *requests);
            if (!requests)
                die("out of memory");
        }
        requests[request_count].p = strdup(head);
        requests[request_count++].len = (size_t)len;
    }
    fclose(f);
    if (!request_count)
        die("no requests");
}

static void push_idle(int i)
{
    idle[(idle_first + idle_count++) % conn_count] = i;
}

static int pop_idle(void)
{
    int i = idle[idle_first];
    idle_first = (idle_first + 1) % conn_count;
    idle_count--;
    return i;
}

static void note_time(int64_t ns)
{
    if (time_count == time_room) {
        time_room = time_room ? 2 * time_room : 1 << 16;
        times = realloc(times, time_room * sizeof *times);
        if (!times)
            die("out of memory");
    }
    times[time_count++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static int on_complete(llhttp_t *p)
{
    struct conn *c = p->data;
    if (!c->busy)
        die("an answer without a request");
    if (c->due >= count_from) {
        note_time(now_ns() - c->due);
        refused += p->status_code >= 400;
    }
    c->busy = false;
    push_idle((int)(c - conns));
    return 0;
}

static void open_conns(int port, int epoll)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < conn_count; i++) {
        struct conn *c = &conns[i];
        c->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
            die("cannot connect");
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        llhttp_init(&c->parser, HTTP_RESPONSE, &settings);
        c->parser.data = c;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
            die("epoll_ctl");
        push_idle((int)i);
    }
}

/* A request is far smaller than an empty socket's buffer. */
static void ask(int64_t due)
{
    struct conn *c = &conns[pop_idle()];
    const struct text *r = &requests[next_request++ % request_count];
    c->due = due;
    c->busy = true;
    if (send(c->fd, r->p, r->len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)r->len)
        die("cannot send");
}

static void ask_what_is_due(void)
{
    if (!interval)
        for (int64_t now = now_ns(); idle_count && now < end;)
            ask(now);
    while (interval && idle_count && next_due < end && next_due <= now_ns()) {
        ask(next_due);
        next_due += interval;
    }
}

static void read_answer(struct conn *c)
{
    static char buffer[1 << 18];
    ssize_t n = recv(c->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        die("the server closed a connection");
    bytes += (uint64_t)n;
    enum llhttp_errno e = llhttp_execute(&c->parser, buffer, (size_t)n);
    if (e != HPE_OK)
        die(llhttp_errno_name(e));
}

/* What was due has been asked, however late. */
static bool is_over(void)
{
    return now_ns() >= end && idle_count == conn_count && (!interval || next_due >= end);
}

static void run(int epoll)
{
    struct epoll_event events[EVENTS];
    while (!is_over()) {
        ask_what_is_due();
        int64_t wait = SECOND / 100;
        if (interval && idle_count && next_due < end && next_due - now_ns() < wait)
            wait = next_due - now_ns();
        struct timespec timeout = {.tv_nsec = wait > 0 ? wait : 0};
        int n = epoll_pwait2(epoll, events, EVENTS, &timeout, NULL);
        if (n < 0 && errno != EINTR)
            die("epoll_pwait2");
        for (int i = 0; i < n; i++)
            read_answer(events[i].data.ptr);
        if (now_ns() > end + 30 * SECOND)
            die("answers did not come for 30 s");
    }
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double percentile(double part)
{
    size_t i = (size_t)(part * (double)time_count);
    return times[i < time_count ? i : time_count - 1] / 1e3;
}

static void print_result(void)
{
    if (!time_count)
        die("no answers");
    qsort(times, time_count, sizeof *times, compare);
    printf("RESULT {\"requests\": %zu, \"seconds\": %.6f, \"asked\": %zu, \"p50_us\": %.1f, \"p90_us\": "
           "%.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, "
           "\"max_us\": %.1f, \"bytes\": %llu, \"refused\": %zu, \"broken\": 0}\n",
           time_count, (double)(end - count_from) / 1e9, next_request, percentile(0.5), percentile(0.9),
           percentile(0.99), percentile(0.999), percentile(1), (unsigned long long)bytes, refused);
}

int main(int argc, char **argv)
{
    if (argc < 6 || argc > 7)
        die("usage: paced PORT REQUESTS CONNECTIONS RATE SECONDS [START]");
    double rate = strtod(argv[4], NULL), seconds = strtod(argv[5], NULL);
    conn_count = strtoul(argv[3], NULL, 10);
    if (!conn_count || seconds <= 0 || rate < 0)
        die("CONNECTIONS and SECONDS are above 0");
    load_requests(argv[2]);
    size_t start = argc == 7 ? strtoul(argv[6], NULL, 10) : 0;
    next_request = start % request_count;
    conns = room_for(conn_count, sizeof *conns);
    idle = room_for(conn_count, sizeof *idle);
    llhttp_settings_init(&settings);
    settings.on_message_complete = on_complete;
    prctl(PR_SET_TIMERSLACK, 1UL);
    int epoll = epoll_create1(0);
    open_conns((int)strtol(argv[1], NULL, 10), epoll);
    begin = next_due = now_ns();
    interval = rate > 0 ? (int64_t)(1e9 / rate) : 0;
    end = begin + (int64_t)(seconds * 1e9);
    count_from = begin + (int64_t)(seconds * 1e8);
    run(epoll);
    next_request -= start % request_count;
    print_result();
    return 0;
}
