/* Converts one configuration value: from text to a member of struct config, and back. */
#ifndef VT_CONFIG_VALUE_H
#define VT_CONFIG_VALUE_H

#include "config/config.h"

/* Parses `text` and stores the value. On failure, returns false, does not change `c`, and appends a text such
 * as "must be …" to `why`. */
MUST_USE bool value_set(struct config *c, const struct config_key *key, struct str text, struct buf *why);

/* Appends the current value in the syntax that value_set() parses. */
void value_print(const struct config *c, const struct config_key *key, struct buf *out);

/* Returns true if the two configurations have different values for the key. */
bool value_differs(const struct config *a, const struct config *b, const struct config_key *key);

/* Exchanges the values of the key. */
void value_swap(struct config *a, struct config *b, const struct config_key *key);

/* Copies the value. The old value in `to` is not freed, so `to` must not contain one. */
void value_copy(struct config *to, const struct config *from, const struct config_key *key);

/* Frees the memory of the value. */
void value_free(struct config *c, const struct config_key *key);

#endif
