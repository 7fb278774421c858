/* Making an API key for an author: what `key create` and `demo` share. */
#ifndef VT_CLI_KEY_CREATE_H
#define VT_CLI_KEY_CREATE_H

#include "auth/keys.h"
#include "cli/cli.h"

/* Creates and stores a key in a transaction of its own. CLI_DONE only when it is on disk: then it may be
 * shown. `key->name` borrows `name`. */
enum cli_exit key_create(struct store *store, const struct config *config, const struct uuid *author_id,
                         struct str name, struct api_key *key, struct key_text *text);

#endif
