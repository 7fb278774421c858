/* Creating an API key: shared by `key create` and `demo`. */
#ifndef VT_CLI_KEY_CREATE_H
#define VT_CLI_KEY_CREATE_H

#include "auth/api_key.h"
#include "cli/cli.h"

/* Creates a key and commits it to the configured database. CLI_DONE: `text` holds the key, which may be shown
 * now; else the reason has been printed. `key->name` borrows `name`. */
enum cli_exit key_create(struct cli *cli, const struct uuid *author_id, struct str name, struct api_key *key,
                         struct key_text *text);

#endif
