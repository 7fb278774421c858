/* viewtally check-config: the configuration that would be in force. */
#include "cli/cli.h"

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    bool example = false;
    int count;
    struct buf out;
    const struct cli_option options[] = {{"example", NULL, &example}, {0}};
    if (!cli_parse(argc, argv, options, 0, 0, &count))
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
