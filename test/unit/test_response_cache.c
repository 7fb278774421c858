/* Tests when the response cache stores, returns and evicts responses. */
#include "api/response_cache.h"

#include <stdio.h>

#include "unit.h"

enum { NOW = 1000000 };

static struct response_key key_of(int64_t scope, const char *query, int64_t revision)
{
    static const int route;
    return (struct response_key){
        .route = &route, .scope = scope, .query = str_from_cstr(query), .revision = revision};
}

static void offer(struct response_cache *c, const struct response_key *key, const char *body, int64_t until)
{
    const struct cached_response response = {.body = str_from_cstr(body),
                                             .etag = STR("\"e\""),
                                             .content_type = STR("text/plain"),
                                             .facts = {1, 2, 3}};
    response_cache_store(c, key, &response, NOW, until);
}

/* Offers the response twice: the second time it is stored. */
static void store(struct response_cache *c, const struct response_key *key, const char *body)
{
    offer(c, key, body, INT64_MAX);
    offer(c, key, body, INT64_MAX);
}

static bool hits(struct response_cache *c, const struct response_key *key, int64_t now, const char *body)
{
    const struct cached_response *found = response_cache_look_up(c, key, now);
    if (!found)
        return false;
    assert_true(str_eq(found->body, str_from_cstr(body)));
    assert_true(str_eq(found->etag, STR("\"e\"")));
    assert_true(str_eq(found->content_type, STR("text/plain")));
    assert_int_equal(found->facts[2], 3);
    return true;
}

static bool misses(struct response_cache *c, const struct response_key *key, int64_t now)
{
    return !hits(c, key, now, "");
}

static void stores_a_response_on_its_second_request(void **state)
{
    (void)state;
    struct response_cache *c = response_cache_new(1 << 20);
    struct response_key key = key_of(1, "a=1", 5);
    assert_true(misses(c, &key, NOW));
    offer(c, &key, "body", INT64_MAX);
    assert_true(misses(c, &key, NOW));
    assert_int_equal(response_cache_get_counters(c).bytes, 0);
    offer(c, &key, "body", INT64_MAX);
    assert_true(hits(c, &key, NOW, "body"));
    assert_int_equal(response_cache_get_counters(c).stored, 1);
    assert_int_equal(response_cache_get_counters(c).hits, 1);
    assert_int_equal(response_cache_get_counters(c).misses, 2);
    response_cache_free(c);
}

/* The cache remembers the requests that it has seen in a set of bits, one bit per hash. If a new request
 * has the same bit as an earlier one, its response is stored at this first request. In a scan, this happens
 * to at most one request in eight. */
static void scan_of_new_requests_evicts_nothing(void **state)
{
    (void)state;
    enum { REQUESTS = 100000 };
    struct response_cache *c = response_cache_new(64 << 20);
    struct response_key hot = key_of(-1, "", 5);
    store(c, &hot, "hot");
    for (int64_t i = 0; i < REQUESTS; i++) {
        struct response_key key = key_of(i, "", 5);
        assert_true(misses(c, &key, NOW));
        offer(c, &key, "body", INT64_MAX);
    }
    assert_true(hits(c, &hot, NOW, "hot"));
    assert_in_range(response_cache_get_counters(c).stored, 1, REQUESTS / 8);
    assert_int_equal(response_cache_get_counters(c).evicted, 0);
    response_cache_free(c);
}

static void requests_of_a_repeated_cycle_are_all_stored(void **state)
{
    (void)state;
    enum { REQUESTS = 60000, ROUNDS = 3 };
    struct response_cache *c = response_cache_new(64 << 20);
    for (int round = 1; round <= ROUNDS; round++)
        for (int64_t i = 0; i < REQUESTS; i++) {
            struct response_key key = key_of(i, "", 5);
            bool hit = hits(c, &key, NOW, "body");
            assert_true(round < ROUNDS || hit);
            if (!hit)
                offer(c, &key, "body", INT64_MAX);
        }
    assert_int_equal(response_cache_get_counters(c).entries, REQUESTS);
    response_cache_free(c);
}

/* If a response with an older revision is stored, a response with a newer revision is stored at its first
 * request. This holds even after so many other requests that the bit of this request has been cleared. */
static void newer_revision_replaces_an_entry_immediately(void **state)
{
    (void)state;
    enum { OTHERS = 300000 };
    struct response_cache *c = response_cache_new(64 << 20);
    struct response_key key = key_of(-1, "", 5);
    store(c, &key, "old");
    for (int64_t i = 0; i < OTHERS; i++) {
        struct response_key other = key_of(i, "", 5);
        offer(c, &other, "body", INT64_MAX);
    }
    const size_t entries = response_cache_get_counters(c).entries;
    key.revision = 6;
    assert_true(misses(c, &key, NOW));
    offer(c, &key, "new", INT64_MAX);
    assert_true(hits(c, &key, NOW, "new"));
    key.revision = 5;
    assert_true(misses(c, &key, NOW));
    key.revision = 6;
    key.incarnation = 1;
    assert_true(misses(c, &key, NOW));
    assert_int_equal(response_cache_get_counters(c).entries, entries);
    assert_int_equal(response_cache_get_counters(c).evicted, 0);
    response_cache_free(c);
}

