/* Tests the hash table, also by comparing it with a plain array after random operations. */
#include "unit.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "base/list.h"

enum { KEYS = 600, OPERATIONS = 20000 };

struct entry {
    struct hash_link link;
    int64_t key;
    bool added, seen;
};

static struct entry *entry_of(const struct hash_link *link)
{
    return LIST_ENTRY((uintptr_t)link, struct entry, link);
}

static bool has_key(const struct hash_link *link, const void *key)
{
    return entry_of(link)->key == *(const int64_t *)key;
}

/* Gives many keys the same hash, so that the table must compare the keys. */
static uint64_t weak_hash(int64_t key)
{
    return hash_i64(key / 3);
}

static bool finds_exactly_the_added(const struct hash_table *t, const struct entry entries[KEYS])
{
    for (int64_t i = 0; i < KEYS; i++) {
        const struct hash_link *link = hash_table_find(t, weak_hash(i), &i);
        if ((link ? entry_of(link) : NULL) != (entries[i].added ? &entries[i] : NULL))
            return false;
    }
    return true;
}

static void lookup_matches_a_plain_array(void **state)
{
    static struct entry entries[KEYS];
    struct hash_table t;
    (void)state;
    hash_table_init(&t, has_key);
    srandom(19);
    for (int64_t i = 0; i < KEYS; i++)
        entries[i].key = i;
    for (int n = 0; n < OPERATIONS; n++) {
        struct entry *e = &entries[random() % KEYS];
        if (e->added)
            hash_table_remove(&t, &e->link);
        else
            hash_table_add(&t, &e->link, weak_hash(e->key));
        e->added = !e->added;
        if (n % 500 == 0)
            assert_true(finds_exactly_the_added(&t, entries));
    }
    size_t added = 0;
    for (int i = 0; i < KEYS; i++)
        added += entries[i].added;
    assert_int_equal(t.count, added);
    hash_table_fini(&t);
}

static struct hash_table filled(struct entry entries[KEYS])
{
    struct hash_table t;
    hash_table_init(&t, has_key);
    for (int64_t i = 0; i < KEYS; i++) {
        entries[i] = (struct entry){.key = i, .added = true};
        hash_table_add(&t, &entries[i].link, weak_hash(i));
    }
    return t;
}

static void iterates_over_each_entry_once(void **state)
{
    static struct entry entries[KEYS];
    struct hash_table t = filled(entries);
    int count = 0;
    (void)state;
    for (struct hash_link *link = hash_table_next(&t, NULL); link; link = hash_table_next(&t, link)) {
        assert_false(entry_of(link)->seen);
        entry_of(link)->seen = true;
        count++;
    }
    assert_int_equal(count, KEYS);
    hash_table_clear(&t);
    assert_int_equal(t.count, 0);
    assert_null(hash_table_next(&t, NULL));
    assert_null(hash_table_find(&t, weak_hash(5), &(int64_t){5}));
    hash_table_add(&t, &entries[5].link, weak_hash(5));
    assert_ptr_equal(hash_table_find(&t, weak_hash(5), &(int64_t){5}), &entries[5].link);
    hash_table_fini(&t);
}

static void holds_more_entries_than_buckets_if_out_of_memory(void **state)
{
    static struct entry entries[KEYS];
    struct hash_table t;
    (void)state;
    hash_table_init(&t, has_key);
    const size_t buckets = t.bucket_count;
    fault_arm(1, true);
    for (int64_t i = 0; i < KEYS; i++) {
        entries[i] = (struct entry){.key = i, .added = true};
        hash_table_add(&t, &entries[i].link, weak_hash(i));
    }
    assert_true(fault_count() > 0);
    fault_arm(0, false);
    assert_int_equal(t.bucket_count, buckets);
    assert_true(finds_exactly_the_added(&t, entries));
    hash_table_fini(&t);
}

static void hashes_of_integers_differ_in_their_low_bits(void **state)
{
    static int load[1024];
    (void)state;
    for (int64_t stride = 1; stride <= INT64_C(1) << 40; stride *= 2) {
        int most = 0;
        memset(load, 0, sizeof load);
        for (int64_t i = 0; i < 1024; i++) {
            const int n = ++load[hash_i64(i * stride) % 1024];
            most = n > most ? n : most;
        }
        assert_in_range(most, 1, 16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookup_matches_a_plain_array),
        cmocka_unit_test(iterates_over_each_entry_once),
        cmocka_unit_test(holds_more_entries_than_buckets_if_out_of_memory),
        cmocka_unit_test(hashes_of_integers_differ_in_their_low_bits),
    };
    return cmocka_run_group_tests_name("hash_table", tests, NULL, NULL);
}
