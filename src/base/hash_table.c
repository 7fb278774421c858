/* Hash table. When there are as many entries as buckets, the number of buckets is multiplied by four. */
#include "base/hash_table.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 64, GROWTH = 4 };

void hash_table_init(struct hash_table *table, hash_matches_fn *matches)
{
    *table = (struct hash_table){.matches = matches, .bucket_count = FIRST_BUCKETS};
    table->buckets = xcalloc(table->bucket_count, sizeof(struct hash_link *));
}

void hash_table_fini(struct hash_table *table)
{
    free(table->buckets);
    *table = (struct hash_table){0};
}

void hash_table_clear(struct hash_table *table)
{
    memset(table->buckets, 0, table->bucket_count * sizeof(struct hash_link *));
    table->count = 0;
}

static struct hash_link **bucket_of(const struct hash_table *table, uint64_t hash)
{
    return &table->buckets[hash & (table->bucket_count - 1)];
}

struct hash_link *hash_table_find(const struct hash_table *table, uint64_t hash, const void *key)
{
    for (struct hash_link *link = *bucket_of(table, hash); link; link = link->next)
        if (link->hash == hash && table->matches(link, key))
            return link;
    return NULL;
}

static void push(struct hash_table *table, struct hash_link *link)
{
    struct hash_link **bucket = bucket_of(table, link->hash);
    link->next = *bucket;
    *bucket = link;
}

static void grow(struct hash_table *table)
{
    struct hash_link **old = table->buckets;
    const size_t old_count = table->bucket_count;
    struct hash_link **buckets = try_calloc(old_count * GROWTH, sizeof(struct hash_link *));
    if (!buckets)
        return;
    table->buckets = buckets;
    table->bucket_count = old_count * GROWTH;
    for (size_t i = 0; i < old_count; i++)
        for (struct hash_link *link = old[i], *next; link; link = next) {
            next = link->next;
            push(table, link);
        }
    free(old);
}

void hash_table_add(struct hash_table *table, struct hash_link *link, uint64_t hash)
{
    if (table->count >= table->bucket_count)
        grow(table);
    link->hash = hash;
    push(table, link);
    table->count++;
}

void hash_table_remove(struct hash_table *table, struct hash_link *link)
{
    struct hash_link **at = bucket_of(table, link->hash);
    while (*at != link) {
        CHECK(*at);
        at = &(*at)->next;
    }
    *at = link->next;
    table->count--;
}

struct hash_link *hash_table_next(const struct hash_table *table, const struct hash_link *link)
{
    if (link && link->next)
        return link->next;
    size_t bucket = link ? (link->hash & (table->bucket_count - 1)) + 1 : 0;
    while (bucket < table->bucket_count && !table->buckets[bucket])
        bucket++;
    return bucket < table->bucket_count ? table->buckets[bucket] : NULL;
}
