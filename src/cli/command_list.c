/* The command table as JSON, for generators: scripts/gen-docs makes the shell completions from it. */
#include "cli/help.h"

#include "base/json.h"

#include <stdio.h>

enum { LIST_MAX = 1 << 20 };

static void append_option(struct buf *b, const struct cli_option *option)
{
    json_open(b, '{');
    JSON_STR(b, "name", str_from_cstr(option->name));
    JSON_STR(b, "argument", str_from_cstr(option->argument));
    JSON_STR(b, "help", str_from_cstr(option->help));
    JSON_BOOL(b, "repeatable", option->is_repeatable);
    json_close(b, '}');
}

static void append_action(struct buf *b, const struct cli_action *action)
{
    json_open(b, '{');
    JSON_STR(b, "name", str_from_cstr(action->name));
    JSON_STR(b, "summary", str_from_cstr(action->summary));
    JSON_STR(b, "operands", str_from_cstr(action->operands));
    JSON_KEY(b, "options");
    json_open(b, '[');
    for (const struct cli_option *o = action->options; o && o->name; o++)
        append_option(b, o);
    json_close(b, ']');
    json_close(b, '}');
}

/* Appends an operand of `help` in the form of a subcommand: the name of a command with its subcommands as
 * operands, or if `command` is NULL, the name of a topic. */
static void append_help_of(struct buf *b, const char *name, const char *summary,
                           const struct cli_command *command)
{
    struct buf operands;
    buf_init(&operands, LIST_MAX);
    for (const struct cli_action *a = command ? command->actions : NULL; a && a->run; a++)
        if (a->name)
            buf_printf(&operands, "%s%s", operands.len ? "|" : "", a->name);
    json_open(b, '{');
    JSON_STR(b, "name", str_from_cstr(name));
    JSON_STR(b, "summary", str_from_cstr(summary));
    JSON_STR(b, "operands", buf_str(&operands));
    JSON_KEY(b, "options");
    json_open(b, '[');
    json_close(b, ']');
    json_close(b, '}');
    buf_fini(&operands);
}

/* Appends `help`, which is not in the command table, because cli.c runs it before the configuration is
 * loaded. Its operands are the commands with their subcommands, and the topics. */
static void append_help(struct buf *b, const struct cli_command *const *commands, size_t count)
{
    json_open(b, '{');
    JSON_STR(b, "name", STR("help"));
    JSON_STR(b, "summary", STR("describe a command or a topic"));
    JSON_KEY(b, "actions");
    json_open(b, '[');
    for (size_t i = 0; i < count; i++)
        append_help_of(b, commands[i]->name, commands[i]->summary, commands[i]);
    append_help_of(b, HELP_TOPICS_NAME, "list the topics", NULL);
    for (const struct help_topic *t = help_topics; t->name; t++)
        append_help_of(b, t->name, t->summary, NULL);
    json_close(b, ']');
    json_close(b, '}');
}

bool cli_write_command_list(FILE *to, const struct cli_command *const *commands, size_t count)
{
    struct buf b;
    buf_init(&b, LIST_MAX);
    json_open(&b, '[');
    for (size_t i = 0; i < count; i++) {
        json_open(&b, '{');
        JSON_STR(&b, "name", str_from_cstr(commands[i]->name));
        JSON_STR(&b, "summary", str_from_cstr(commands[i]->summary));
        JSON_KEY(&b, "actions");
        json_open(&b, '[');
        for (const struct cli_action *a = commands[i]->actions; a->run; a++)
            append_action(&b, a);
        json_close(&b, ']');
        json_close(&b, '}');
    }
    append_help(&b, commands, count);
    json_close(&b, ']');
    buf_append_char(&b, '\n');
    const bool ok = !b.failed && fwrite(b.p, 1, b.len, to) == b.len;
    buf_fini(&b);
    return ok;
}
