/* Whose keys were asked for lately: what store_find_key() found, for as long as nobody has committed anything
 * (store_version()). So a key that was revoked by another process is refused at the next request.
 *
 * A key is known again by its tag: 128 bits of SipHash-2-4 under a secret of this process, a tenth of the
 * work of the checksum and SHA-256 that the store wants. Without the secret nobody can make another text of
 * the same tag, and the tag tells nothing of the key. */
#ifndef VT_AUTH_KEY_CACHE_H
#define VT_AUTH_KEY_CACHE_H

#include "store/read.h"

struct key_cache;

enum { KEY_TAG_LEN = 16 };

/* Takes about 8 MB as far as it is used, and never more. */
struct key_cache *key_cache_new(void);
void key_cache_free(struct key_cache *o); /* NULL is harmless */

void key_cache_tag(const struct key_cache *o, struct str key, uint8_t tag[KEY_TAG_LEN]);

/* False: not known for this version of the store. */
MUST_USE bool key_cache_lookup(const struct key_cache *o, const uint8_t tag[KEY_TAG_LEN], uint64_t version,
                               struct key_owner *out);

/* `version` is of before the look-up. Only keys that the store knows. */
void key_cache_store(struct key_cache *o, const uint8_t tag[KEY_TAG_LEN], uint64_t version,
                     const struct key_owner *owner);

#endif
