/* Runs `systemctl show` and parses its output: lines NAME=VALUE, and an empty line after each unit. */
#include "doctor/server_units.h"

#include "base/check.h"
#include "doctor/child_process.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 20 };

/* systemctl shows an instance that is not loaded only if the command names it. So the names of the enabled
 * instances are taken from their symbolic links. */
#define ENABLED_INSTANCES "/etc/systemd/system/*.wants/viewtally@*.service"

/* Returns the path of systemctl, or NULL if systemd does not run on this machine, for example in a
 * container. */
static const char *find_program(void)
{
#ifdef VT_TEST_SEAMS
    const char *program = getenv("VIEWTALLY_TEST_SYSTEMCTL");
    if (program)
        return *program ? program : NULL;
#endif
    return access("/run/systemd/system", F_OK) == 0 ? "/usr/bin/systemctl" : NULL;
}

static void run(struct server_units *units, const char *program)
{
    static const char properties[] =
        "--property=Id,ActiveState,SubState,UnitFileState,User,Group,SupplementaryGroups,LoadCredential,"
        "Environment,ExecStart";
    const char *arguments[4 + SERVER_UNITS_MAX + 1] = {"systemctl", "show", properties, "viewtally.service"};
    struct error error;
    glob_t found = {.gl_pathc = 0};
    (void)glob(ENABLED_INSTANCES, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc && i < SERVER_UNITS_MAX; i++)
        arguments[4 + i] = strrchr(found.gl_pathv[i], '/') + 1;
    /* If systemd cannot be reached, continue as if there were no units. */
    if (child_process_run(program, arguments, &units->text, &error))
        buf_reset(&units->text, 0);
    globfree(&found);
}

/* The properties of one unit. */
struct properties {
    struct server_unit unit;
    struct str sub_state, exec_start;
};

/* Finds NAME in the value of Environment=, "NAME=VALUE NAME=VALUE …". */
static struct str find_variable(struct str environment, struct str name)
{
    struct str word, key;
    while (environment.p) {
        environment = str_cut(environment, ' ', &word);
        const struct str value = str_cut(word, '=', &key);
        if (str_eq(key, name))
            return value;
    }
    return STR("");
}

static void set_property(struct properties *p, struct str name, struct str value)
{
    struct server_unit *u = &p->unit;
    const struct {
        struct str name;
        struct str *to;
    } texts[] = {
        {STR("Id"), &u->name},
        {STR("ActiveState"), &u->state},
        {STR("SubState"), &p->sub_state},
        {STR("User"), &u->user},
        {STR("Group"), &u->group},
        {STR("SupplementaryGroups"), &u->supplementary_groups},
        {STR("ExecStart"), &p->exec_start},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (str_eq(name, texts[i].name))
            *texts[i].to = value;
    if (str_eq(name, STR("UnitFileState")))
        u->is_enabled = str_starts_with(value, STR("enabled"));
    if (str_eq(name, STR("LoadCredential")))
        u->has_credentials = value.len > 0; /* systemd 252 shows "[unprintable]" */
    if (str_eq(name, STR("Environment")))
        u->admin_listen = find_variable(value, STR("VIEWTALLY_ADMIN_LISTEN"));
}

/* Returns true if ExecStart= names this configuration file. A unit that names another configuration file
 * belongs to another installation. */
static bool names_config(struct str exec_start, const char *config_path)
{
    char option[4096];
    const int n = snprintf(option, sizeof option, " --config %s ", config_path);
    return n > 0 && (size_t)n < sizeof option && memmem(exec_start.p, exec_start.len, option, (size_t)n);
}

static void add_unit(struct server_units *units, struct properties *p, const char *config_path)
{
    struct server_unit *u = &p->unit;
    if (units->count == SERVER_UNITS_MAX || !names_config(p->exec_start, config_path))
        return;
    u->is_running = str_eq(u->state, STR("active")) || str_eq(u->state, STR("reloading"));
    u->is_starting = str_eq(u->state, STR("activating")) && !str_eq(p->sub_state, STR("auto-restart"));
    units->items[units->count++] = *u;
}

void server_units_parse(struct server_units *units, const char *config_path)
{
    static const struct properties empty = {.unit = {.name = {"", 0}}};
    struct str rest = buf_str(&units->text), line, name;
    struct properties p = empty;
    while (rest.p) {
        rest = str_cut(rest, '\n', &line);
        if (line.len) {
            const struct str value = str_cut(line, '=', &name);
            set_property(&p, name, value.p ? value : STR(""));
        } else {
            add_unit(units, &p, config_path);
            p = empty;
        }
    }
}

static bool has_credential(struct str text, struct str path)
{
    struct str line, name;
    while (text.p) {
        text = str_cut(text, '\n', &line);
        if (str_starts_with(line, STR("LoadCredential=")) && str_eq(str_cut(line, ':', &name), path))
            return true;
    }
    return false;
}

/* Reads the files of the unit with `systemctl cat`, because `systemctl show` may not show the value of
 * LoadCredential=. */
bool server_unit_loads_credential(const struct server_unit *unit, const char *path)
{
    char name[256];
    const char *const arguments[] = {"systemctl", "cat", name, NULL};
    const char *program = unit->has_credentials ? find_program() : NULL;
    struct error error;
    struct buf text;
    if (!program)
        return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)unit->name.len, unit->name.p);
    buf_init(&text, TEXT_MAX);
    const bool found = child_process_run(program, arguments, &text, &error) == OK &&
                       has_credential(buf_str(&text), str_from_cstr(path));
    buf_fini(&text);
    return found;
}

struct server_units *server_units_read(const char *config_path)
{
    struct server_units *units = xcalloc(1, sizeof *units);
    const char *program = config_path ? find_program() : NULL;
    buf_init(&units->text, TEXT_MAX);
    if (program)
        run(units, program);
    if (config_path)
        server_units_parse(units, config_path);
    return units;
}

void server_units_free(struct server_units *units)
{
    if (!units)
        return;
    buf_fini(&units->text);
    free(units);
}
