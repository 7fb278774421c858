/* What the work costs at least: libuv, llhttp, the SHA-256 of the key, a look-up in memory, and one write. No
 * deadlines, no limits on what a client sends, no conditional requests: a yardstick for `make bench`, not a
 * server.
 *
 *   floor PORT KEYS BODIES [REDIS-PORT LIMIT]
 *
 * KEYS has lines `KEY NUMBER`, BODIES lines `NUMBER TARGET FILE`: what the keys of that author get for that
 * target. With Redis each request takes part in an exact window of 60 s: one script call for all requests of
 * one turn of the loop. One request at a time on a connection. */
#include <hiredis/adapters/libuv.h>
#include <hiredis/async.h>
#include <llhttp.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uv.h>
#include <xxhash.h>

enum { TABLE = 1 << 18, BATCH_MAX = 256, TEXT_MAX = 512, LIMIT_KEY_MAX = 32 };

struct owner {
    unsigned char hash[crypto_hash_sha256_BYTES];
    unsigned number, row; /* row 0: free */
};

struct body {
    uint64_t hash; /* of target and number */
    char *text;    /* head and body; NULL: free */
    size_t len;
};

struct text {
    size_t len;
    char p[TEXT_MAX];
};

struct conn {
    uv_tcp_t tcp;
    uv_write_t write;
    llhttp_t parser;
    const struct body *answer;
    bool waiting, closing;
    struct text url, field, value, key;
};

struct batch {
    int count;
    struct conn *conns[BATCH_MAX];
    unsigned rows[BATCH_MAX];
};

static struct owner owners[TABLE];
static struct body bodies[TABLE];
static struct body refusal;
static llhttp_settings_t settings;
static uv_check_t turn;
static redisAsyncContext *redis;
static struct batch *open_batch;
static char script_hash[64], limit[16];
static char read_buffer[1 << 16];

static const char script[] =
    "local limit, t, verdicts = tonumber(ARGV[1]), redis.call('TIME'), {}\n"
    "local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"
    "for k = 1, #KEYS do\n"
    "  local s, first = redis.call('GET', KEYS[k]) or '', 0\n"
    "  local n = #s / 6\n"
    "  while first < n and now - struct.unpack('>I6', s, first * 6 + 1) >= 60000 do first = first + 1 end\n"
    "  if n - first < limit then\n"
    "    redis.call('SET', KEYS[k], string.sub(s, first * 6 + 1) .. struct.pack('>I6', now), 'PX', 60000)\n"
    "    verdicts[k] = 1\n"
    "  else verdicts[k] = 0 end\n"
    "end\n"
    "return verdicts\n";

static void die(const char *what)
{
    fprintf(stderr, "floor: %s\n", what);
    exit(1);
}

/* ---- what is answered ---- */

static struct owner *owner_place(const unsigned char hash[crypto_hash_sha256_BYTES])
{
    uint32_t i;
    memcpy(&i, hash, sizeof i);
    for (i %= TABLE; owners[i].row && memcmp(owners[i].hash, hash, sizeof owners[i].hash) != 0;
         i = (i + 1) % TABLE)
        ;
    return &owners[i];
}

/* The caller fills the place when it has no text. */
static struct body *body_place(const char *target, size_t len, unsigned number)
{
    uint64_t hash = XXH3_64bits_withSeed(target, len, number);
    size_t i = hash % TABLE;
    while (bodies[i].text && bodies[i].hash != hash)
        i = (i + 1) % TABLE;
    if (!bodies[i].text)
        bodies[i].hash = hash;
    return &bodies[i];
}

static void make_answer(struct body *b, const char *status, const char *text, size_t len)
{
    char head[TEXT_MAX];
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 %s\r\nServer: floor\r\nContent-Type: application/json; "
                     "charset=utf-8\r\nContent-Length: %zu\r\n"
                     "ETag: \"0123456789abcdef0123456789abcdef\"\r\nCache-Control: private, "
                     "no-cache\r\nVary: Authorization\r\n\r\n",
                     status, len);
    b->len = (size_t)n + len;
    b->text = malloc(b->len);
    if (!b->text)
        die("out of memory");
    memcpy(b->text, head, (size_t)n);
    memcpy(b->text + n, text, len);
}

