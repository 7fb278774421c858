/* The page cache against its contract (sqlite.org/c3ref/pcache_methods2.html), and against a model of it. */
#include "store/page_cache.h"

#include "lib/random.h"
#include "unit.h"

#include <sqlite3.h>

enum { PAGE_BYTES = 512, EXTRA_BYTES = 200, KEYS = 300, ONLY_FIND = 0, IF_EASY = 1, BY_ALL_MEANS = 2 };

#define M page_cache_methods

static sqlite3_pcache *make(int most, bool is_purgeable)
{
    sqlite3_pcache *c = M.xCreate(PAGE_BYTES, EXTRA_BYTES, is_purgeable);
    assert_non_null(c);
    M.xCachesize(c, most);
    return c;
}

/* What SQLite does with a new page: it finds no `pExtra` of its own there, and fills both. */
static void fill(sqlite3_pcache_page *page, unsigned key)
{
    void *none;
    memcpy(&none, page->pExtra, sizeof none);
    assert_null(none);
    memset(page->pBuf, (int)(key % 251 + 1), PAGE_BYTES);
    memset(page->pExtra, (int)(key % 251 + 1), EXTRA_BYTES);
}

static void assert_filled(const sqlite3_pcache_page *page, unsigned key)
{
    const unsigned char *content = page->pBuf, *extra = page->pExtra;
    for (int i = 0; i < PAGE_BYTES; i++)
        assert_int_equal(content[i], key % 251 + 1);
    for (int i = 0; i < EXTRA_BYTES; i++)
        assert_int_equal(extra[i], key % 251 + 1);
}

static sqlite3_pcache_page *get_new(sqlite3_pcache *c, unsigned key)
{
    assert_null(M.xFetch(c, key, ONLY_FIND));
    sqlite3_pcache_page *page = M.xFetch(c, key, BY_ALL_MEANS);
    assert_non_null(page);
    fill(page, key);
    return page;
}

static void get_new_until(sqlite3_pcache *c, unsigned count)
{
    for (unsigned key = 1; key <= count; key++)
        M.xUnpin(c, get_new(c, key), false);
}

static bool is_there(sqlite3_pcache *c, unsigned key)
{
    sqlite3_pcache_page *page = M.xFetch(c, key, ONLY_FIND);
    if (!page)
        return false;
    assert_filled(page, key);
    M.xUnpin(c, page, false);
    return true;
}

static void a_page_keeps_its_place_and_content(void **state)
{
    (void)state;
    sqlite3_pcache *c = make(100, true);
    sqlite3_pcache_page *page = get_new(c, 7);
    assert_int_equal((uintptr_t)page->pBuf % 8, 0);
    assert_int_equal((uintptr_t)page->pExtra % 8, 0);
    assert_ptr_equal(M.xFetch(c, 7, IF_EASY), page); /* held, and asked for again */
    M.xUnpin(c, page, false);
    assert_ptr_equal(M.xFetch(c, 7, ONLY_FIND), page);
    assert_filled(page, 7);
    assert_int_equal(M.xPagecount(c), 1);
    M.xUnpin(c, page, true);
    assert_null(M.xFetch(c, 7, ONLY_FIND));
    assert_int_equal(M.xPagecount(c), 0);
    M.xDestroy(c);
}

static void what_was_used_longest_ago_makes_room(void **state)
{
    (void)state;
    sqlite3_pcache *c = make(50, true);
    get_new_until(c, 50);
    assert_true(is_there(c, 1));
    sqlite3_pcache_page *page = M.xFetch(c, 51, IF_EASY);
    assert_non_null(page);
    fill(page, 51);
    M.xUnpin(c, page, false);
    assert_int_equal(M.xPagecount(c), 50);
    assert_false(is_there(c, 2));
    assert_true(is_there(c, 1));
    assert_true(is_there(c, 51));
    M.xDestroy(c);
}

