/* Query plans of every statement of queries.h: no full scan, no sort; a reading writes only one index. */
#include "lib/temp_db.h"

#include "store/handle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

static struct temp_db t;
static sqlite3 *handle;

static int set_up(void **state)
{
    (void)state;
    temp_db_init(&t);
    if (sqlite3_open_v2(t.path, &handle, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        return -1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sqlite3_close(handle);
    temp_db_fini(&t);
    return 0;
}

/* Statements that may scan or sort, with the accepted line of the plan. */
static const struct {
    enum query query;
    const char *plan;
} exceptions[] = {
    {QUERY_AUTHORS, "SCAN a USING INDEX authors_by_age"},               /* the CLI's list of all authors */
    {QUERY_APPS, "SCAN p"},                                             /* the CLI's list of all apps */
    {QUERY_EVENT_COUNT, "SCAN (subquery-1)"},                           /* bounded by its LIMIT */
    {QUERY_PENDING, "SCAN videos USING COVERING INDEX videos_pending"}, /* all of a partial index */
    {QUERY_CREDENTIAL_ERRORS, "USE TEMP B-TREE FOR GROUP BY"}, /* `platform status`, an operator's command */
    {QUERY_CREDENTIAL_ERRORS, "USE TEMP B-TREE FOR ORDER BY"},
};

static bool is_exception(enum query query, const char *plan)
{
    for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++)
        if (exceptions[i].query == query && strcmp(exceptions[i].plan, plan) == 0)
            return true;
    return false;
}

static bool is_bad(const char *plan)
{
    return strncmp(plan, "SCAN", 4) == 0 || strstr(plan, "TEMP B-TREE") || strstr(plan, "AUTOMATIC") ||
           strstr(plan, "MATERIALIZE");
}

static sqlite3_stmt *explain(const char *how, const char *sql)
{
    sqlite3_stmt *q = NULL;
    char *text = sqlite3_mprintf("%s %s", how, sql);
    if (sqlite3_prepare_v2(handle, text, -1, &q, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
    sqlite3_free(text);
    return q;
}

static void no_statement_scans_or_sorts(void **state)
{
    (void)state;
    int bad = 0, searches = 0;
    for (int i = 0; i < QUERY_COUNT; i++) {
        sqlite3_stmt *q = explain("EXPLAIN QUERY PLAN", db_queries[i].sql);
        while (sqlite3_step(q) == SQLITE_ROW) {
            const char *plan = (const char *)sqlite3_column_text(q, 3);
            searches += strncmp(plan, "SEARCH", 6) == 0;
            if (is_bad(plan) && !is_exception((enum query)i, plan)) {
                print_error("%s: %s\n", db_queries[i].name, plan);
                bad++;
            }
        }
        sqlite3_finalize(q);
    }
    assert_int_equal(bad, 0);
    assert_true(searches > 40); /* the plans were really read */
}

/* Both bounds of a page are bounds of the index range, so the cost does not depend on its depth. */
static void pages_are_index_ranges(void **state)
{
    (void)state;
    static const struct {
        enum query query;
        const char *plan;
    } pages[] = {
        {QUERY_BOOKS_PAGE, "SEARCH b USING INDEX books_by_author (author_id=? AND (created_at,uuid)<(?,?))"},
        {QUERY_VIDEOS_PAGE,
         "SEARCH v USING INDEX videos_by_author (author_id=? AND posted_at>? AND (posted_at,uuid)<(?,?))"},
        {QUERY_VIDEOS_PAGE_VIRAL, "SEARCH v USING INDEX videos_by_viral (author_id=? AND is_viral=? AND "
                                  "posted_at>? AND (posted_at,uuid)<(?,?))"},
        {QUERY_VIDEOS_PAGE_BOOK,
         "SEARCH v USING INDEX videos_by_book (book_id=? AND posted_at>? AND (posted_at,uuid)<(?,?))"},
        {QUERY_VIDEOS_PAGE_BOOK_VIRAL, "SEARCH v USING INDEX videos_by_book_viral (book_id=? AND is_viral=? "
                                       "AND posted_at>? AND (posted_at,uuid)<(?,?))"},
        {QUERY_STATS_SCAN, "SEARCH v USING COVERING INDEX videos_in_stats (author_id=? AND posted_at>? AND "
                           "(posted_at,uuid)<(?,?))"},
        {QUERY_STATS_SCAN_BOOK,
         "SEARCH v USING INDEX videos_by_book (book_id=? AND posted_at>? AND (posted_at,uuid)<(?,?))"},
        {QUERY_EVENTS_ASCENDING, "SEARCH e USING PRIMARY KEY (author_id=? AND id>?)"},
        {QUERY_EVENTS_DESCENDING, "SEARCH e USING PRIMARY KEY (author_id=? AND id<?)"},
        {QUERY_COMPARABLES, "SEARCH videos USING INDEX videos_comparable (author_id=? AND posted_at<?)"},
        {QUERY_DAYS, "SEARCH daily USING PRIMARY KEY (video_id=? AND day>? AND day<?)"},
    };
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        sqlite3_stmt *q = explain("EXPLAIN QUERY PLAN", db_queries[pages[i].query].sql);
        assert_int_equal(sqlite3_step(q), SQLITE_ROW);
        assert_string_equal((const char *)sqlite3_column_text(q, 3), pages[i].plan);
        sqlite3_finalize(q);
    }
}

static int count_opcodes(enum query query, const char *name)
{
    sqlite3_stmt *q = explain("EXPLAIN", db_queries[query].sql);
    int count = 0;
    while (sqlite3_step(q) == SQLITE_ROW)
        count += strcmp((const char *)sqlite3_column_text(q, 1), name) == 0;
    sqlite3_finalize(q);
    return count;
}

static void reading_writes_one_index(void **state)
{
    (void)state;
    assert_int_equal(count_opcodes(QUERY_SAVE_COUNTS, "Insert"), 1);
    assert_int_equal(count_opcodes(QUERY_SAVE_COUNTS, "IdxInsert"), 1); /* videos_in_stats */
    assert_int_equal(count_opcodes(QUERY_SAVE_COUNTS, "IdxDelete"), 1);
    assert_int_equal(count_opcodes(QUERY_SAVE_COUNTS, "Program"), 0); /* no trigger */
    assert_int_equal(count_opcodes(QUERY_SAVE_COUNTS_VIRAL, "Program"), 0);
    assert_int_equal(count_opcodes(QUERY_SAVE_FIRST_READING, "Program"), 0);
    assert_true(count_opcodes(QUERY_VIDEO_UPDATE, "Program") >
                0); /* a statement with a trigger does have one */
    /* This statement exists to write the two columns that indexes contain. */
    assert_true(count_opcodes(QUERY_SAVE_FIRST_READING, "IdxInsert") > 1);
    assert_true(count_opcodes(QUERY_SAVE_COUNTS_VIRAL, "IdxInsert") > 1);
}

static bool ignore_video(void *ctx, const struct video *video, const struct book_ref *book)
{
    (void)ctx;
    (void)video;
    (void)book;
    return true;
}

/* If the plan could depend on a bound value, SQLite recompiles the statement at each binding, which costs
 * more than reading the page. */
static void no_statement_is_recompiled(void **state)
{
    (void)state;
    struct store_read read = temp_db_read(&t);
    struct videos_query query = {.posted_to = INT64_MAX, .limit = 50, .viral = VIRAL_ONLY};
    struct comparable comparables[5];
    size_t count;
    for (int i = 0; i < 5; i++) {
        query.author_row = i;
        query.posted_from = i;
        query.viral = i % 2 ? VIRAL_ANY : VIRAL_NOT;
        store_list_videos(&read, &query, ignore_video, NULL);
        assert_int_equal(read.err, OK);
        assert_int_equal(store_list_comparables(t.r, i, i, 5, comparables, &count), OK);
    }
    for (int i = 0; i < QUERY_COUNT; i++)
        assert_int_equal(sqlite3_stmt_status(t.r->db.statements[i], SQLITE_STMTSTATUS_REPREPARE, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_statement_scans_or_sorts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_are_index_ranges, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reading_writes_one_index, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_statement_is_recompiled, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
