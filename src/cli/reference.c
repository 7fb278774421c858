/* The command table as Markdown, for docs/cli.md. */
#include "cli/help.h"

#include <stdio.h>

/* Writes the text of a table cell. Escapes `|`, which would end the cell. */
static void write_cell(FILE *to, const char *text)
{
    for (; *text; text++)
        (void)fprintf(to, "%s%c", *text == '|' ? "\\" : "", *text);
}

/* Writes the text as Markdown. A paragraph that begins with a space becomes a code block. */
static void write_text(FILE *to, const char *text)
{
    const struct str s = str_from_cstr(text);
    bool in_block = false;
    for (size_t i = 0; i < s.len; i++) {
        if (!in_block && s.p[i] == ' ' && (i == 0 || s.p[i - 1] == '\n')) {
            (void)fputs("```\n", to);
            in_block = true;
        }
        if (in_block && s.p[i] == '\n' && i + 1 < s.len && s.p[i + 1] == '\n') {
            (void)fputs("\n```", to);
            in_block = false;
        }
        (void)fputc(s.p[i], to);
    }
    (void)fputs(in_block ? "\n```\n" : "\n", to);
}

static void write_options(FILE *to, const struct cli_action *action)
{
    if (!action->options)
        return;
    (void)fputs("\n| option | meaning |\n| --- | --- |\n", to);
    for (const struct cli_option *o = action->options; o->name; o++) {
        (void)fprintf(to, "| `--%s%s", o->name, o->argument ? " " : "");
        write_cell(to, o->argument ? o->argument : "");
        (void)fputs("` | ", to);
        write_cell(to, o->help);
        (void)fputs(o->is_required ? " Required. |\n" : " |\n", to);
    }
}

static void write_action(FILE *to, const struct cli_command *command, const struct cli_action *action)
{
    struct buf usage;
    buf_init(&usage, CLI_USAGE_MAX);
    cli_append_usage(&usage, command, action);
    const bool has_named_actions = command->actions[0].name != NULL;
    const char *heading = action->name ? action->name : has_named_actions ? action->operands : NULL;
    if (heading)
        (void)fprintf(to, "\n### viewtally %s %s\n", command->name, heading);
    (void)fprintf(to, "\n```\n%.*s\n```\n", (int)usage.len, usage.p);
    buf_fini(&usage);
    if (action->summary) {
        (void)fputc('\n', to);
        write_text(to, action->summary);
    }
    if (action->description) {
        (void)fputc('\n', to);
        write_text(to, action->description);
    }
    write_options(to, action);
    if (action->partial)
        (void)fprintf(to, "\nExit status 1: %s.\n", action->partial);
    if (action->examples)
        (void)fprintf(to, "\n```sh\n%s\n```\n", action->examples);
}

static void write_command(FILE *to, const struct cli_command *command)
{
    (void)fprintf(to, "\n## viewtally %s\n\n", command->name);
    write_text(to, command->summary);
    if (command->description) {
        (void)fputc('\n', to);
        write_text(to, command->description);
    }
    for (const struct cli_action *a = command->actions; a->run; a++)
        write_action(to, command, a);
}

void cli_write_commands(FILE *to, const struct cli_command *const *commands, size_t count)
{
    (void)fprintf(
        to,
        "# Command line\n\n"
        "Every command accepts `--config FILE` and `--help`. The configuration is FILE, else "
        "`$VIEWTALLY_CONFIG`,\nelse `./config.ini`, else `/etc/viewtally/config.ini`, else the defaults;\n"
        "`VIEWTALLY_<SECTION>_<KEY>` in the environment overrides a key.\n\n"
        "Exit status: %s\n",
        cli_exit_statuses);
    for (size_t i = 0; i < count; i++)
        write_command(to, commands[i]);
    (void)fputs(
        "\n## Help topics\n\n`viewtally help COMMAND` describes a command, `viewtally help TOPIC` one "
        "of the following topics.\n",
        to);
    for (const struct help_topic *t = help_topics; t->name; t++) {
        (void)fprintf(to, "\n### %s: %s\n\n", t->name, t->summary);
        write_text(to, t->text);
    }
}
