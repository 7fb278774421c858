/* The key cache: results of store_resolve_key() for recently used API keys. An entry may be outdated: pass it
 * to store_resolve_key(), which brings it up to date. A revoked key is therefore rejected at the next
 * request.
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

/* Creates a cache of at most about 11 MB. The system allocates the memory when entries are first used. */
struct key_cache *key_cache_new(void);

/* Frees the cache. `c` may be NULL. */
void key_cache_free(struct key_cache *c);

/* Computes the tag that identifies an API key in the cache. */
void key_cache_compute_tag(const struct key_cache *c, struct str key, uint8_t tag[KEY_TAG_LEN]);

struct known_key {
    uint8_t hash[KEY_HASH_LEN];
    struct key_owner owner; /* the result of the most recent store_resolve_key() */
};

/* Looks up an entry. Returns false if there is no entry with this tag. */
MUST_USE bool key_cache_lookup(const struct key_cache *c, const uint8_t tag[KEY_TAG_LEN],
                               struct known_key *out);

/* Stores an entry and replaces the one with this tag, if any. Call only for keys that exist in the store. */
void key_cache_store(struct key_cache *c, const uint8_t tag[KEY_TAG_LEN], const struct known_key *key);

#endif
