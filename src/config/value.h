/* One configuration value: text to member of struct config and back. */
#ifndef VT_CONFIG_VALUE_H
#define VT_CONFIG_VALUE_H

#include "config/config.h"

/* Stores `text` in the key's member. On failure the member is untouched and `why` says what the key wants. */
MUST_USE bool value_set(struct config *c, const struct config_key *key, struct str text, struct buf *why);

/* Appends the value in force as value_set() would read it. */
void value_print(const struct config *c, const struct config_key *key, struct buf *out);

bool value_differs(const struct config *a, const struct config *b, const struct config_key *key);
void value_swap(struct config *a, struct config *b, const struct config_key *key);

/* The member of `to`, which owns nothing yet, gets a value of its own. */
void value_copy(struct config *to, const struct config *from, const struct config_key *key);

/* Frees what the member owns. */
void value_free(struct config *c, const struct config_key *key);

#endif
