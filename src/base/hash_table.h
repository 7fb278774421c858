/* A chained hash table of entries that the caller allocates and frees. An entry embeds a struct hash_link;
 * LIST_ENTRY() of base/list.h leads from the link to the entry. Entries never move. Adding cannot fail: if
 * out of memory for more buckets, the chains get longer. */
#ifndef VT_BASE_HASH_TABLE_H
#define VT_BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_link {
    struct hash_link *next; /* in the same bucket */
    uint64_t hash;
};

/* True if the entry has this key. Called only for entries whose hash equals that of the key. */
typedef bool hash_matches_fn(const struct hash_link *link, const void *key);

struct hash_table {
    hash_matches_fn *matches;
    struct hash_link **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;        /* entries */
};

/* Ends the process if out of memory. */
void hash_table_init(struct hash_table *table, hash_matches_fn *matches);

/* Frees the buckets. Both leave the entries to the caller, who may have freed them before. */
void hash_table_fini(struct hash_table *table);
void hash_table_clear(struct hash_table *table);

/* Returns NULL if no entry has this key. The low bits of `hash` select the bucket: use hash_64() or
 * hash_i64() of base/hash.h. */
struct hash_link *hash_table_find(const struct hash_table *table, uint64_t hash, const void *key);

/* Precondition: no entry in the table has the same key. */
void hash_table_add(struct hash_table *table, struct hash_link *link, uint64_t hash);

/* Precondition: the entry is in the table. */
void hash_table_remove(struct hash_table *table, struct hash_link *link);

/* Iterates in no particular order: returns the first entry for NULL, else the entry after `link`, and NULL at
 * the end. Adding or removing entries ends the iteration. */
struct hash_link *hash_table_next(const struct hash_table *table, const struct hash_link *link);

#endif
