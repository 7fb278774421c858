/* Parses options with getopt_long(). Error messages name the option and suggest the most similar one. */
#include "cli/arguments.h"

#include "base/check.h"
#include "base/nearest_word.h"
#include "cli/help.h"
#include "cli/output.h"

#include <getopt.h>
#include <stdio.h>

/* getopt_long() returns FIRST_OPTION + index for a long option. FIRST_OPTION is above every character code,
 * so the value of optopt tells a rejected letter from a rejected long option. */
enum { FIRST_OPTION = 256 };

const char *cli_suggestion(const struct nearest_word *nearest, const char *dashes, char out[128])
{
    out[0] = '\0';
    if (nearest->best)
        (void)snprintf(out, 128, " (did you mean %s%s?)", dashes, nearest->best);
    return out;
}

static size_t option_count(const struct cli_action *action)
{
    size_t n = 0;
    while (action->options && action->options[n].name)
        n++;
    CHECK(n <= CLI_OPTIONS_MAX);
    return n;
}

static void reject_unknown(const struct cli_action *action, const char *typed)
{
    char suggestion[128];
    struct str name = str_from_cstr(typed);
    while (name.len && *name.p == '-')
        name = str_make(name.p + 1, name.len - 1);
    const char *equals = name.len ? memchr(name.p, '=', name.len) : NULL;
    if (equals)
        name.len = (size_t)(equals - name.p);
    struct nearest_word nearest = nearest_word_of(name);
    for (size_t i = 0; i < option_count(action); i++)
        nearest_word_compare(&nearest, action->options[i].name);
    (void)cli_fail(CLI_USAGE, "unknown option %s%s", typed, cli_suggestion(&nearest, "--", suggestion));
}

/* Prints why getopt_long() rejected an option. For a letter, the message names the letter in optopt and not
 * the argument before optind: in a cluster of letters such as -xyz, getopt_long() has not advanced optind
 * yet. */
static void reject_option(const struct cli_action *action, char **argv)
{
    const char letter[] = {'-', (char)optopt, '\0'};
    if (optopt >= FIRST_OPTION)
        (void)cli_fail(CLI_USAGE, "--%s takes no value: %s", action->options[optopt - FIRST_OPTION].name,
                       argv[optind - 1]);
    else
        reject_unknown(action, optopt > ' ' ? letter : argv[optind - 1]);
}

static bool store_value(struct cli_arguments *out, size_t index, const char *value)
{
    const struct cli_option *option = &out->action->options[index];
    out->values[index] = value ? value : "";
    if (!option->is_repeatable)
        return true;
    if (out->repeated_count == CLI_REPEATS_MAX) {
        (void)cli_fail(CLI_USAGE, "--%s was given more than %d times", option->name, CLI_REPEATS_MAX);
        return false;
    }
    out->repeated[out->repeated_count++] = value;
    return true;
}

static bool check_required(const struct cli_arguments *arguments)
{
    for (size_t i = 0; i < option_count(arguments->action); i++) {
        const struct cli_option *option = &arguments->action->options[i];
        if (option->is_required && !arguments->values[i]) {
            (void)cli_fail(CLI_USAGE, "--%s %s is missing", option->name, option->argument);
            return false;
        }
    }
    return true;
}

static bool check_operands(const struct cli_arguments *arguments)
{
    const struct cli_action *action = arguments->action;
    const int count = arguments->operand_count;
    if (count < action->operands_min) {
        (void)cli_fail(CLI_USAGE, "too few arguments: %s is missing", action->operands);
        return false;
    }
    if (count > action->operands_max) {
        (void)cli_fail(CLI_USAGE, "too many arguments: unexpected \"%s\"",
                       arguments->operands[action->operands_max]);
        return false;
    }
    return true;
}

bool cli_parse(const struct cli_action *action, int argc, char **argv, struct cli_arguments *out)
{
    struct option list[CLI_OPTIONS_MAX + 1] = {{0}};
    int found;
    *out = (struct cli_arguments){.action = action};
    for (size_t i = 0; i < option_count(action); i++)
        list[i] = (struct option){action->options[i].name,
                                  action->options[i].argument ? required_argument : no_argument, NULL,
                                  FIRST_OPTION + (int)i};
    optind = 1;
    opterr = 0;
    while ((found = getopt_long(argc, argv, ":", list, NULL)) != -1) {
        if (found == ':') {
            const struct cli_option *option = &action->options[optopt - FIRST_OPTION];
            (void)cli_fail(CLI_USAGE, "--%s requires a value: --%s %s", option->name, option->name,
                           option->argument);
            return false;
        }
        if (found == '?') {
            reject_option(action, argv);
            return false;
        }
        if (!store_value(out, (size_t)(found - FIRST_OPTION), optarg))
            return false;
    }
    out->operands = argv + optind;
    out->operand_count = argc - optind;
    return check_operands(out) && check_required(out);
}

const char *cli_value(const struct cli_arguments *arguments, const char *name)
{
    for (size_t i = 0; i < option_count(arguments->action); i++)
        if (strcmp(arguments->action->options[i].name, name) == 0)
            return arguments->values[i];
    CHECK(false); /* precondition: `name` is an option of the action */
}

bool cli_flag(const struct cli_arguments *arguments, const char *name)
{
    return cli_value(arguments, name) != NULL;
}

bool cli_parse_uuid(const char *what, const char *text, struct uuid *out)
{
    if (uuid_parse(str_from_cstr(text), out))
        return true;
    (void)cli_fail(CLI_USAGE, "%s must be a UUID", what);
    return false;
}
