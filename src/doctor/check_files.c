/* Checks owners and permissions of files and directories, as the user of the server (server_user.h). */
#include "base/plural.h"
#include "doctor/doctor.h"

#include "config/value.h"
#include "store/database_files.h"
#include "store/store_config.h"
#include "vault/seal.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if a user runs doctor who is neither root nor the owner of the database. A file that this user
 * cannot access may be accessible to the server. */
static bool user_is_stranger(const struct doctor *d)
{
    struct stat st;
    if (d->user.is_other || d->user.uid == 0 || !store_config_is_file(d->config))
        return false;
    return stat(d->config->store.path, &st) == 0 ? st.st_uid != d->user.uid : errno == EACCES;
}

/* Reports that a file or directory cannot be used. A stranger is not advised to change owners or permissions,
 * because the server could lose its access. */
__attribute__((format(printf, 3, 4))) static void report_denied(struct doctor *d, const char *fix,
                                                                const char *format, ...)
{
    char text[FINDING_TEXT_MAX];
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    doctor_error(d, user_is_stranger(d) ? "run this command as root or as the user of the server" : fix, "%s",
                 text);
}

static bool others_can_read(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && (st.st_mode & S_IROTH);
}

/* Checks a file that contains secrets. Returns false after reporting that every user can read it. */
static bool check_private(struct doctor *d, const char *path)
{
    char fix[PATH_MAX + 32];
    if (!others_can_read(path))
        return true;
    (void)snprintf(fix, sizeof fix, "chmod o-rwx %s", path);
    doctor_error(d, fix, "%s contains a secret, and every user can read it", path);
    return false;
}

/* Returns false after reporting that the server cannot read the file. */
static bool check_readable(struct doctor *d, const char *path)
{
    char fix[2 * PATH_MAX + 128];
    if (server_user_can(&d->user, path, R_OK))
        return true;
    const int failed = errno;
    (void)snprintf(fix, sizeof fix,
                   "chgrp %s %s && chmod 640 %s; if its directory is the cause, namei -l %s shows it",
                   d->user.group_name, path, path, path);
    report_denied(d, fix, "the server, which runs as %s, cannot read %s: %s", d->user.name, path,
                  strerror(failed));
    return false;
}

static bool url_has_password(const char *url)
{
    struct str user, rest = str_from_cstr(url);
    const char *at = memrchr(rest.p, '@', rest.len);
    const char *slashes = strstr(url, "//");
    if (!at || !slashes || at < slashes)
        return false;
    return str_cut(str_make(slashes + 2, (size_t)(at - slashes) - 2), ':', &user).len > 0;
}

static bool file_has_secret(const struct config *c)
{
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++)
        if (key->secret && c->origins[i].line && !c->origins[i].secret_file)
            return true;
    return config_origin_of(c, "redis", "url")->line && url_has_password(c->redis.url);
}

static void check_config_file(struct doctor *d)
{
    if (!d->cli->config_path)
        doctor_skip(d, "there is no configuration file");
    else if (!check_readable(d, d->cli->config_path))
        return;
    else if (!file_has_secret(d->config))
        doctor_ok(d, "%s contains no secret", d->cli->config_path);
    else if (check_private(d, d->cli->config_path))
        doctor_ok(d, "%s contains secrets and is private", d->cli->config_path);
}

static void check_secret_file(struct doctor *d, const char *path, size_t *files, size_t *bad)
{
    if (!path || !*path)
        return;
    ++*files;
    *bad += !check_private(d, path) || !check_readable(d, path);
}

static void check_secret_files(struct doctor *d)
{
    size_t files = 0, bad = 0;
    for (size_t i = 0; i < CONFIG_KEYS_MAX; i++)
        check_secret_file(d, d->config->origins[i].secret_file, &files, &bad);
    if (!store_config_is_file(d->config))
        check_secret_file(d, d->config->store.password_file, &files, &bad);
    if (!files)
        doctor_skip(d, "no secret is stored in a separate file");
    else if (!bad)
        doctor_ok(d, "%zu secret file%s private and readable", files, plural((int64_t)files, " is", "s are"));
}

static void check_database_file(struct doctor *d)
{
    const char *path = d->config->store.path;
    char fix[2 * PATH_MAX + 64];
    struct stat st;
    if (stat(path, &st) != 0) {
        doctor_skip(d, "%s: %s", path, strerror(errno));
        return;
    }
    if (d->user.is_other)
        (void)snprintf(fix, sizeof fix, "chown %s %s* && chmod u+rw %s*", d->user.name, path, path);
    else
        (void)snprintf(fix, sizeof fix,
                       "run this command as root or as the user of the server (ls -l %s* shows the owner)",
                       path);
    if (!server_user_can(&d->user, path, R_OK | W_OK)) {
        doctor_error(d, fix, "user %s cannot read and write the database %s: %s", d->user.name, path,
                     strerror(errno));
    } else if (st.st_mode & (S_IROTH | S_IWOTH)) {
        (void)snprintf(fix, sizeof fix, "chmod o-rwx %s", path);
        doctor_warn(d, fix, "every user of this machine can read the database %s", path);
    } else {
        doctor_ok(d, "%s is private and can be written", path);
    }
}

