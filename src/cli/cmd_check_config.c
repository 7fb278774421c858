/* viewtally check-config: validates the configuration and prints the effective values. */
#include "cli/arguments.h"
#include "cli/output.h"
#include "http/proxies.h"
#include "redis/redis.h"

#include <stdio.h>

/* The configuration parser does not parse proxies and the Redis URL. `serve` rejects invalid ones too. */
struct proxy_check {
    struct proxies proxies;
    bool ok;
};

static void check_proxy(void *ctx, struct str item)
{
    struct proxy_check *check = ctx;
    if (!check->ok || proxies_add(&check->proxies, item))
        return;
    check->ok = false;
    (void)cli_fail(CLI_USAGE,
                   "[server] trusted_proxies must be a list of at most 64 addresses, networks such as "
                   "10.0.0.0/8, or unix");
}

static bool check_proxies(const struct config *c)
{
    struct proxy_check check = {.ok = true};
    config_each_item(c->server.trusted_proxies, check_proxy, &check);
    return check.ok;
}

static bool check_redis(const struct config *c)
{
    struct redis_options options;
    struct error error = {0};
    if (!*c->redis.url)
        return true;
    if (redis_options_from_config(&options, c, &error)) {
        (void)cli_fail(CLI_USAGE, "%s", error.text);
        return false;
    }
    redis_options_fini(&options);
    return true;
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    const bool example = cli_flag(arguments, "example");
    struct buf out;
    if (!example && (!check_proxies(&cli->config) || !check_redis(&cli->config)))
        return CLI_USAGE;
    buf_init(&out, 1 << 20);
    if (example)
        config_print_example(&out);
    else
        config_print(&cli->config, &out);
    return cli_print(&out);
}

static const struct cli_option check_options[] = {
    {.name = "example",
     .help = "Print config.example.ini instead, which lists every key with its default and meaning."},
    {0},
};

static const struct cli_action actions[] = {
    {.options = check_options,
     .description = "Loads the configuration like every other command and prints all keys with their "
                    "effective values. Secrets are hidden. If there is an error, prints it as "
                    "FILE:LINE: message and exits with status 2.",
     .run = run},
    {0},
};

const struct cli_command cli_check_config = {
    .name = "check-config",
    .summary = "validate the configuration and print the effective values",
    .actions = actions,
};
