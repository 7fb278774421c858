/* viewtally check-config: the configuration that would be in force. */
#include "cli/cli.h"
#include "http/proxies.h"
#include "redis/redis.h"

#include <stdio.h>

/* What only the parts that use a value can read: all of it is refused by `serve`, so it is told here. */
struct values {
    const char *key;
    struct proxies proxies;
    bool ok;
};

static void check_proxy(void *ctx, struct str item)
{
    struct values *v = ctx;
    if (!v->ok || proxies_add(&v->proxies, item))
        return;
    v->ok = false;
    (void)cli_fail(CLI_USAGE, "%s: wants addresses, networks such as 10.0.0.0/8, or unix; at most 64",
                   v->key);
}

static bool check_redis(const struct config *c)
{
    struct redis_options options;
    struct error error = {0};
    if (!*c->redis.url)
        return true;
    if (redis_options_configured(&options, c, &error)) {
        (void)cli_fail(CLI_USAGE, "%s", error.text);
        return false;
    }
    redis_options_fini(&options);
    return true;
}

static bool check_values(const struct config *c)
{
    struct values v = {.key = "[server] trusted_proxies", .ok = true};
    config_each_item(c->server.trusted_proxies, check_proxy, &v);
    return v.ok && check_redis(c);
}

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    bool example = false;
    int count;
    struct buf out;
    const struct cli_option options[] = {{"example", NULL, &example}, {0}};
    if (!cli_parse(argc, argv, options, 0, 0, &count))
        return CLI_USAGE;
    if (!example && !check_values(&cli->config))
        return CLI_USAGE;
    buf_init(&out, 1 << 20);
    if (example)
        config_print_example(&out);
    else
        config_print(&cli->config, &out);
    return cli_print(&out);
}

const struct cli_command cli_check_config = {
    .name = "check-config",
    .synopsis = "[--example]",
    .summary = "check the configuration and print what is in force",
    .help = "Reads the configuration as every command does, and prints all keys with the values in force; "
            "secrets are\n"
            "hidden. A mistake is told as FILE:LINE: message, with exit status 2.\n\n"
            "  --example   print config.example.ini instead: every key at its default, explained",
    .run = run,
};
