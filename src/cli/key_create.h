/* Creates API keys, for `key create` and `demo`. */
#ifndef VT_CLI_KEY_CREATE_H
#define VT_CLI_KEY_CREATE_H

#include "auth/api_key.h"
#include "base/arena.h"
#include "cli/cli.h"
#include "store/store.h"

struct new_key {
    struct api_key key;   /* key.name points into the name passed to new_key_init() */
    struct key_text text; /* the key itself, which is shown once */
    uint8_t hash[KEY_HASH_LEN];
    bool has_too_many; /* the author has the maximum number of live keys */
};

/* Generates a key. The caller sets key.author_row before inserting it and calls new_key_wipe() at the end.
 * Returns false after printing an error if `name` is not allowed. */
MUST_USE bool new_key_init(struct new_key *n, const struct config *config, struct str name);

/* Inserts the key in the caller's transaction. Report an error with new_key_print_error(). */
MUST_USE enum err new_key_insert(struct store *store, struct new_key *n);

/* Prints the error of a transaction that called new_key_insert(), unless it was printed already. Returns the
 * exit status. */
enum cli_exit new_key_print_error(const struct new_key *n, enum err err);

/* Overwrites the key in memory. */
void new_key_wipe(struct new_key *n);

#endif
