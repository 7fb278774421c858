/* Making an API key for an author: what `key create` and `demo` share. */
#ifndef VT_CLI_KEY_CREATE_H
#define VT_CLI_KEY_CREATE_H

#include "auth/api_key.h"
#include "cli/cli.h"

/* Creates a key and stores it in the configured database. CLI_DONE only when it is on disk: then it may be
 * shown. `key->name` borrows `name`. */
enum cli_exit key_create(struct cli *cli, const struct uuid *author_id, struct str name, struct api_key *key,
                         struct key_text *text);

#endif
