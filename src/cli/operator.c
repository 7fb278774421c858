/* Determines the operator's name. The name proves nothing: a user who can write the database can also forge
 * the audit log. */
#include "cli/operator.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

struct actor cli_operator(void)
{
    const char *caller = getuid() == 0 ? getenv("SUDO_USER") : NULL;
    const struct passwd *user = caller && *caller ? NULL : getpwuid(getuid());
    const char *name = user ? user->pw_name : caller ? caller : "";
    return actor_make(ACTOR_OPERATOR, str_from_cstr(name), (struct str){NULL, 0});
}