static FILE *open_file(const char *name)
{
    FILE *f = fopen(name, "r");
    if (!f)
        die(name);
    return f;
}

static void load_keys(const char *name)
{
    char key[TEXT_MAX];
    unsigned number, row = 0;
    FILE *f = open_file(name);
    while (row < TABLE / 2 && fscanf(f, "%511s %u", key, &number) == 2) {
        unsigned char hash[crypto_hash_sha256_BYTES];
        crypto_hash_sha256(hash, (unsigned char *)key, strlen(key));
        struct owner *o = owner_place(hash);
        *o = (struct owner){.number = number, .row = ++row};
        memcpy(o->hash, hash, sizeof hash);
    }
    fclose(f);
}

static void load_bodies(const char *name)
{
    static char body[1 << 22];
    char target[TEXT_MAX], file[TEXT_MAX];
    unsigned number, count = 0;
    FILE *f = open_file(name);
    while (count++ < TABLE / 2 && fscanf(f, "%u %511s %511s", &number, target, file) == 3) {
        FILE *content = open_file(file);
        make_answer(body_place(target, strlen(target), number), "200 OK", body,
                    fread(body, 1, sizeof body, content));
        fclose(content);
    }
    fclose(f);
}

/* ---- connections ---- */

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void conn_close(struct conn *c)
{
    c->closing = true;
    if (!c->waiting && !uv_is_closing((uv_handle_t *)&c->tcp))
        uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void on_written(uv_write_t *write, int status)
{
    if (status < 0)
        conn_close(write->data);
}

static void conn_send(struct conn *c, const struct body *b)
{
    uv_buf_t buf = uv_buf_init(b->text, (unsigned)b->len);
    int n = uv_try_write((uv_stream_t *)&c->tcp, &buf, 1);
    if (n == (int)b->len)
        return;
    if (n < 0 && n != UV_EAGAIN) {
        conn_close(c);
        return;
    }
    size_t done = n > 0 ? (size_t)n : 0;
    buf = uv_buf_init(b->text + done, (unsigned)(b->len - done));
    c->write.data = c;
    if (uv_write(&c->write, (uv_stream_t *)&c->tcp, &buf, 1, on_written) != 0)
        conn_close(c);
}

/* ---- the limit ---- */

static void on_verdicts(redisAsyncContext *context, void *reply, void *data)
{
    (void)context;
    struct batch *b = data;
    const redisReply *r = reply;
    if (!r || r->type != REDIS_REPLY_ARRAY || r->elements != (size_t)b->count)
        die("Redis did not answer as it should");
    for (int i = 0; i < b->count; i++) {
        struct conn *c = b->conns[i];
        c->waiting = false;
        if (c->closing)
            conn_close(c);
        else
            conn_send(c, r->element[i]->integer ? c->answer : &refusal);
    }
    free(b);
}

static void send_batch(void)
{
    static char names[BATCH_MAX][LIMIT_KEY_MAX];
    const char *args[BATCH_MAX + 4];
    size_t lens[BATCH_MAX + 4], n = 0;
    char count[16];
    struct batch *b = open_batch;
    open_batch = NULL;
    lens[n] = 7, args[n++] = "EVALSHA";
    lens[n] = strlen(script_hash), args[n++] = script_hash;
    lens[n] = (size_t)snprintf(count, sizeof count, "%d", b->count), args[n++] = count;
    for (int i = 0; i < b->count; i++)
        lens[n] = (size_t)snprintf(names[i], sizeof names[i], "floor:rate:%u", b->rows[i]),
        args[n++] = names[i];
    lens[n] = strlen(limit), args[n++] = limit;
    if (redisAsyncCommandArgv(redis, on_verdicts, b, (int)n, args, lens) != REDIS_OK)
        die("Redis went away");
    redisAsyncHandleWrite(redis);
}

static void on_turn(uv_check_t *check)
{
    (void)check;
    if (open_batch)
        send_batch();
}

static void take(struct conn *c, unsigned row)
{
    if (!open_batch && !(open_batch = calloc(1, sizeof *open_batch)))
        die("out of memory");
    c->waiting = true;
    open_batch->rows[open_batch->count] = row;
    open_batch->conns[open_batch->count++] = c;
    if (open_batch->count == BATCH_MAX)
        send_batch();
}

/* ---- requests ---- */

static int append(struct text *t, const char *at, size_t length)
{
    if (t->len + length >= TEXT_MAX)
        return HPE_USER;
    memcpy(t->p + t->len, at, length);
    t->len += length;
    return 0;
}

static int on_url(llhttp_t *p, const char *at, size_t length)
{
    return append(&((struct conn *)p->data)->url, at, length);
}

static int on_field(llhttp_t *p, const char *at, size_t length)
{
    return append(&((struct conn *)p->data)->field, at, length);
}

static int on_value(llhttp_t *p, const char *at, size_t length)
{
    return append(&((struct conn *)p->data)->value, at, length);
}

static int on_value_complete(llhttp_t *p)
{
    struct conn *c = p->data;
    if (c->field.len == 13 && strncasecmp(c->field.p, "authorization", 13) == 0 && c->value.len > 7)
        append(&c->key, c->value.p + 7, c->value.len - 7); /* behind "Bearer " */
    c->field.len = c->value.len = 0;
    return 0;
}

static int on_complete(llhttp_t *p)
{
    struct conn *c = p->data;
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (unsigned char *)c->key.p, c->key.len);
    const struct owner *o = owner_place(hash);
    const struct body *b = body_place(c->url.p, c->url.len, o->number);
    c->url.len = c->key.len = 0;
    if (!o->row || !b->text)
        conn_close(c);
    else if (redis)
        c->answer = b, take(c, o->row);
    else
        conn_send(c, b);
    return 0;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)handle, (void)suggested;
    *buf = uv_buf_init(read_buffer, sizeof read_buffer);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct conn *c = stream->data;
    if (n < 0 || (n > 0 && llhttp_execute(&c->parser, buf->base, (size_t)n) != HPE_OK))
        conn_close(c);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct conn *c = calloc(1, sizeof *c);
    if (status < 0 || !c)
        die("cannot accept");
    uv_tcp_init(listener->loop, &c->tcp);
    c->tcp.data = c;
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0) {
        conn_close(c);
        return;
    }
    uv_tcp_nodelay(&c->tcp, 1);
    llhttp_init(&c->parser, HTTP_REQUEST, &settings);
    c->parser.data = c;
    uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
}

