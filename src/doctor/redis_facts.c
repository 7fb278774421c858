/* Reads all facts about Redis with one connection. */
#include "doctor/redis_facts.h"

#include "base/check.h"
#include "base/clock.h"
#include "redis/redis_inspection.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMEOUT_MS = 2000, REPLY_MAX = 64 << 10, KEY_MAX = 160, LATENCY_CALLS = 11 };

#define NO_SCRIPT "0000000000000000000000000000000000000000"

/* The commands that `viewtally serve` sends to Redis, each in a form that changes nothing. "K" stands for a
 * Redis key that does not exist. */
static const struct trial {
    const char *words[5];   /* NULL after the last word */
    const char *permission; /* the permission as in docs/operating.md */
} trials[] = {
    {{"SCRIPT", "LOAD", "("}, "+script|load"}, /* the script "(" does not compile */
    {{"EVALSHA", NO_SCRIPT, "0"}, "+evalsha"},
    {{"TIME"}, "+time"},
    {{"MGET", "K"}, "+mget"},
    {{"SET", "K", "x", "XX"}, "+set"}, /* XX: only if the key exists */
    {{"HMGET", "K", "f"}, "+hmget"},
    {{"HSET", "K", "f", "v", "g"}, "+hset"}, /* the last value is missing */
    {{"DEL", "K"}, "+del"},
    {{"EXPIRE", "K", "1"}, "+expire"},
};
enum { TRIALS = sizeof trials / sizeof *trials, INFO_AT = TRIALS, LATENCY_AT = TRIALS + 1 };
enum { COMMANDS = LATENCY_AT + LATENCY_CALLS };

static void prepare(struct redis_inspected *commands, const char *key)
{
    for (int i = 0; i < COMMANDS; i++)
        buf_init(&commands[i].reply, REPLY_MAX);
    for (int i = 0; i < TRIALS; i++)
        for (int w = 0; w < 5 && trials[i].words[w]; w++)
            commands[i].words[commands[i].count++] =
                str_from_cstr(strcmp(trials[i].words[w], "K") == 0 ? key : trials[i].words[w]);
    commands[INFO_AT].words[commands[INFO_AT].count++] = STR("INFO");
    for (int i = LATENCY_AT; i < COMMANDS; i++)
        commands[i].words[commands[i].count++] = STR("TIME");
}

bool redis_facts_find(struct str info, const char *field, char *out, size_t size)
{
    struct str line, name, value;
    while (info.p) {
        info = str_cut(info, '\n', &line);
        value = str_cut(line, ':', &name);
        if (!value.p || !str_eq(name, str_from_cstr(field)))
            continue;
        if (value.len && value.p[value.len - 1] == '\r')
            value.len--;
        (void)snprintf(out, size, "%.*s", (int)value.len, value.p);
        return true;
    }
    return false;
}

static void read_trials(struct redis_facts *f, const struct redis_inspected *commands)
{
    for (int i = 0; i < TRIALS; i++) {
        const struct str reply = buf_str(&commands[i].reply);
        if (!commands[i].is_error)
            continue;
        if (str_starts_with(reply, STR("NOPERM"))) {
            const size_t len = strlen(f->missing);
            (void)snprintf(f->missing + len, sizeof f->missing - len, " %s", trials[i].permission);
        } else if (!str_starts_with(reply, STR("ERR")) && !str_starts_with(reply, STR("NOSCRIPT")) &&
                   !*f->rejected) {
            (void)snprintf(f->rejected, sizeof f->rejected, "%.*s", (int)reply.len, reply.p);
        }
    }
}

static void read_info(struct redis_facts *f, const struct redis_inspected *command)
{
    char number[32];
    const struct str info = buf_str(&command->reply);
    f->has_info = command->has_reply && !command->is_error &&
                  redis_facts_find(info, "redis_version", f->version, sizeof f->version);
    (void)redis_facts_find(info, "maxmemory_policy", f->policy, sizeof f->policy);
    if (redis_facts_find(info, "maxmemory", number, sizeof number))
        f->max_memory = strtoll(number, NULL, 10);
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Computes the median latency of the calls of TIME, and the difference of the clocks from the reply to the
 * last one. */
static void read_times(struct redis_facts *f, const struct redis_inspected *commands)
{
    int64_t took[LATENCY_CALLS];
    unsigned long long seconds, micros;
    for (int i = 0; i < LATENCY_CALLS; i++)
        took[i] = commands[i].took_us;
    qsort(took, LATENCY_CALLS, sizeof *took, compare);
    f->latency_us = took[LATENCY_CALLS / 2];
    struct str first, second = str_cut(buf_str(&commands[LATENCY_CALLS - 1].reply), '\n', &first);
    f->has_time = str_to_u64(first, INT64_MAX / 2000, &seconds) && str_to_u64(second, 999999, &micros);
    if (f->has_time)
        f->ahead_ms = (int64_t)(seconds * 1000 + micros / 1000) - clock_wall_ms();
}

static void inspect(struct redis_facts *f, struct redis_options *options, const char *prefix)
{
    static struct redis_inspected commands[COMMANDS];
    char key[KEY_MAX];
    struct error error = {0};
    memset(commands, 0, sizeof commands);
    (void)snprintf(key, sizeof key, "%s{limit}:doctor:%08x%08x", prefix, randombytes_random(),
                   randombytes_random());
    prepare(commands, key);
    f->is_connected = redis_inspect(options, commands, COMMANDS, TIMEOUT_MS, &f->failure, &error) == OK;
    (void)snprintf(f->reason, sizeof f->reason, "%.500s", error.text);
    /* If Redis requires a password and none is configured, every command fails with NOAUTH. */
    if (f->is_connected && str_starts_with(buf_str(&commands[0].reply), STR("NOAUTH"))) {
        f->is_connected = false;
        f->failure = REDIS_FAILED_AUTH;
        (void)snprintf(f->reason, sizeof f->reason, "%.*s", (int)commands[0].reply.len, commands[0].reply.p);
    }
    if (f->is_connected) {
        read_times(f, commands + LATENCY_AT);
        read_trials(f, commands);
        read_info(f, &commands[INFO_AT]);
    }
    for (int i = 0; i < COMMANDS; i++)
        buf_fini(&commands[i].reply);
}

struct redis_facts *redis_facts_read(const struct config *c)
{
    struct redis_facts *f = xcalloc(1, sizeof *f);
    struct redis_options options;
    struct error error = {0};
    f->is_configured = *c->redis.url;
    if (!f->is_configured)
        return f;
    if (redis_options_from_config(&options, c, &error))
        (void)snprintf(f->reason, sizeof f->reason, "%.500s", error.text);
    else
        inspect(f, &options, c->redis.key_prefix);
    return f;
}

void redis_facts_free(const struct redis_facts *facts)
{
    free((void *)(uintptr_t)facts);
}
