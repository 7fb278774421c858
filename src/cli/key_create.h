/* Creates API keys, for `key create` and `demo`. */
#ifndef VT_CLI_KEY_CREATE_H
#define VT_CLI_KEY_CREATE_H

#include "auth/api_key.h"
#include "cli/cli.h"

/* Creates a key and commits it to the configured database. Returns CLI_DONE if the key was committed; `text`
 * then contains the key, which may be shown. Otherwise an error has been printed. `key->name` points into
 * `name`. */
enum cli_exit key_create(struct cli *cli, const struct uuid *author_id, struct str name, struct api_key *key,
                         struct key_text *text);

#endif