static void held_pages_are_never_taken(void **state)
{
    (void)state;
    sqlite3_pcache *c = make(50, true);
    sqlite3_pcache_page *pages[61];
    for (unsigned key = 1; key <= 45; key++)
        pages[key] = get_new(c, key);
    /* 45 of 50: SQLite is asked to write some first, and gets more if it cannot. */
    assert_null(M.xFetch(c, 46, IF_EASY));
    for (unsigned key = 46; key <= 60; key++)
        pages[key] = get_new(c, key);
    for (unsigned key = 1; key <= 60; key++) {
        assert_filled(pages[key], key);
        M.xUnpin(c, pages[key], false);
    }
    assert_int_equal(M.xPagecount(c), 50);
    M.xDestroy(c);
}

static void all_is_forgotten_at_once(void **state)
{
    (void)state;
    sqlite3_pcache *c = make(200, true);
    for (int round = 0; round < 3; round++) {
        get_new_until(c, 200);
        assert_int_equal(M.xPagecount(c), 200);
        M.xTruncate(c, 1);
        assert_int_equal(M.xPagecount(c), 0);
        for (unsigned key = 1; key <= 200; key++)
            assert_null(M.xFetch(c, key, ONLY_FIND));
    }
    get_new_until(c, 10); /* the same numbers, as new pages */
    assert_int_equal(M.xPagecount(c), 10);
    assert_null(M.xFetch(c, 11, ONLY_FIND));
    M.xDestroy(c);
}

static void the_end_is_cut_off(void **state)
{
    (void)state;
    sqlite3_pcache *c = make(200, true);
    get_new_until(c, 100);
    sqlite3_pcache_page *held = M.xFetch(c, 1, ONLY_FIND);
    assert_non_null(M.xFetch(c, 90, ONLY_FIND)); /* held, and let go by this: */
    M.xTruncate(c, 80);
    assert_int_equal(M.xPagecount(c), 79);
    assert_true(is_there(c, 79));
    assert_null(M.xFetch(c, 80, ONLY_FIND));
    assert_null(M.xFetch(c, 90, ONLY_FIND));
    M.xTruncate(c, 2); /* a rollback, while page 1 is held */
    assert_int_equal(M.xPagecount(c), 1);
    assert_filled(held, 1);
    M.xTruncate(c, 1);
    assert_int_equal(M.xPagecount(c), 0);
    get_new_until(c, 100);
    M.xDestroy(c);
}

static void what_is_cut_off_is_held_no_more(void **state)
{
    (void)state;
    sqlite3_pcache *c = make(10, true);
    for (unsigned key = 1; key <= 9; key++)
        (void)get_new(c, key);
    assert_null(M.xFetch(c, 10, IF_EASY));
    M.xTruncate(c, 1);
    assert_non_null(M.xFetch(c, 10, IF_EASY));
    M.xDestroy(c);
}

static void a_page_gets_another_number(void **state)
{
    (void)state;
    sqlite3_pcache *c = make(200, true);
    get_new_until(c, 3);
    sqlite3_pcache_page *page = M.xFetch(c, 1, ONLY_FIND);
    M.xRekey(c, page, 1, 2); /* what was 2 is gone */
    assert_int_equal(M.xPagecount(c), 2);
    assert_null(M.xFetch(c, 1, ONLY_FIND));
    assert_ptr_equal(M.xFetch(c, 2, ONLY_FIND), page);
    assert_filled(page, 1);
    M.xUnpin(c, page, false);
    /* Also onto a number that was forgotten. */
    M.xTruncate(c, 1);
    page = get_new(c, 9);
    M.xRekey(c, page, 9, 3);
    assert_ptr_equal(M.xFetch(c, 3, ONLY_FIND), page);
    assert_null(M.xFetch(c, 9, ONLY_FIND));
    M.xUnpin(c, page, false);
    M.xDestroy(c);
}

/* A database in memory: every page is held, and there is no bound. */
static void the_only_copy_is_kept(void **state)
{
    (void)state;
    sqlite3_pcache *c = make(10, false);
    sqlite3_pcache_page *pages[KEYS + 1];
    for (unsigned key = 1; key <= KEYS; key++) {
        pages[key] = M.xFetch(c, key, IF_EASY);
        assert_non_null(pages[key]);
        fill(pages[key], key);
    }
    for (unsigned key = 1; key <= KEYS; key++)
        assert_filled(pages[key], key);
    M.xUnpin(c, pages[5], true);
    assert_int_equal(M.xPagecount(c), KEYS - 1);
    M.xDestroy(c);
}