/* Checks that the files beside the database, such as -wal and -lock, belong to the owner of the database. If
 * root has run a command, such a file may belong to root, and the server cannot use it. */
static void check_companions(struct doctor *d)
{
    const char *path = d->config->store.path;
    char name[DATABASE_FILE_PATH_MAX], fix[2 * PATH_MAX + 64];
    struct stat database, st;
    int wrong = 0;
    if (stat(path, &database) != 0) {
        doctor_skip(d, "the database does not exist");
        return;
    }
    for (int i = 0; i < DATABASE_FILES; i++) {
        if (!database_file_path(name, path, database_file_endings[i]) || stat(name, &st) != 0 ||
            st.st_uid == database.st_uid)
            continue;
        wrong++;
        (void)snprintf(fix, sizeof fix, "chown --reference=%s %s", path, name);
        doctor_error(d, fix, "%s belongs to another user than the database", name);
    }
    if (!wrong)
        doctor_ok(d, "the files beside the database belong to its owner");
}

/* Returns false if root runs doctor without a unit and a database of another user, or if a user runs it who
 * does not own the database. */
static bool user_is_known(const struct doctor *d)
{
    struct stat st;
    return d->user.is_other ||
           (d->user.uid != 0 && stat(d->config->store.path, &st) == 0 && st.st_uid == d->user.uid);
}

/* These return the user and the group of the server, or those of the package if they are unknown. */
static const char *user_name(const struct doctor *d)
{
    return user_is_known(d) ? d->user.name : "viewtally";
}

static const char *group_name(const struct doctor *d)
{
    return user_is_known(d) ? d->user.group_name : "viewtally";
}

/* Writes the command that creates a directory for the user of the server, or gives it to this user. An
 * existing directory keeps its group and mode: programs that write to the spool may need them. */
static void provide_directory(const struct doctor *d, const char *path, const char *mode, char *fix,
                              size_t size)
{
    if (access(path, F_OK) == 0)
        (void)snprintf(fix, size,
                       "chown %s %s && chmod u+rwx %s, or name another directory if this one belongs to the "
                       "system",
                       user_name(d), path, path);
    else
        (void)snprintf(fix, size, "install -d -o %s -g %s -m %s %s", user_name(d), group_name(d), mode, path);
}

static void check_directory(struct doctor *d)
{
    char copy[DATABASE_FILE_PATH_MAX], fix[2 * PATH_MAX + 160];
    struct stat st;
    const char *dir = database_directory(copy, d->config->store.path);
    if (!store_config_is_file(d->config) && *d->config->store.path != '/') {
        doctor_warn(
            d, "set [store] path to an absolute path, such as /var/lib/viewtally/viewtally.db",
            "temporary files and locks are in the directory of [store] path, %s, which is relative, so "
            "their directory depends on where a process is started",
            d->config->store.path);
        return;
    }
    if (stat(dir, &st) != 0 || !server_user_can(&d->user, dir, W_OK | X_OK)) {
        const int failed = errno;
        provide_directory(d, dir, "750", fix, sizeof fix);
        report_denied(d, fix, "the directory %s of the database cannot be used: %s", dir, strerror(failed));
    } else if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)) {
        (void)snprintf(fix, sizeof fix, "chmod o-w %s", dir);
        doctor_error(d, fix, "every user can replace files in %s, the directory of the database", dir);
    } else {
        doctor_ok(d, "the server can create files in the directory %s", dir);
    }
}

/* Returns true if systemd passes the file to the server in every unit, and there is at least one unit. */
static bool is_credential(const struct doctor *d, const char *path)
{
    for (size_t i = 0; i < d->units->count; i++)
        if (!server_unit_loads_credential(&d->units->items[i], path))
            return false;
    return d->units->count > 0;
}

static void check_key_file(struct doctor *d)
{
    const char *path = d->config->secrets.key_file;
    char fix[2 * PATH_MAX + 128];
    struct seal_keys *keys = NULL;
    struct stat key;
    struct error error = {0};
    if (!*path) {
        doctor_skip(
            d, "[secrets] key_file is not set; no platform tokens and no secrets of webhooks can be stored");
        return;
    }
    if (access(path, F_OK) == 0)
        (void)snprintf(fix, sizeof fix, "chown %s %s && chmod 600 %s", d->user.name, path, path);
    else
        (void)snprintf(fix, sizeof fix,
                       "restore the file from its backup, or, for a new service, run viewtally secrets init");
    if (seal_keys_open(&keys, path, &error))
        report_denied(d, fix, "%s", error.text);
    else if (is_credential(d, path))
        doctor_ok(d, "%s is private, and systemd passes it to the server", path);
    else if (stat(path, &key) == 0 && key.st_uid != d->user.uid)
        doctor_error(d, fix, "%s does not belong to %s, the user of the server, which cannot use it", path,
                     d->user.name);
    else
        doctor_ok(d, "%s is private and readable", path);
    seal_keys_close(keys);
}

