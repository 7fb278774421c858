/* Prints the result of server_upgrade(). Notes go to standard error, so that with --json standard output
 * contains only the result. */
#include "cli/server_migrate.h"

#include "base/json.h"
#include "base/plural.h"
#include "cli/database.h"
#include "cli/output.h"
#include "import/finalizing.h"
#include "store/server_upgrade.h"
#include "store/store_config.h"

#include <inttypes.h>
#include <stdio.h>

static const char *state_of(const struct server_upgrade_result *r, bool is_done)
{
    if (r->is_newer)
        return "newer";
    if (!r->pending)
        return "up_to_date";
    if (r->version == 0)
        return is_done ? "created" : "missing";
    return is_done ? "migrated" : "pending";
}

static void print_notes(const struct server_upgrade_result *r, bool is_done)
{
    if (r->is_volatile)
        cli_note(
            "synchronous_commit is off in database %s: if the server crashes, the last changes are lost; "
            "set it to on for the role and the database",
            r->database);
    if (*r->role_settings && is_done)
        cli_note("the role %s may not change its own settings; run these statements as a superuser:\n%s",
                 r->role, r->role_settings);
    else if (*r->role_settings)
        cli_note("these settings of the role %s are missing; viewtally migrate sets them if it runs as this "
                 "role:\n%s",
                 r->role, r->role_settings);
}

/* Prints the result as JSON. `videos` is the number of finalized videos of an interrupted import; -1 if the
 * command has only checked what is pending. */
static enum cli_exit print_json(const struct server_upgrade_result *r, int64_t videos)
{
    const bool is_done = videos >= 0;
    struct buf b;
    buf_init(&b, 1 << 20);
    json_open(&b, '{');
    JSON_STR(&b, "database", str_from_cstr(r->database));
    JSON_STR(&b, "state", str_from_cstr(state_of(r, is_done)));
    JSON_I64(&b, "schema_version", is_done && r->pending ? r->target : r->version);
    JSON_I64(&b, "program_version", r->target);
    if (is_done) {
        JSON_I64(&b, "applied", r->pending);
        JSON_I64(&b, "finalized_videos", videos);
    } else {
        JSON_I64(&b, "pending", r->pending);
    }
    json_close(&b, '}');
    buf_append_char(&b, '\n');
    return cli_print(&b);
}

static enum cli_exit print_unchanged(const struct server_upgrade_result *r)
{
    if (r->is_newer)
        printf("%s: schema version %" PRId64 " of a newer release, which this release can use\n", r->database,
               r->version);
    else
        printf("%s: up to date\n", r->database);
    return cli_flush();
}

/* ---- viewtally migrate --check ---- */

static enum cli_exit print_check(const struct server_upgrade_result *r)
{
    if (!r->pending)
        return print_unchanged(r);
    if (r->version == 0)
        printf("%s: the tables would be created\n", r->database);
    else
        printf("%s: schema version %" PRId64 ", %d migration%s to version %" PRId64
               "; back up the database first, for example with pg_dump\n",
               r->database, r->version, r->pending, plural(r->pending, "", "s"), r->target);
    return cli_flush();
}

enum cli_exit server_migrate_check(const struct cli *cli, bool is_json)
{
    const struct config *c = &cli->config;
    struct server_upgrade_result r;
    struct error error;
    if (server_upgrade_check(c->store.url, c->store.password_file, &r, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    if (r.version && !r.pending && !cli_check_store(cli))
        return CLI_COULD_NOT;
    print_notes(&r, false);
    if (is_json ? print_json(&r, -1) : print_check(&r))
        return CLI_COULD_NOT;
    return r.pending ? CLI_PART : CLI_DONE;
}

/* ---- viewtally migrate ---- */

static enum cli_exit print_done(const struct server_upgrade_result *r, int64_t videos)
{
    if (r->pending)
        printf("%s: %d migration%s applied\n", r->database, r->pending, plural(r->pending, "", "s"));
    if (videos)
        printf("%s: finalized %" PRId64 " video%s of an interrupted import\n", r->database, videos,
               plural(videos, "", "s"));
    return r->pending ? cli_flush() : print_unchanged(r);
}

enum cli_exit server_migrate(const struct cli *cli, bool is_json)
{
    const struct config *c = &cli->config;
    const struct store_options options = store_options_from_config(c, STORE_WRITE);
    const struct step_rules rules = step_rules_from_config(c);
    struct server_upgrade_result r;
    struct finalizing_result finalized;
    struct error error;
    if (server_upgrade(c->store.url, c->store.password_file, &r, &error) ||
        finalizing_run_all(&options, &rules, &finalized, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    print_notes(&r, true);
    return is_json ? print_json(&r, finalized.videos) : print_done(&r, finalized.videos);
}