/* --- against a model: which pages are held; of the others, which content each may have --- */

struct model {
    sqlite3_pcache *cache;
    sqlite3_pcache_page *held[KEYS + 1];
    bool may_be_there[KEYS + 1];
    unsigned filled[KEYS + 1]; /* with the bytes of which key */
};

static void model_fetch(struct model *m, unsigned key, int create)
{
    sqlite3_pcache_page *page = M.xFetch(m->cache, key, create);
    if (m->held[key]) {
        assert_ptr_equal(page, m->held[key]);
        return;
    }
    assert_true(page || create != BY_ALL_MEANS);
    if (!page)
        return;
    void *extra;
    memcpy(&extra, page->pExtra, sizeof extra);
    if (!extra) {
        assert_int_not_equal(create, ONLY_FIND);
        fill(page, key);
        m->filled[key] = key;
    } else {
        assert_true(m->may_be_there[key]);
        assert_filled(page, m->filled[key]);
    }
    m->held[key] = page;
    m->may_be_there[key] = true;
}

static void model_unpin(struct model *m, unsigned key, bool is_discarded)
{
    if (!m->held[key])
        return;
    assert_filled(m->held[key], m->filled[key]);
    M.xUnpin(m->cache, m->held[key], is_discarded);
    m->held[key] = NULL;
    m->may_be_there[key] = !is_discarded;
}

static void model_rekey(struct model *m, unsigned from, unsigned to)
{
    if (!m->held[from] || m->held[to] || from == to)
        return;
    M.xRekey(m->cache, m->held[from], from, to);
    m->held[to] = m->held[from];
    m->filled[to] = m->filled[from];
    m->may_be_there[to] = true;
    m->held[from] = NULL;
    m->may_be_there[from] = false;
}

static void model_truncate(struct model *m, unsigned limit)
{
    M.xTruncate(m->cache, limit);
    for (unsigned key = limit; key <= KEYS; key++) {
        m->held[key] = NULL;
        m->may_be_there[key] = false;
    }
}

static void no_page_is_ever_another_one(void **state)
{
    (void)state;
    for (int most = 1; most <= 200; most += 40) {
        struct model m = {.cache = make(most, true)};
        for (int i = 0; i < 60000; i++) {
            unsigned key = (unsigned)random_below(KEYS) + 1;
            switch (random_below(200)) {
            case 0: model_truncate(&m, key); break;
            case 1:
                for (unsigned k = 1; k <= KEYS; k++)
                    model_unpin(&m, k, false);
                model_truncate(&m, 1);
                break;
            case 2: model_rekey(&m, key, (unsigned)random_below(KEYS) + 1); break;
            case 3: model_unpin(&m, key, true); break;
            case 4: M.xShrink(m.cache); break;
            default:
                if (random_below(3))
                    model_unpin(&m, key, false);
                else
                    model_fetch(&m, key, (int)random_below(3));
            }
            int held = 0;
            for (unsigned k = 1; k <= KEYS; k++)
                held += m.held[k] != NULL;
            int count = M.xPagecount(m.cache);
            assert_true(count >= held && count <= (held > most ? held : most));
        }
        M.xDestroy(m.cache);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_keeps_its_place_and_content),
        cmocka_unit_test(what_was_used_longest_ago_makes_room),
        cmocka_unit_test(held_pages_are_never_taken),
        cmocka_unit_test(all_is_forgotten_at_once),
        cmocka_unit_test(the_end_is_cut_off),
        cmocka_unit_test(what_is_cut_off_is_held_no_more),
        cmocka_unit_test(a_page_gets_another_number),
        cmocka_unit_test(the_only_copy_is_kept),
        cmocka_unit_test(no_page_is_ever_another_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
