/* Checks that the database is readable and undamaged, and looks for old files beside it. */
#include "base/plural.h"
#include "doctor/doctor.h"
#include "store/database_files.h"
#include "store/server_upgrade.h"
#include "store/store_config.h"

#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { WAL_MAX_MIB = 125, DEAD_ROWS_MAX = 100000 };

#define VERSION_FIX                                                                                          \
    "run viewtally migrate if the database is empty or its schema is older, install the newer viewtally if " \
    "it is newer, or repeat an interrupted viewtally move"

static const char *fix_for_server(enum err err)
{
    switch (err) {
    case ERR_VERSION: return VERSION_FIX;
    case ERR_READONLY: return "grant the role its rights (docs/postgresql.md, Rights), or use the primary";
    case ERR_CORRUPT:
        return "if [store] url names the database of another application, name an empty database or schema; "
               "if viewtally's own data is damaged, restore a backup (docs/postgresql.md, Backups)";
    default: return "check [store] url and password_file, and that the server can be reached: psql URL";
    }
}

static const char *fix_for(enum err err)
{
    switch (err) {
    case ERR_NOT_FOUND: return "check [store] path and that its volume is mounted";
    case ERR_VERSION: return VERSION_FIX;
    case ERR_CORRUPT: return "stop the server and run viewtally restore BACKUP";
    case ERR_BUSY: return "wait until the restore has ended";
    default: return "check owner and permissions (files.database, files.companions, files.directory)";
    }
}

static void check_open(struct doctor *d)
{
    if (d->store)
        doctor_ok(d, "%s can be read and has a schema that this version can use",
                  store_config_name(d->config));
    else
        doctor_error(d,
                     store_config_is_file(d->config) ? fix_for(d->store_error.code)
                                                     : fix_for_server(d->store_error.code),
                     "%s", d->store_error.text);
}

static void check_integrity(struct doctor *d)
{
    struct error error = {0};
    if (store_diagnose(d->config->store.path, d->full, &error))
        doctor_error(d, "stop the server and run viewtally restore BACKUP", "%s", error.text);
    else
        doctor_ok(d, d->full ? "the integrity check found no damage"
                             : "the quick check found no damage (--full also compares the indexes)");
}

static void check_wal(struct doctor *d)
{
    const long long mib = (long long)database_file_size(d->config->store.path, "-wal") >> 20;
    if (mib > WAL_MAX_MIB)
        doctor_warn(
            d,
            "find the process that has been reading for long (fuser -v DATABASE) and end it; the server then "
            "truncates the log",
            "the write-ahead log has %lld MiB", mib);
    else
        doctor_ok(d, "the write-ahead log has %lld MiB", mib);
}

/* Counts the files of old databases that restores have left in `dir`. Adds their sizes to `*bytes`. */
static int count_before_files(const char *dir, const char *name, long long *bytes)
{
    char prefix[PATH_MAX + 16];
    struct stat st;
    int count = 0;
    DIR *entries = opendir(dir);
    const struct dirent *entry;
    (void)snprintf(prefix, sizeof prefix, "%s.before-", name);
    while (entries && (entry = readdir(entries))) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        count++;
        if (fstatat(dirfd(entries), entry->d_name, &st, 0) == 0)
            *bytes += st.st_size;
    }
    if (entries)
        (void)closedir(entries);
    return count;
}

static void check_before_files(struct doctor *d)
{
    char resolved[PATH_MAX], copy[PATH_MAX];
    long long bytes = 0;
    if (!realpath(d->config->store.path, resolved))
        (void)snprintf(resolved, sizeof resolved, "%s", d->config->store.path);
    (void)snprintf(copy, sizeof copy, "%s", resolved);
    const char *slash = strrchr(resolved, '/');
    const int count = count_before_files(dirname(copy), slash ? slash + 1 : resolved, &bytes);
    if (count)
        doctor_warn(d, "if you no longer need them: viewtally backup prune --before-files",
                    "restores have left %d file%s of old databases, %lld MiB in all", count,
                    plural(count, "", "s"), bytes >> 20);
    else
        doctor_ok(d, "there are no old databases left by a restore");
}

/* Returns an error if the database cannot be opened for writing, for example because the role may only
 * read. */
static enum err check_writable(const struct config *c, struct error *error)
{
    const struct store_options options = store_options_from_config(c, STORE_WRITE);
    struct store *store;
    const enum err err = store_open(&store, &options, error);
    if (!err)
        store_close(store);
    return err;
}

static void check_server_settings(struct doctor *d)
{
    const struct config *c = d->config;
    struct server_upgrade_result r;
    struct error error = {0};
    if (store_config_is_file(c))
        doctor_skip(d, "the database is a file");
    else if (check_writable(c, &error) ||
             server_upgrade_check(c->store.url, c->store.password_file, &r, &error))
        doctor_error(d, fix_for_server(error.code), "%s", error.text);
    else if (r.is_volatile)
        doctor_warn(d, "set synchronous_commit to on for the role and the database",
                    "synchronous_commit is off: if the server crashes, the last changes are lost");
    else if (*r.role_settings)
        doctor_warn(d, "viewtally migrate",
                    "the role %s does not have the settings with which the queries are planned", r.role);
    else
        doctor_ok(d, "database %s has the settings that viewtally needs", r.database);
}

static void check_server_load(struct doctor *d)
{
    struct store_server_load l;
    if (store_config_is_file(d->config)) {
        doctor_skip(d, "the database is a file");
        return;
    }
    const enum err err = store_read_server_load(d->store, &l);
    if (err)
        doctor_error(d, fix_for_server(err), "the statistics of the server cannot be read: %s",
                     err_name(err));
    else if (l.connections * 10 >= l.connections_max * 9)
        doctor_warn(d, "end connections that nobody needs, or raise max_connections",
                    "connections to the server: %lld of at most %lld", (long long)l.connections,
                    (long long)l.connections_max);
    else if (l.dead_rows > DEAD_ROWS_MAX && l.dead_rows > l.live_rows)
        doctor_warn(d,
                    "run VACUUM ANALYZE, and check that autovacuum is on and that no transaction has been "
                    "open for hours",
                    "there are more dead rows (%lld) than live ones (%lld)", (long long)l.dead_rows,
                    (long long)l.live_rows);
    else
        doctor_ok(d, "connections: %lld of at most %lld; rows: %lld live, %lld dead; standbys: %lld",
                  (long long)l.connections, (long long)l.connections_max, (long long)l.live_rows,
                  (long long)l.dead_rows, (long long)l.standbys);
}

static const struct doctor_check checks[] = {
    {"open", NEEDS_CONFIG, check_open},
    {"integrity", NEEDS_STORE_FILE, check_integrity},
    {"server_settings", NEEDS_STORE, check_server_settings},
    {"server_load", NEEDS_STORE, check_server_load},
    {"wal", NEEDS_FILE, check_wal},
    {"before_files", NEEDS_FILE, check_before_files},
};
const struct doctor_group doctor_database = DOCTOR_GROUP("database", checks);
