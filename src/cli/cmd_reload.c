/* viewtally reload: makes a running server read its configuration again, and waits for the result. */
#include "base/reload_reply.h"
#include "cli/arguments.h"
#include "cli/output.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TIMEOUT_MS = 10000, LINE_MAX_BYTES = 256 };

/* Returns the process id, or 0 after an error message. */
static pid_t server_pid(const struct cli_arguments *arguments)
{
    const char *text = arguments->operand_count ? arguments->operands[0] : getenv("MAINPID");
    unsigned long long pid;
    if (!text || !*text) {
        (void)cli_fail(CLI_USAGE,
                       "PID is missing, such as $(systemctl show --property MainPID --value viewtally)");
        return 0;
    }
    if (!str_to_u64(str_from_cstr(text), INT_MAX, &pid) || !pid) {
        (void)cli_fail(CLI_USAGE, "%s is not a process id", text);
        return 0;
    }
    return (pid_t)pid;
}

/* Opens /proc/PID/NAME. Returns NULL if there is no such process. */
static FILE *open_process_file(pid_t pid, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

/* Returns true if `serve` is an argument of the process. Other programs may handle SIGHUP, too: it ends an
 * interactive shell, for example. */
static bool runs_serve(pid_t pid)
{
    char *word = NULL;
    size_t size = 0;
    bool found = false;
    FILE *file = open_process_file(pid, "cmdline");
    if (!file)
        return false;
    while (!found && getdelim(&word, &size, '\0', file) >= 0)
        found = strcmp(word, "serve") == 0;
    free(word);
    (void)fclose(file);
    return found;
}

/* Returns true if the process handles SIGHUP. The signal would end a process that does not, and a server that
 * is still starting would ignore it. */
static bool handles_sighup(pid_t pid)
{
    char line[LINE_MAX_BYTES];
    unsigned long long caught = 0;
    FILE *status = open_process_file(pid, "status");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "SigCgt:", 7) == 0)
            caught = strtoull(line + 7, NULL, 16);
    if (status)
        (void)fclose(status);
    return caught >> (SIGHUP - 1) & 1;
}

static enum cli_exit wait_for_reply(int fd, pid_t pid)
{
    struct reload_reply reply;
    if (kill(pid, SIGHUP) != 0)
        return cli_fail(CLI_COULD_NOT, "cannot send SIGHUP to process %d: %s", (int)pid, strerror(errno));
    if (!reload_reply_wait(fd, pid, TIMEOUT_MS, &reply))
        return cli_fail(CLI_COULD_NOT, "process %d has not reloaded its configuration within %d s", (int)pid,
                        TIMEOUT_MS / 1000);
    if (reply.result == RELOAD_REJECTED)
        return cli_fail(
            CLI_USAGE,
            "the server has rejected the new configuration and continues with the current one; its "
            "log has the reason");
    printf("process %d has reloaded its configuration\n", (int)pid);
    if (*reply.restart_keys)
        printf("a restart is needed for: %s\n", reply.restart_keys);
    return CLI_DONE;
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    const pid_t pid = server_pid(arguments);
    (void)cli;
    if (!pid)
        return CLI_USAGE;
    /* $MAINPID is not checked: it is correct, and the sandbox of a unit may hide the process. */
    if (arguments->operand_count && !(runs_serve(pid) && handles_sighup(pid)))
        return cli_fail(CLI_COULD_NOT, "process %d is not a viewtally server, or it is still starting",
                        (int)pid);
    const int fd = reload_reply_open(pid);
    if (fd < 0)
        return errno == EADDRINUSE ? cli_fail(CLI_COULD_NOT, "process %d is already being reloaded", (int)pid)
                                   : cli_fail(CLI_COULD_NOT, "cannot wait for the reply of process %d: %s",
                                              (int)pid, strerror(errno));
    const enum cli_exit code = wait_for_reply(fd, pid);
    (void)close(fd);
    return code;
}

static const struct cli_action actions[] = {
    {.operands = "[PID]",
     .operands_max = 1,
     .description =
         "Sends SIGHUP to the server process PID (by default $MAINPID, which systemd sets in ExecReload=), "
         "waits until it has read its configuration again, at most 10 seconds, and reports the result. "
         "Changed keys that need a restart are named and keep their old values until the restart; the exit "
         "status is 0 even then, because all other changes are in effect. Exit status 2: the configuration "
         "is invalid or the server is stopping, so the current one stays in use. Exit status 3: no such "
         "server, "
         "or it does not respond.",
     .examples = "viewtally reload $(systemctl show --property MainPID --value viewtally)",
     .run = run},
    {0},
};

const struct cli_command cli_reload = {
    .name = "reload",
    .summary = "make a running server read its configuration again",
    .actions = actions,
};
