/* Prints the command table for a terminal. A paragraph of the table is one string, which is wrapped here. */
#include "cli/help.h"

#include <stdio.h>

enum { WIDTH = 100, OPTION_COLUMN = 24, USAGE_INDENT = 8, BODY_INDENT = 4 };

/* ---- usage lines ---- */

void cli_append_usage(struct buf *b, const struct cli_command *command, const struct cli_action *action)
{
    buf_printf(b, "viewtally %s%s%s", command->name, action->name ? " " : "",
               action->name ? action->name : "");
    for (const struct cli_option *o = action->options; o && o->name; o++)
        buf_printf(b, " %s--%s%s%s%s%s", o->is_required ? "" : "[", o->name, o->argument ? " " : "",
                   o->argument ? o->argument : "", o->is_required ? "" : "]", o->is_repeatable ? "…" : "");
    if (action->operands)
        buf_printf(b, " %s", action->operands);
}

/* ---- text of --help ---- */

static size_t width_of(struct str s)
{
    size_t width = 0;
    for (size_t i = 0; i < s.len; i++)
        width += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    return width;
}

/* Wraps one paragraph. Lines are indented by `indent`; the first one continues at column `at`. */
static void write_paragraph(FILE *to, struct str text, size_t indent, size_t at)
{
    struct str word;
    bool is_first = true;
    while (text.len) {
        text = str_cut(text, ' ', &word);
        if (!is_first && at + 1 + width_of(word) > WIDTH) {
            (void)fputc('\n', to);
            at = 0;
            is_first = true;
        }
        for (; at < indent; at++)
            (void)fputc(' ', to);
        (void)fprintf(to, "%s%.*s", is_first ? "" : " ", (int)word.len, word.p);
        at += width_of(word) + !is_first;
        is_first = false;
    }
    (void)fputc('\n', to);
}

/* Writes the paragraphs of a text, which are separated by empty lines. Wraps each paragraph, except one that
 * begins with a space, which is printed unchanged. */
static void write_text(FILE *to, const char *text, size_t indent)
{
    struct str rest = str_from_cstr(text);
    while (rest.len) {
        size_t end = 0;
        while (end < rest.len && !(rest.p[end] == '\n' && (end + 1 == rest.len || rest.p[end + 1] == '\n')))
            end++;
        const struct str paragraph = str_make(rest.p, end);
        if (paragraph.p[0] == ' ')
            (void)fprintf(to, "%.*s\n", (int)paragraph.len, paragraph.p);
        else
            write_paragraph(to, paragraph, indent, 0);
        end = end + 2 < rest.len ? end + 2 : rest.len;
        rest = str_make(rest.p + end, rest.len - end);
        if (rest.len)
            (void)fputc('\n', to);
    }
}

static void write_options(FILE *to, const struct cli_action *action, size_t indent)
{
    for (const struct cli_option *o = action->options; o && o->name; o++) {
        size_t width = (size_t)fprintf(to, "%*s--%s%s%s", (int)indent, "", o->name, o->argument ? " " : "",
                                       o->argument ? o->argument : "");
        if (width + 2 > indent + OPTION_COLUMN) {
            (void)fputc('\n', to);
            width = 0;
        }
        write_paragraph(to, str_from_cstr(o->help), indent + OPTION_COLUMN, width);
    }
}

static void write_examples(FILE *to, const char *examples, size_t indent)
{
    struct str rest = str_from_cstr(examples), line;
    (void)fprintf(to, "\n%*sExamples:\n", (int)indent, "");
    while (rest.p) {
        rest = str_cut(rest, '\n', &line);
        (void)fprintf(to, "%*s  %.*s\n", (int)indent, "", (int)line.len, line.p);
    }
}

static void print_usage(const char *before, const struct cli_command *command,
                        const struct cli_action *action)
{
    struct buf usage;
    struct str program;
    buf_init(&usage, CLI_USAGE_MAX);
    cli_append_usage(&usage, command, action);
    const struct str rest = str_cut(buf_str(&usage), ' ', &program);
    const int width = printf("%s%.*s ", before, (int)program.len, program.p);
    write_paragraph(stdout, rest, USAGE_INDENT, (size_t)width);
    buf_fini(&usage);
}

static void print_body(const struct cli_action *action, size_t indent)
{
    if (action->summary)
        write_text(stdout, action->summary, indent);
    if (action->description) {
        if (action->summary)
            printf("\n");
        write_text(stdout, action->description, indent);
    }
    if (action->options) {
        printf("\n");
        write_options(stdout, action, indent);
    }
    if (action->partial)
        printf("\n%*sExit status 1: %s.\n", (int)indent, "", action->partial);
    if (action->examples)
        write_examples(stdout, action->examples, indent);
}

void cli_print_help(const struct cli_command *command, const struct cli_action *action)
{
    if (action) {
        print_usage("Usage: ", command, action);
        printf("\n");
        print_body(action, 0);
        return;
    }
    printf("Usage: viewtally %s SUBCOMMAND …\n\nSubcommands: %s.\n", command->name, command->summary);
    if (command->description) {
        printf("\n");
        write_text(stdout, command->description, 0);
    }
    for (const struct cli_action *a = command->actions; a->run; a++) {
        printf("\n");
        print_usage("", command, a);
        print_body(a, BODY_INDENT);
    }
}

void cli_print_topics(void)
{
    printf("Topics:\n");
    for (const struct help_topic *t = help_topics; t->name; t++)
        printf("  %-14s %s\n", t->name, t->summary);
}

void cli_print_topic(const struct help_topic *topic)
{
    printf("%s: %s\n\n", topic->name, topic->summary);
    write_text(stdout, topic->text, 0);
}

const char cli_exit_statuses[] =
    "0 done; 1 partly done, or the input was bad; 2 wrong usage or "
    "configuration; 3 failure of the database, a file, the network or standard output.";

void cli_print_overview(const struct cli_command *const *commands, size_t count)
{
    printf("viewtally shows authors how the videos of their books perform.\n\n"
           "Usage: viewtally COMMAND [--config FILE] …\n\n"
           "Commands:\n");
    for (size_t i = 0; i < count; i++)
        printf("  %-14s %s\n", commands[i]->name, commands[i]->summary);
    printf("\n");
    cli_print_topics();
    printf("\n`viewtally help COMMAND` (or COMMAND --help) describes one command, `viewtally help TOPIC` a "
           "topic;\n"
           "`viewtally --version` shows the build,\n"
           "`viewtally --licenses` the notices of its libraries.\n"
           "The configuration is FILE, else $VIEWTALLY_CONFIG, else ./config.ini, else\n" CLI_SYSTEM_CONFIG
           ", else the defaults;\n"
           "VIEWTALLY_<SECTION>_<KEY> in the environment overrides a key.\n\n");
    const int width = printf("Exit status: ");
    write_paragraph(stdout, str_from_cstr(cli_exit_statuses), 0, (size_t)width);
}