/* ---- start ---- */

static void open_redis(uv_loop_t *loop, int port)
{
    redisContext *sync = redisConnect("127.0.0.1", port);
    redisReply *r = sync && !sync->err ? redisCommand(sync, "SCRIPT LOAD %s", script) : NULL;
    if (!r || r->type != REDIS_REPLY_STRING)
        die("Redis does not take the script");
    snprintf(script_hash, sizeof script_hash, "%s", r->str);
    freeReplyObject(r);
    redisFree(sync);
    redis = redisAsyncConnect("127.0.0.1", port);
    if (!redis || redis->err || redisLibuvAttach(redis, loop) != REDIS_OK)
        die("no connection to Redis");
    uv_check_init(loop, &turn);
    uv_check_start(&turn, on_turn);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_t listener;
    struct sockaddr_in address;
    if (argc != 4 && argc != 6)
        die("usage: floor PORT KEYS BODIES [REDIS-PORT LIMIT]");
    if (sodium_init() < 0)
        die("no libsodium");
    make_answer(&refusal, "429 Too Many Requests", "{}", 2);
    load_keys(argv[2]);
    load_bodies(argv[3]);
    if (argc == 6) {
        snprintf(limit, sizeof limit, "%s", argv[5]);
        open_redis(loop, (int)strtol(argv[4], NULL, 10));
    }
    llhttp_settings_init(&settings);
    settings.on_url = on_url;
    settings.on_header_field = on_field;
    settings.on_header_value = on_value;
    settings.on_header_value_complete = on_value_complete;
    settings.on_message_complete = on_complete;
    uv_ip4_addr("127.0.0.1", (int)strtol(argv[1], NULL, 10), &address);
    uv_tcp_init(loop, &listener);
    if (uv_tcp_bind(&listener, (struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)&listener, 1024, on_connection) != 0)
        die("address already in use");
    return uv_run(loop, UV_RUN_DEFAULT);
}
