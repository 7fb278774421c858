/* Writes the table of configuration keys as Markdown (docs/configuration.md) and as config.example.ini. */
#include "base/buf.h"
#include "config/config.h"

enum { EXAMPLE_MAX_BYTES = 1 << 20 };

/* Writes one cell of a table. Line breaks become spaces; `|` is escaped, because it would end the cell. */
static void write_cell(FILE *to, const char *text)
{
    for (; *text; text++)
        if (*text == '|')
            (void)fputs("\\|", to);
        else
            (void)fputc(*text == '\n' ? ' ' : *text, to);
}

static void write_type(FILE *to, const struct config_key *key)
{
    switch (key->type) {
    case CONFIG_TEXT: (void)fputs("text", to); return;
    case CONFIG_LIST: (void)fputs("list", to); return;
    case CONFIG_INTEGER: (void)fprintf(to, "%lld to %lld", (long long)key->min, (long long)key->max); return;
    case CONFIG_MILLI:
        (void)fprintf(to, "%lld to %lld, at most three decimals", (long long)key->min / 1000,
                      (long long)key->max / 1000);
        return;
    case CONFIG_DURATION: (void)fputs("duration, such as `90m` or `1d`", to); return;
    case CONFIG_SWITCH: (void)fputs("on, off", to); return;
    case CONFIG_DATE: (void)fputs("date", to); return;
    case CONFIG_LOG_LEVEL: (void)fputs("debug, info, warn, error", to); return;
    case CONFIG_LOG_FORMAT: (void)fputs("text, json", to); return;
    }
}

static void write_key(FILE *to, const struct config_key *key)
{
    (void)fprintf(to, "| `%s` | ", key->name);
    write_type(to, key);
    (void)fprintf(to, *key->initial ? " | `%s` | %s | " : " | %s | %s | ", key->initial,
                  key->place.reload ? "SIGHUP" : "restart");
    write_cell(to, key->help ? key->help : "See the key above.");
    if (key->secret)
        (void)fprintf(to, " `%s_file` names a file that contains the value instead.", key->name);
    (void)fputs(" |\n", to);
}

bool config_write_reference(FILE *to)
{
    const char *section = "";
    const struct config_key *key;
    (void)fputs(
        "# Configuration\n\n"
        "The configuration is an INI file: the one given with `--config`, else `$VIEWTALLY_CONFIG`, else\n"
        "`./config.ini`, else `/etc/viewtally/config.ini`, else the defaults. `VIEWTALLY_<SECTION>_<KEY>` "
        "in\n"
        "the environment overrides a key. `viewtally check-config` prints which file it used, and either "
        "all\n"
        "mistakes or the effective values.\n\n"
        "A new value of a key marked SIGHUP takes effect when the server receives this signal; all other "
        "keys need a\nrestart.\n",
        to);
    for (size_t i = 0; (key = config_key_at(i)); i++) {
        if (strcmp(section, key->section) != 0) {
            section = key->section;
            (void)fprintf(to,
                          "\n## [%s]\n\n| key | values | default | takes effect | meaning |\n"
                          "| --- | --- | --- | --- | --- |\n",
                          section);
        }
        write_key(to, key);
    }
    return fflush(to) == 0 && !ferror(to);
}

bool config_write_example(FILE *to)
{
    struct buf text;
    buf_init(&text, EXAMPLE_MAX_BYTES);
    config_print_example(&text);
    const bool ok = !text.failed && fwrite(text.p, 1, text.len, to) == text.len;
    buf_fini(&text);
    return ok && fflush(to) == 0 && !ferror(to);
}
