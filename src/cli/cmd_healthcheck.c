/* viewtally healthcheck: asks the running server of this configuration how it is. */
#include "cli/cli.h"
#include "http/ask.h"

#include <stdlib.h>

enum { TIMEOUT_MS = 3000, BODY_MAX = 1 << 20, ADDRESS_MAX = 256 };

struct first {
    char text[ADDRESS_MAX];
};

static void take_first(void *ctx, struct str item)
{
    struct first *first = ctx;
    if (first->text[0] || item.len >= sizeof first->text)
        return;
    memcpy(first->text, item.p, item.len);
    first->text[item.len] = '\0';
}

static enum cli_exit print_line(struct str line)
{
    struct buf out;
    buf_init(&out, BODY_MAX);
    cli_append_text(&out, str_trim(line));
    buf_append_char(&out, '\n');
    return cli_print(&out);
}

/* What /readyz said. */
static enum cli_exit judge(int status, struct str body, bool strict)
{
    struct str line;
    (void)str_cut(body, '\n', &line);
    bool degraded = status == 200 && str_starts_with(line, STR("degraded"));
    if (status != 200 && status != 503)
        return cli_fail(CLI_COULD_NOT, "the admin listener answered %d to /readyz: it is not viewtally's",
                        status);
    if (print_line(line) != CLI_DONE || status == 503)
        return CLI_COULD_NOT;
    return degraded && strict ? CLI_PART : CLI_DONE;
}

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    bool strict = false;
    const struct cli_option options[] = {{.name = "strict", .flag = &strict}, {.name = NULL}};
    struct first admin = {""}, server = {""};
    struct buf body;
    int count, status = 0;
    const char *why = "";
    if (!cli_parse(argc, argv, options, 0, 0, &count))
        return CLI_USAGE;
    config_each_item(cli->config.admin.listen, take_first, &admin);
    config_each_item(cli->config.server.listen, take_first, &server);
    buf_init(&body, BODY_MAX);
    bool has_admin = admin.text[0] != '\0';
    enum err e = ask(has_admin ? admin.text : server.text, has_admin ? "/readyz" : "/", TIMEOUT_MS, &status,
                     &body, &why);
    enum cli_exit code;
    if (e)
        code = cli_fail(e == ERR_INVALID ? CLI_USAGE : CLI_COULD_NOT, "%s", why);
    else if (has_admin)
        code = judge(status, buf_str(&body), strict);
    else if (status >= 500)
        code = cli_fail(CLI_COULD_NOT, "%s: answered %d", server.text, status);
    else
        code = print_line(STR("answers (there is no [admin] listen, which would say more)"));
    buf_fini(&body);
    return code;
}

const struct cli_command cli_healthcheck = {
    .name = "healthcheck",
    .synopsis = "[--strict]",
    .summary = "ask the running server how it is",
    .help =
        "Asks /readyz of [admin] listen, or, without one, whether [server] listen answers at all, for at "
        "most 3 s,\n"
        "and prints what it says. Exit status: 0 ready, or degraded (it answers everything; with --strict "
        "that is 1),\n"
        "3 not ready, or no answer. Good as the health check of a container.",
    .run = run,
};
