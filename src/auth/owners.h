/* Whose keys were asked for lately: what store_find_key() found, for as long as nobody has committed anything
 * (store_version()). So a key that was revoked by another process is refused at the next request. */
#ifndef VT_AUTH_OWNERS_H
#define VT_AUTH_OWNERS_H

#include "store/read.h"

struct owners;

/* Takes about 5 MB as far as it is used, and never more. */
struct owners *owners_new(void);
void owners_free(struct owners *o); /* NULL is harmless */

/* False: not known for this version of the store. */
MUST_USE bool owners_get(const struct owners *o, const uint8_t hash[KEY_HASH_LEN], uint64_t version,
                         struct key_owner *out);

/* `version` is of before the look-up. */
void owners_put(struct owners *o, const uint8_t hash[KEY_HASH_LEN], uint64_t version,
                const struct key_owner *owner);

#endif
