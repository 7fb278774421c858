/* viewtally check-config: validates the configuration and prints the effective values. */
#include "cli/arguments.h"
#include "cli/output.h"
#include "http/proxies.h"
#include "redis/redis.h"

#include <stdio.h>

/* Values that only their users can parse. `serve` rejects invalid ones too. */
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
    (void)cli_fail(CLI_USAGE,
                   "%s must be a list of at most 64 addresses, networks such as 10.0.0.0/8, or unix", v->key);
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

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    const bool example = cli_flag(arguments, "example");
    struct buf out;
    if (!example && !check_values(&cli->config))
        return CLI_USAGE;
    buf_init(&out, 1 << 20);
    if (example)
        config_print_example(&out);
    else
        config_print(&cli->config, &out);
    return cli_print(&out);
}

static const struct cli_option check_options[] = {
    {.name = "example", .help = "Print config.example.ini instead: every key with its default and meaning."},
    {0},
};

static const struct cli_action actions[] = {
    {.options = check_options,
     .description = "Loads the configuration as every command does and prints all keys with their effective "
                    "values; secrets are hidden. An error is reported as FILE:LINE: message, with exit "
                    "status 2.",
     .run = run},
    {0},
};

const struct cli_command cli_check_config = {
    .name = "check-config",
    .summary = "validate the configuration and print the effective values",
    .actions = actions,
};
