/* viewtally check-config: validates the configuration and prints the effective values. */
#include "base/json.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "config/socket_access.h"
#include "redis/redis.h"
#include "store/store_config.h"

#include <stdio.h>

/* Reads the TLS files of Redis, as `serve` does. The configuration parser does not read them. */
static enum err check_redis(const struct config *c, struct error *error)
{
    struct redis_options options;
    if (!*c->redis.url)
        return OK;
    const enum err err = redis_options_from_config(&options, c, error);
    if (!err)
        redis_options_fini(&options);
    return err;
}

/* Checks values that the configuration parser does not check completely. */
static enum err check_values(const struct config *c, struct error *error)
{
    struct socket_access access;
    enum err err = check_redis(c, error);
    if (!err)
        err = store_config_check(c, error);
    return err ? err : socket_access_from_config(c, &access, error);
}

/* Prints the effective values. The name of the file is printed as a comment, so that the output is a valid
 * configuration file. */
static void print_effective(const struct cli *cli, struct buf *out)
{
    buf_append(out, STR("; "));
    if (cli->config_path)
        cli_append_text(out, str_from_cstr(cli->config_path));
    else
        buf_append(out, STR("no configuration file: ./config.ini and " CLI_SYSTEM_CONFIG " do not exist"));
    buf_append(out, STR("\n\n"));
    config_print(&cli->config, out);
}

/* ---- JSON output ---- */

static void append_key(struct buf *b, const struct config *c, const struct config_key *key)
{
    const struct config_origin *origin = config_origin_of(c, key->section, key->name);
    struct buf value;
    buf_init(&value, 1 << 16);
    config_print_value(c, key, &value);
    json_open(b, '{');
    JSON_STR(b, "section", str_from_cstr(key->section));
    JSON_STR(b, "name", str_from_cstr(key->name));
    JSON_STR(b, "value", value.len ? buf_str(&value) : STR(""));
    JSON_STR(b, "source",
             origin->is_from_environment ? STR("environment")
             : origin->line              ? STR("file")
                                         : STR("default"));
    JSON_I64_OR_NULL(b, "line", origin->line && !origin->is_from_environment, origin->line);
    JSON_BOOL(b, "reload", key->place.reload);
    json_close(b, '}');
    buf_fini(&value);
}

static void append_mistakes(struct buf *b, struct str mistakes)
{
    struct str line;
    while (mistakes.p) {
        mistakes = str_cut(mistakes, '\n', &line);
        json_str(b, line);
    }
}

/* Prints the result as JSON. `wrong` is the message of check_values() about a rejected value, or "". If the
 * configuration has mistakes, the list of keys is empty, because their values would be defaults. */
static enum cli_exit print_json(const struct cli *cli, const char *wrong)
{
    const struct config_key *key;
    const bool is_valid = !cli->mistakes.len && !*wrong;
    struct buf b;
    buf_init(&b, 1 << 20);
    json_open(&b, '{');
    JSON_STR(&b, "file", str_from_cstr(cli->config_path));
    JSON_BOOL(&b, "valid", is_valid);
    JSON_KEY(&b, "mistakes");
    json_open(&b, '[');
    append_mistakes(&b, cli->mistakes.len ? buf_str(&cli->mistakes) : (struct str){NULL, 0});
    if (*wrong)
        json_str(&b, str_from_cstr(wrong));
    json_close(&b, ']');
    JSON_KEY(&b, "keys");
    json_open(&b, '[');
    for (size_t i = 0; is_valid && (key = config_key_at(i)); i++)
        append_key(&b, &cli->config, key);
    json_close(&b, ']');
    json_close(&b, '}');
    buf_append_char(&b, '\n');
    const enum cli_exit printed = cli_print(&b);
    return printed ? printed : is_valid ? CLI_DONE : CLI_USAGE;
}

/* ---- the command ---- */

static enum cli_exit print_example(void)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    config_print_example(&out);
    return cli_print(&out);
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    const bool is_example = cli_flag(arguments, "example"), is_quiet = cli_flag(arguments, "quiet");
    struct error error = {0};
    struct buf out;
    if (is_example + is_quiet + cli_flag(arguments, "json") > 1)
        return cli_fail(CLI_USAGE, "--example, --json and --quiet cannot be used together");
    if (is_example)
        return print_example();
    const bool is_valid = !cli->mistakes.len && !check_values(&cli->config, &error);
    if (cli_flag(arguments, "json"))
        return print_json(cli, error.text);
    if (cli->mistakes.len)
        (void)fprintf(stderr, "%.*s\n", (int)cli->mistakes.len, cli->mistakes.p);
    else if (!is_valid)
        (void)cli_fail(CLI_USAGE, "%s", error.text);
    if (!is_valid)
        return CLI_USAGE;
    if (is_quiet)
        return CLI_DONE;
    buf_init(&out, 1 << 20);
    print_effective(cli, &out);
    return cli_print(&out);
}

static const struct cli_option check_options[] = {
    {.name = "example",
     .help = "Print config.example.ini instead, which lists every key with its default and meaning."},
    {.name = "json",
     .help =
         "Print JSON: the file, its mistakes, and each key with its value, where the value comes from, and "
         "whether a reload applies a new one."},
    {.name = "quiet", .help = "Print nothing if the configuration is valid."},
    {0},
};

static const struct cli_action actions[] = {
    {.options = check_options,
     .accepts_mistakes = true,
     .description =
         "Loads the configuration like every other command. Prints which file it used and all keys "
         "with their effective values. Secrets are hidden. If there are mistakes, prints each "
         "as FILE:LINE: message (VARIABLE: message for the environment) and exits with status 2. Without "
         "such mistakes, also checks [store] password_file, socket_group and the TLS files of Redis; a "
         "mistake there is printed without FILE:LINE.",
     .examples = "viewtally check-config --config /etc/viewtally/config.ini\n"
                 "viewtally check-config --example >config.ini",
     .run = run},
    {0},
};

const struct cli_command cli_check_config = {
    .name = "check-config",
    .summary = "validate the configuration and print the effective values",
    .actions = actions,
};