static void check_spool(struct doctor *d)
{
    const char *path = d->config->refresh.spool_dir;
    char fix[2 * PATH_MAX + 160];
    struct stat st;
    provide_directory(d, path, "2770", fix, sizeof fix);
    if (!strstr(d->config->refresh.source, "spool"))
        doctor_skip(d, "[refresh] source does not include spool");
    else if (stat(path, &st) != 0)
        report_denied(d, fix, "the spool directory %s cannot be used: %s", path, strerror(errno));
    else if (!S_ISDIR(st.st_mode))
        doctor_error(d, "name a directory in [refresh] spool_dir", "%s is not a directory", path);
    else if (!server_user_can(&d->user, path, W_OK | X_OK))
        report_denied(d, fix, "the server cannot move files in the spool directory %s", path);
    else
        doctor_ok(d, "the server can move files in the spool directory %s", path);
}

static void check_backup_directory(struct doctor *d)
{
    const char *path = d->config->backup.directory;
    char provide[2 * PATH_MAX + 160], fix[2 * PATH_MAX + 256];
    struct stat st, database;
    if (!*path) {
        doctor_skip(d, "[backup] directory is not set");
        return;
    }
    provide_directory(d, path, "750", provide, sizeof provide);
    (void)snprintf(fix, sizeof fix,
                   "%s, and add it to ReadWritePaths= of the unit (docs/backups.md, Scheduled backups)",
                   provide);
    if (stat(path, &st) != 0)
        report_denied(d, fix, "the backup directory %s cannot be used: %s", path, strerror(errno));
    else if (!S_ISDIR(st.st_mode))
        doctor_error(d, "name a directory in [backup] directory (docs/backups.md, Scheduled backups)",
                     "%s is not a directory", path);
    else if (!server_user_can(&d->user, path, W_OK | X_OK))
        report_denied(d, fix, "the server cannot write to the backup directory %s", path);
    else if (stat(d->config->store.path, &database) == 0 && database.st_dev == st.st_dev)
        doctor_ok(d,
                  "%s can be written; it is on the file system of the database, so also copy the backups to "
                  "another machine",
                  path);
    else
        doctor_ok(d, "%s can be written", path);
}

static void check_access_log(struct doctor *d)
{
    const char *path = d->config->log.access;
    char copy[PATH_MAX], fix[2 * PATH_MAX + 160];
    struct stat st;
    if (!*path || strcmp(path, "-") == 0) {
        doctor_skip(d, "[log] access names no file");
        return;
    }
    (void)snprintf(copy, sizeof copy, "%s", path);
    const char *dir = dirname(copy);
    const bool exists = stat(path, &st) == 0;
    if (exists)
        (void)snprintf(fix, sizeof fix, "chown %s %s", user_name(d), path);
    else if (access(dir, F_OK) == 0) /* it may be a directory of the system, such as /var/log */
        (void)snprintf(fix, sizeof fix, "install -o %s -g %s -m 640 /dev/null %s", user_name(d),
                       group_name(d), path);
    else
        provide_directory(d, dir, "750", fix, sizeof fix);
    if (exists && S_ISDIR(st.st_mode))
        doctor_error(d, "name a file in [log] access", "%s is a directory", path);
    else if (exists ? server_user_can(&d->user, path, W_OK) : server_user_can(&d->user, dir, W_OK | X_OK))
        doctor_ok(d, "the server can write the access log %s", path);
    else
        report_denied(d, fix, "the server cannot write the access log %s, and does not start: %s", path,
                      strerror(errno));
}

static const struct doctor_check checks[] = {
    {"config_file", NEEDS_CONFIG, check_config_file},
    {"secret_files", NEEDS_CONFIG, check_secret_files},
    {"database", NEEDS_FILE, check_database_file},
    {"companions", NEEDS_FILE, check_companions},
    {"directory", NEEDS_CONFIG, check_directory},
    {"key_file", NEEDS_CONFIG, check_key_file},
    {"spool", NEEDS_CONFIG, check_spool},
    {"backup_directory", NEEDS_CONFIG, check_backup_directory},
    {"access_log", NEEDS_CONFIG, check_access_log},
};
const struct doctor_group doctor_files = DOCTOR_GROUP("files", checks);
