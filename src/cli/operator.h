/* The person who runs a command, for the audit log. */
#ifndef VT_CLI_OPERATOR_H
#define VT_CLI_OPERATOR_H

#include "store/audit.h"

/* Returns the operator as an actor for the audit log. The actor's name is that of the system user or, under
 * sudo, that of the user who ran sudo. */
struct actor cli_operator(void);

#endif
