/* viewtally healthcheck: requests the readiness of the running server. */
#include "cli/arguments.h"
#include "cli/local_get.h"
#include "cli/output.h"

#include <stdlib.h>

enum { TIMEOUT_MS = 3000, BODY_MAX = 1 << 20, ADDRESS_MAX = 256 };

struct first_address {
    char text[ADDRESS_MAX];
};

static void take_first(void *ctx, struct str item)
{
    struct first_address *first = ctx;
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

/* Prints the first line of a response of /readyz. Returns the exit status for the response. */
static enum cli_exit judge(int status, struct str body, bool strict)
{
    struct str line;
    (void)str_cut(body, '\n', &line);
    bool degraded = status == 200 && str_starts_with(line, STR("degraded"));
    if (status != 200 && status != 503)
        return cli_fail(CLI_COULD_NOT,
                        "[admin] listen is the address of another program, which replied %d to /readyz",
                        status);
    if (print_line(line) != CLI_DONE || status == 503)
        return CLI_COULD_NOT;
    return degraded && strict ? CLI_PART : CLI_DONE;
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    struct first_address admin = {""}, server = {""};
    struct buf body;
    int status = 0;
    struct error error;
    config_each_item(cli->config.admin.listen, take_first, &admin);
    config_each_item(cli->config.server.listen, take_first, &server);
    buf_init(&body, BODY_MAX);
    bool has_admin = admin.text[0] != '\0';
    enum err err = local_get(has_admin ? admin.text : server.text, has_admin ? "/readyz" : "/", TIMEOUT_MS,
                             &status, &body, &error);
    enum cli_exit code;
    if (err)
        code = cli_fail(err == ERR_INVALID ? CLI_USAGE : CLI_COULD_NOT, "%s", error.text);
    else if (has_admin)
        code = judge(status, buf_str(&body), cli_flag(arguments, "strict"));
    else if (status >= 500)
        code = cli_fail(CLI_COULD_NOT, "%s: the server replied %d", server.text, status);
    else
        code = print_line(STR("the server replies (set [admin] listen for a real readiness check)"));
    buf_fini(&body);
    return code;
}

static const struct cli_option check_options[] = {
    {.name = "strict", .help = "Exit with status 1 if the server is degraded."},
    {0},
};

static const struct cli_action actions[] = {
    {.options = check_options,
     .description =
         "Requests /readyz from [admin] listen and prints the result. If [admin] listen is not set, "
         "checks instead that [server] listen responds. Waits at most 3 seconds. Use it as the health "
         "check of a container. Exit status 0: the server is ready, or degraded: it serves the API, but "
         "needs attention. Exit status 3: the server is not ready or did not respond.",
     .partial = "the server is degraded and --strict was given",
     .examples = "viewtally healthcheck --strict",
     .run = run},
    {0},
};

const struct cli_command cli_healthcheck = {
    .name = "healthcheck",
    .summary = "check that the running server is ready",
    .actions = actions,
};
