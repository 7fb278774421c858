/* Checks the configuration file and the environment. */
#include "doctor/doctor.h"

static void check_mistakes(struct doctor *d)
{
    struct str rest = buf_str(&d->cli->mistakes), line;
    const char *path = d->cli->config_path;
    if (rest.len == 0)
        doctor_ok(d, "%s%s", path ? path : "there is no configuration file",
                  path ? " is valid" : ", all values are defaults or from the environment");
    while (rest.len) {
        rest = str_cut(rest, '\n', &line);
        doctor_error(d, "correct it (docs/configuration.md), then run viewtally check-config", "%.*s",
                     (int)line.len, line.p);
    }
}

static void check_source(struct doctor *d)
{
    if (d->cli->config_path)
        doctor_ok(d, "the configuration file is %s", d->cli->config_path);
    else if (config_is_set(d->config, "store", "path") || config_is_set(d->config, "store", "url"))
        doctor_ok(d, "the configuration is in the environment");
    else
        doctor_warn(d, "name a file with --config, or create " CLI_SYSTEM_CONFIG,
                    "no configuration file is used, so this may not be the configuration of the server");
}

static const struct doctor_check checks[] = {
    {"mistakes", NEEDS_NOTHING, check_mistakes},
    {"source", NEEDS_NOTHING, check_source},
};
const struct doctor_group doctor_configuration = DOCTOR_GROUP("configuration", checks);
