/* One configuration value: text to member of struct config and back. */
#ifndef VT_CONFIG_VALUE_H
#define VT_CONFIG_VALUE_H

#include "config/config.h"

/* Parses `text` and stores the value. On failure, `c` does not change and `why` gets a text such as "must be
 * …". */
MUST_USE bool value_set(struct config *c, const struct config_key *key, struct str text, struct buf *why);

/* Appends the current value in the syntax that value_set() parses. */
void value_print(const struct config *c, const struct config_key *key, struct buf *out);

bool value_differs(const struct config *a, const struct config *b, const struct config_key *key);
void value_swap(struct config *a, struct config *b, const struct config_key *key);

/* Copies the value. `to` must not own a value for this key. */
void value_copy(struct config *to, const struct config *from, const struct config_key *key);

/* Frees the memory of the value. */
void value_free(struct config *c, const struct config_key *key);

#endif
