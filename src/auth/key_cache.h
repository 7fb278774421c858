/* The key cache: results of store_find_key() for recently used API keys. An entry is valid for one version of
 * the store (store_version()): every commit invalidates all entries, so a key that another process revokes is
 * rejected at the next request.
 *
 * An entry is found by a tag: 128 bits of SipHash-2-4 of the key under a secret of this process. It costs a
 * tenth of the checksum and the SHA-256 that a lookup in the store needs. Without the secret an attacker
 * cannot find another text with the same tag, and the tag reveals nothing about the key. */
#ifndef VT_AUTH_KEY_CACHE_H
#define VT_AUTH_KEY_CACHE_H

#include "store/read.h"

struct key_cache;

enum { KEY_TAG_LEN = 16 };

/* About 8 MB, allocated by the system as entries are used; never more. */
struct key_cache *key_cache_new(void);
void key_cache_free(struct key_cache *c); /* NULL is allowed */

void key_cache_tag(const struct key_cache *c, struct str key, uint8_t tag[KEY_TAG_LEN]);

/* Returns false if there is no entry for this version of the store. */
MUST_USE bool key_cache_lookup(const struct key_cache *c, const uint8_t tag[KEY_TAG_LEN], uint64_t version,
                               struct key_owner *out);

/* `version`: store_version() before the key was looked up in the store. Only for keys that the store has. */
void key_cache_store(struct key_cache *c, const uint8_t tag[KEY_TAG_LEN], uint64_t version,
                     const struct key_owner *owner);

#endif
