/* The user for whom `viewtally doctor` checks permissions, which should be the user of the server. If root
 * runs the command, this is the user in User= of the unit, or else the owner of the database; if the database
 * is missing and its path is absolute, the owner of its directory. Root itself can read every file. If
 * another user runs the command, it is this user. */
#ifndef VT_DOCTOR_SERVER_USER_H
#define VT_DOCTOR_SERVER_USER_H

#include "base/str.h"

#include <stdbool.h>
#include <sys/types.h>

struct server_units;

enum { SERVER_GROUPS_MAX = 64, SERVER_NAME_MAX = 64 };

struct server_user {
    bool is_other; /* this process is root, and the server runs as another user */
    uid_t uid;
    gid_t gid;
    gid_t groups[SERVER_GROUPS_MAX]; /* all groups, including `gid` */
    int group_count;
    char name[SERVER_NAME_MAX], group_name[SERVER_NAME_MAX]; /* for messages; the number if it has no name */
};

/* Determines the user. `database` is the path of the database, which need not exist. */
void server_user_find(struct server_user *user, const struct server_units *units, const char *database);

/* Returns true if the user may access `path`; otherwise sets errno and returns false. `mode` is the mode of
 * access(2), such as R_OK. The kernel checks the permissions, including those of the directories above `path`
 * and access control lists. */
bool server_user_can(const struct server_user *user, const char *path, int mode);

#endif