static void every_part_of_the_cache_key_distinguishes_requests(void **state)
{
    (void)state;
    struct response_cache *c = response_cache_new(1 << 20);
    struct response_key key = key_of(1, "a=1", 5), other;
    store(c, &key, "body");
    other = key_of(2, "a=1", 5);
    assert_true(misses(c, &other, NOW));
    other = key_of(1, "a=2", 5);
    assert_true(misses(c, &other, NOW));
    other = key;
    other.path = STR("a=1");
    assert_true(misses(c, &other, NOW));
    other = key;
    other.accept = STR("text/csv");
    assert_true(misses(c, &other, NOW));
    other = key;
    other.route = &c;
    assert_true(misses(c, &other, NOW));
    assert_true(hits(c, &key, NOW, "body"));
    response_cache_free(c);
}

static void entry_is_valid_from_when_it_is_stored_until_it_expires(void **state)
{
    (void)state;
    struct response_cache *c = response_cache_new(1 << 20);
    struct response_key key = key_of(1, "", 5);
    offer(c, &key, "body", NOW + 10);
    offer(c, &key, "body", NOW + 10);
    assert_true(hits(c, &key, NOW, "body"));
    assert_true(hits(c, &key, NOW + 9, "body"));
    assert_true(misses(c, &key, NOW + 10));
    assert_true(misses(c, &key, NOW - 1)); /* the clock was set back */
    offer(c, &key, "expired", NOW);        /* ignored */
    assert_true(hits(c, &key, NOW, "body"));
    response_cache_free(c);
}

static void evicts_the_least_recently_used_entry(void **state)
{
    (void)state;
    char body[901] = "", query[16];
    memset(body, 'x', sizeof body - 1);
    struct response_cache *c = response_cache_new(20000);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(query, sizeof query, "%d", i);
        struct response_key key = key_of(1, query, 1), first = key_of(1, "0", 1);
        store(c, &key, body);
        assert_true(hits(c, &first, NOW, body));
        assert_true(response_cache_get_counters(c).bytes <= 20000);
    }
    struct response_key second = key_of(1, "1", 1), last = key_of(1, "39", 1);
    assert_true(misses(c, &second, NOW));
    assert_true(hits(c, &last, NOW, body));
    assert_true(response_cache_get_counters(c).entries > 10);
    assert_true(response_cache_get_counters(c).stored >= 40);
    assert_int_equal(response_cache_get_counters(c).entries + response_cache_get_counters(c).evicted, 40);
    response_cache_free(c);
}

static void body_outlives_its_entry(void **state)
{
    (void)state;
    struct response_cache *c = response_cache_new(1 << 20);
    struct response_key key = key_of(1, "", 5);
    store(c, &key, "body");
    struct shared_body *held = shared_body_acquire(response_cache_look_up(c, &key, NOW)->shared_body);
    key.revision = 6;
    store(c, &key, "other");
    response_cache_free(c);
    assert_true(str_eq(shared_body_text(held), STR("body")));
    shared_body_release(held);
}

static void oversized_response_is_not_stored(void **state)
{
    (void)state;
    char body[1001] = "";
    memset(body, 'x', sizeof body - 1);
    struct response_key key = key_of(1, "", 5);
    const size_t sizes[] = {0, 1, 7999, 8000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct response_cache *c = response_cache_new(sizes[i]);
        store(c, &key, body);
        assert_int_equal(hits(c, &key, NOW, body), sizes[i] == 8000);
        assert_true(response_cache_get_counters(c).bytes <= sizes[i]);
        response_cache_free(c);
    }
}

static void compressed_body_counts_toward_the_limit_of_the_cache(void **state)
{
    (void)state;
    struct response_cache *c = response_cache_new(4096);
    const struct response_key old = key_of(1, "", 5), key = key_of(2, "", 5);
    char text[401] = "";
    memset(text, 'x', sizeof text - 1);
    store(c, &old, text);
    store(c, &key, text);
    const size_t before = response_cache_get_counters(c).bytes;
    struct shared_body *body = response_cache_look_up(c, &key, NOW)->shared_body;
    shared_body_set_compressed(body, shared_body_new(str_make(text, 300)));
    for (int i = 0; i < 2; i++) {
        assert_non_null(response_cache_look_up(c, &key, NOW));
        assert_int_equal(response_cache_get_counters(c).bytes, before + 300);
    }
    assert_int_equal(response_cache_get_counters(c).entries, 2);
    response_cache_free(c);

    c = response_cache_new(4096);
    store(c, &old, text);
    store(c, &key, text);
    static char large[4000];
    shared_body_set_compressed(response_cache_look_up(c, &key, NOW)->shared_body,
                               shared_body_new(str_make(large, sizeof large)));
    assert_non_null(response_cache_look_up(c, &key, NOW)); /* evicts `old`, but not itself */
    assert_int_equal(response_cache_get_counters(c).entries, 1);
    assert_null(response_cache_look_up(c, &old, NOW));
    response_cache_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_a_response_on_its_second_request),
        cmocka_unit_test(scan_of_new_requests_evicts_nothing),
        cmocka_unit_test(requests_of_a_repeated_cycle_are_all_stored),
        cmocka_unit_test(newer_revision_replaces_an_entry_immediately),
        cmocka_unit_test(every_part_of_the_cache_key_distinguishes_requests),
        cmocka_unit_test(entry_is_valid_from_when_it_is_stored_until_it_expires),
        cmocka_unit_test(evicts_the_least_recently_used_entry),
        cmocka_unit_test(body_outlives_its_entry),
        cmocka_unit_test(oversized_response_is_not_stored),
        cmocka_unit_test(compressed_body_counts_toward_the_limit_of_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
