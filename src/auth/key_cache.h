/* The key cache: results of store_find_key() for recently used API keys. An entry is valid for one version of
 * the store (store_get_version()). Every commit, also of another process, changes the version and so
 * invalidates all entries. A revoked key is therefore rejected at the next request.
 *
 * Entries are identified by a tag: the 128-bit SipHash-2-4 of the API key, computed with a secret of this
 * process. Computing a tag takes a tenth of the time of the checksum and the SHA-256 that a lookup in the
 * store needs. Without the secret, an attacker cannot find another text with the same tag, and the tag
 * reveals nothing about the key. */
#ifndef VT_AUTH_KEY_CACHE_H
#define VT_AUTH_KEY_CACHE_H

#include "store/read.h"

struct key_cache;

enum { KEY_TAG_LEN = 16 };

/* Creates a cache of at most about 8 MB. The system allocates the memory when entries are first used. */
struct key_cache *key_cache_new(void);

/* `c` may be NULL. */
void key_cache_free(struct key_cache *c);

/* Computes the tag of an API key. */
void key_cache_tag(const struct key_cache *c, struct str key, uint8_t tag[KEY_TAG_LEN]);

/* Looks up an entry. Returns false if there is no entry with this tag for this version of the store. */
MUST_USE bool key_cache_lookup(const struct key_cache *c, const uint8_t tag[KEY_TAG_LEN], uint64_t version,
                               struct key_owner *out);

/* Stores an entry. `version` is the store_get_version() from before the key was looked up in the store. Call
 * only for keys that exist in the store. */
void key_cache_store(struct key_cache *c, const uint8_t tag[KEY_TAG_LEN], uint64_t version,
                     const struct key_owner *owner);

#endif
