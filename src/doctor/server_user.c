/* Looks up the user and its groups. A child process that has switched to this user calls access(2). */
#include "doctor/server_user.h"

#include "doctor/server_units.h"

#include <errno.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool copy_name(struct str name, char out[SERVER_NAME_MAX])
{
    if (!name.len || name.len >= SERVER_NAME_MAX)
        return false;
    memcpy(out, name.p, name.len);
    out[name.len] = '\0';
    return true;
}

static void add_group(struct server_user *user, gid_t gid)
{
    if (user->group_count < SERVER_GROUPS_MAX)
        user->groups[user->group_count++] = gid;
}

static void add_named_group(struct server_user *user, struct str text)
{
    char name[SERVER_NAME_MAX];
    const struct group *group = copy_name(text, name) ? getgrnam(name) : NULL;
    if (group)
        add_group(user, group->gr_gid);
}

/* Sets `*user` to the user with this name. Returns false if the system has no such user, for example because
 * the unit uses DynamicUser=. */
static bool set_named_user(struct server_user *user, struct str text)
{
    const struct passwd *entry = copy_name(text, user->name) ? getpwnam(user->name) : NULL;
    if (!entry)
        return false;
    user->uid = entry->pw_uid;
    user->gid = entry->pw_gid;
    return true;
}

static void name_user(struct server_user *user)
{
    const struct passwd *entry = getpwuid(user->uid);
    if (entry)
        (void)snprintf(user->name, sizeof user->name, "%s", entry->pw_name);
    else
        (void)snprintf(user->name, sizeof user->name, "%lu", (unsigned long)user->uid);
}

static bool set_owner(struct server_user *user, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || st.st_uid == 0)
        return false;
    const struct passwd *entry = getpwuid(st.st_uid);
    user->uid = st.st_uid;
    user->gid = entry ? entry->pw_gid : st.st_gid;
    name_user(user);
    return true;
}

/* Sets `*user` to the owner of the database or, if it is missing, to the owner of its directory. If the path
 * is relative, this directory is that of the command, and not necessarily that of the server. */
static bool set_owner_of_data(struct server_user *user, const char *database)
{
    char copy[PATH_MAX];
    if (access(database, F_OK) == 0)
        return set_owner(user, database);
    if (*database != '/')
        return false;
    (void)snprintf(copy, sizeof copy, "%s", database);
    return set_owner(user, dirname(copy));
}

static void name_group(struct server_user *user)
{
    const struct group *group = getgrgid(user->gid);
    if (group)
        (void)snprintf(user->group_name, sizeof user->group_name, "%s", group->gr_name);
    else
        (void)snprintf(user->group_name, sizeof user->group_name, "%lu", (unsigned long)user->gid);
}

/* Adds the groups that the user has in the system, and the groups in Group= and SupplementaryGroups= of the
 * unit. */
static void add_groups(struct server_user *user, const struct server_unit *unit)
{
    struct str rest, word;
    int count = SERVER_GROUPS_MAX;
    if (getgrouplist(user->name, user->gid, user->groups, &count) >= 0)
        user->group_count = count;
    else
        add_group(user, user->gid);
    if (!unit)
        return;
    add_named_group(user, unit->group);
    rest = unit->supplementary_groups;
    while (rest.p) {
        rest = str_cut(rest, ' ', &word);
        add_named_group(user, word);
    }
}

void server_user_find(struct server_user *user, const struct server_units *units, const char *database)
{
    const struct server_unit *unit = units->count ? &units->items[0] : NULL;
    *user = (struct server_user){.uid = geteuid(), .gid = getegid()};
    name_user(user);
    name_group(user);
    if (user->uid != 0)
        return;
    if (!(unit && set_named_user(user, unit->user)) && !set_owner_of_data(user, database)) {
        name_user(user); /* set_named_user() may have set another name */
        return;
    }
    user->is_other = user->uid != 0;
    name_group(user);
    add_groups(user, unit);
}

/* Runs in the child process. Returns 0, or the errno of access(2). If the process lacks the privilege to
 * switch to the user, as in some containers, checks the permissions of its own user. */
static int try_as(const struct server_user *user, const char *path, int mode)
{
    if (setgroups((size_t)user->group_count, user->groups) == 0 &&
        setresgid(user->gid, user->gid, user->gid) == 0)
        (void)!setresuid(user->uid, user->uid, user->uid);
    return access(path, mode) == 0 ? 0 : errno;
}

bool server_user_can(const struct server_user *user, const char *path, int mode)
{
    if (!user->is_other)
        return access(path, mode) == 0;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(try_as(user, path, mode));
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return access(path, mode) == 0;
    errno = WEXITSTATUS(status);
    return errno == 0;
}
