/* A chained hash table. The caller allocates and frees the entries. Each entry contains a struct hash_link;
 * LIST_ENTRY() of base/list.h converts a pointer to this link to a pointer to the entry. Entries never
 * move. Adding an entry cannot fail: if there is no memory for more buckets, the chains get longer. */
#ifndef VT_BASE_HASH_TABLE_H
#define VT_BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_link {
    struct hash_link *next; /* next entry in the same bucket */
    uint64_t hash;
};

/* Returns true if the entry has this key. It is called only for entries whose hash equals the hash of the
 * key. */
typedef bool hash_matches_fn(const struct hash_link *link, const void *key);

struct hash_table {
    hash_matches_fn *matches;
    struct hash_link **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;        /* entries */
};

/* Initializes an empty table. Aborts the process if out of memory. */
void hash_table_init(struct hash_table *table, hash_matches_fn *matches);

/* Frees the buckets, but no entries. The caller may have freed the entries before. */
void hash_table_fini(struct hash_table *table);

/* Removes all entries without freeing them. The caller may have freed them before. */
void hash_table_clear(struct hash_table *table);

/* Returns the entry that has this key, or NULL. `hash` is the key's hash. Compute it with hash_64() or
 * hash_i64(), because its low bits select the bucket. */
struct hash_link *hash_table_find(const struct hash_table *table, uint64_t hash, const void *key);

/* Adds an entry. Precondition: no entry in the table has the same key. */
void hash_table_add(struct hash_table *table, struct hash_link *link, uint64_t hash);

/* Removes an entry. Precondition: the entry is in the table. */
void hash_table_remove(struct hash_table *table, struct hash_link *link);

/* Iterates over all entries in no particular order: returns the first entry if `link` is NULL, else the entry
 * after `link`. Returns NULL at the end. Do not add or remove entries during an iteration. */
struct hash_link *hash_table_next(const struct hash_table *table, const struct hash_link *link);

#endif
