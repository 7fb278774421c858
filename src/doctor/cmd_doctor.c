/* viewtally doctor: runs the checks and prints the findings. */
#include "base/clock.h"
#include "base/json.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "doctor/doctor.h"

static const char *const state_names[FINDING_STATES] = {"ok", "skipped", "warning", "error"};

/* Appends the text like cli_append_text(), but does not escape quotation marks. */
static void append_plain(struct buf *out, const char *text)
{
    struct str rest = str_from_cstr(text), piece;
    while (rest.p) {
        rest = str_cut(rest, '"', &piece);
        cli_append_text(out, piece);
        if (rest.p)
            buf_append_char(out, '"');
    }
}

static void append_line(struct buf *out, const struct finding *f)
{
    const size_t begin = out->len;
    buf_printf(out, "%-8s %s.%s ", state_names[f->state], f->group, f->check);
    while (out->len - begin < 9 + 27)
        buf_append_char(out, ' ');
    append_plain(out, f->text);
    if (*f->fix) {
        buf_append(out, STR(". Fix: "));
        append_plain(out, f->fix);
    }
    buf_append_char(out, '\n');
}

static void print_text(const struct doctor *d, struct buf *out)
{
    for (size_t i = 0; i < d->findings.count; i++)
        append_line(out, &d->findings.items[i]);
    const size_t errors = doctor_count(d, FINDING_ERROR), warnings = doctor_count(d, FINDING_WARNING);
    buf_printf(out, "\n%zu error%s, %zu warning%s, %zu ok, %zu skipped\n", errors, plural(errors, "", "s"),
               warnings, plural(warnings, "", "s"), doctor_count(d, FINDING_OK),
               doctor_count(d, FINDING_SKIPPED));
}

static void print_json(const struct doctor *d, struct buf *out)
{
    json_open(out, '{');
    JSON_I64(out, "errors", (int64_t)doctor_count(d, FINDING_ERROR));
    JSON_I64(out, "warnings", (int64_t)doctor_count(d, FINDING_WARNING));
    JSON_KEY(out, "findings");
    json_open(out, '[');
    for (size_t i = 0; i < d->findings.count; i++) {
        const struct finding *f = &d->findings.items[i];
        json_open(out, '{');
        JSON_STR(out, "state", str_from_cstr(state_names[f->state]));
        JSON_STR(out, "group", str_from_cstr(f->group));
        JSON_STR(out, "check", str_from_cstr(f->check));
        JSON_STR(out, "message", str_from_cstr(f->text));
        JSON_STR(out, "fix", *f->fix ? str_from_cstr(f->fix) : (struct str){0});
        json_close(out, '}');
    }
    json_close(out, ']');
    json_close(out, '}');
    buf_append_char(out, '\n');
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    struct doctor d = {.cli = cli,
                       .config = &cli->config,
                       .nginx_file = cli_value(arguments, "nginx"),
                       .full = cli_flag(arguments, "full"),
                       .now_ms = clock_wall_ms()};
    struct buf out;
    log_set(LOG_NOTHING, cli->config.log.format); /* the findings contain the errors that would be logged */
    doctor_run(&d);
    buf_init(&out, 1 << 22);
    (cli_flag(arguments, "json") ? print_json : print_text)(&d, &out);
    const bool failed = doctor_count(&d, FINDING_ERROR) ||
                        (cli_flag(arguments, "strict") && doctor_count(&d, FINDING_WARNING));
    doctor_fini(&d);
    const enum cli_exit code = cli_print(&out);
    return code == CLI_DONE && failed ? CLI_PART : code;
}

static const struct cli_option doctor_options[] = {
    {.name = "json", .help = "Print one JSON object with all findings."},
    {.name = "strict", .help = "Exit with status 1 also if there are only warnings."},
    {.name = "full", .help = "Check every index of the database too, which takes minutes for a large one."},
    {.name = "nginx",
     .argument = "FILE",
     .help =
         "Check this configuration of nginx, or a file with the output of nginx -T. By default, nginx -T is "
         "run if nginx is installed."},
    {0},
};

static const struct cli_action actions[] = {
    {.options = doctor_options,
     .description =
         "Checks the configuration, file permissions, disk, clock, database, Redis, nginx, units of "
         "systemd, base_url, platform credentials, webhooks, age of the last refresh and backup, and "
         "library versions. Prints a line for each finding: its state (ok, skipped, warning or error), "
         "what was found, and how to fix it. Changes nothing and prints no secrets. The server may be "
         "running. Run it as root or as the user of the server. If root runs it, it checks whether the "
         "user of the server can access the files.\n\n"
         "Exit status 0: no errors; without --strict, there may be warnings. Exit status 1: errors; with "
         "--strict, also warnings. A mistake in the configuration is an error, too.",
     .partial = "there are errors; or, with --strict, warnings",
     .examples = "viewtally doctor\n"
                 "viewtally doctor --strict --json\n"
                 "ssh proxy nginx -T >/tmp/nginx.txt; viewtally doctor --nginx /tmp/nginx.txt",
     .accepts_mistakes = true,
     .run = run},
    {0},
};

const struct cli_command cli_doctor = {
    .name = "doctor",
    .summary = "check the installation and explain how to fix problems",
    .actions = actions,
};
