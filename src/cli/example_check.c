/* A parser for a small part of the shell language, sufficient for one-line examples. */
#include "cli/example_check.h"

#include "base/str.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "cli/output.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 40, TEXT_MAX = 1024 };

struct words {
    char text[TEXT_MAX];
    size_t len;
    char *items[WORDS_MAX + 1];
    int count;
};

static void end_word(struct words *w, bool *in_word)
{
    if (*in_word)
        w->text[w->len++] = '\0';
    *in_word = false;
}

static void add_char(struct words *w, bool *in_word, char c)
{
    if (!*in_word)
        w->items[w->count++] = w->text + w->len;
    *in_word = true;
    if (c)
        w->text[w->len++] = c;
}

/* Copies a quoted part or a `$(…)` that begins at `p`. Returns the position of its last character, or NULL if
 * it does not end. */
static const char *copy_group(struct words *w, bool *in_word, const char *p)
{
    const char end = *p == '$' ? ')' : *p;
    const bool is_quoted = *p != '$';
    add_char(w, in_word, is_quoted ? '\0' : *p);
    for (p++; *p && *p != end; p++)
        add_char(w, in_word, *p);
    return *p ? p : NULL;
}

/* Reads the words of one command, up to `|`, `;`, `&`, a comment or the end of the line. A redirection is
 * read as a word that begins with `<` or `>`; the caller drops it. Returns the text after the command, or
 * NULL if the line is malformed. */
static const char *read_command(struct words *w, const char *p)
{
    bool in_word = false;
    *w = (struct words){.count = 0};
    for (; p && *p && !strchr("|;&#", *p); p++) {
        if (w->count == WORDS_MAX || w->len + 4 > TEXT_MAX)
            return NULL;
        if (*p == ' ')
            end_word(w, &in_word);
        else if (*p == '\'' || *p == '"' || (*p == '$' && p[1] == '('))
            p = copy_group(w, &in_word, p);
        else
            add_char(w, &in_word, *p);
        if (!p)
            return NULL;
    }
    end_word(w, &in_word);
    return p && *p && *p != '#' ? p + 1 : "";
}

/* Drops redirections and `--config FILE`, which cli_main() removes before it parses a command. */
static void drop_other_words(struct words *w)
{
    int kept = 0;
    for (int i = 0; i < w->count; i++) {
        const char *word = w->items[i];
        if (strcmp(word, "--config") == 0)
            i++;
        else if (word[0] != '<' && word[0] != '>')
            w->items[kept++] = w->items[i];
    }
    w->count = kept;
    w->items[kept] = NULL;
}

static const struct cli_command *find_command(const char *name, const struct cli_command *const *commands,
                                              size_t count)
{
    for (size_t i = 0; name && i < count; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static bool check_words(struct words *w, const struct cli_command *const *commands, size_t count)
{
    struct cli_arguments arguments;
    const struct cli_command *command = find_command(w->items[1], commands, count);
    if (!command)
        return false;
    const struct cli_action *action = command->actions;
    /* If no action has this name, the loop stops at the action without a name, which is the last one. */
    while (action->run && action->name && (w->count < 3 || strcmp(action->name, w->items[2]) != 0))
        action++;
    const int skipped = action->name != NULL;
    return action->run && cli_parse(action, w->count - 1 - skipped, w->items + 1 + skipped, &arguments);
}

bool example_check_line(const char *line, const struct cli_command *const *commands, size_t count)
{
    struct words words;
    bool found = false;
    for (const char *p = line; *p;) {
        p = read_command(&words, p);
        if (!p)
            break;
        drop_other_words(&words);
        if (!words.count || strcmp(words.items[0], "viewtally") != 0)
            continue;
        found = check_words(&words, commands, count);
        if (!found)
            break;
    }
    if (!found)
        (void)cli_fail(CLI_USAGE, "invalid example: %s", line);
    return found;
}

static bool check_action(const struct cli_command *command, const struct cli_action *action,
                         const struct cli_command *const *commands, size_t count)
{
    struct str rest = str_from_cstr(action->examples), line;
    char text[TEXT_MAX];
    bool ok = rest.len > 0;
    if (!ok)
        (void)cli_fail(CLI_USAGE, "%s %s has no example", command->name, action->name ? action->name : "");
    while (rest.len) {
        rest = str_cut(rest, '\n', &line);
        (void)snprintf(text, sizeof text, "%.*s", (int)line.len, line.p);
        ok = example_check_line(text, commands, count) && ok;
    }
    return ok;
}

bool example_check_all(const struct cli_command *const *commands, size_t count)
{
    bool ok = true;
    for (size_t i = 0; i < count; i++)
        for (const struct cli_action *a = commands[i]->actions; a->run; a++)
            ok = check_action(commands[i], a, commands, count) && ok;
    return ok;
}
