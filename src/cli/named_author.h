/* Finds the author that an operand or an option of a command names, by id or by sign-in name. A sign-in name
 * never looks like an id (auth/login.h), so the two cannot be confused. */
#ifndef VT_CLI_NAMED_AUTHOR_H
#define VT_CLI_NAMED_AUTHOR_H

#include "base/arena.h"
#include "cli/cli.h"
#include "store/store.h"

/* Returns ERR_NOT_FOUND if no author has this id or sign-in name. */
struct author;
MUST_USE enum err named_author_find(struct store *store, struct arena *arena, const char *named,
                                    struct author *out);

/* Prints the error message for ERR_NOT_FOUND. Returns the exit status. */
enum cli_exit named_author_print_not_found(void);

#endif
