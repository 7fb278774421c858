/* Tests the query plans of the statements of queries.h: no statement scans a table or sorts, except those
 * listed below, and saving a reading writes no index. */
#include "lib/temp_db.h"

#include "store/sqlite/sqlite_store.h"

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
    {QUERY_AUTHORS, "SCAN a USING INDEX authors_by_age"}, /* the CLI's list of all authors */
    {QUERY_ERASE_PLATFORM_LINKS, "SCAN platform_links"},  /* in `author erase`; expired rows are purged */
    {QUERY_ERASE_OAUTH_CODES, "SCAN oauth_codes"},
    {QUERY_APPS, "SCAN p"},                                             /* the CLI's list of all apps */
    {QUERY_EVENT_COUNT, "SCAN e"},                                      /* bounded by its LIMIT */
    {QUERY_VIDEOS_FOUND, "SCAN f VIRTUAL TABLE INDEX 1:"},              /* the array that is bound */
    {QUERY_PENDING, "SCAN videos USING COVERING INDEX videos_pending"}, /* all of a partial index */
    {QUERY_CREDENTIAL_ERRORS, "USE TEMP B-TREE FOR GROUP BY"}, /* `platform status`, an operator's command */
    {QUERY_CREDENTIAL_ERRORS, "USE TEMP B-TREE FOR ORDER BY"},
    {QUERY_MOVE_LAST_ID, "SCAN CONSTANT ROW"}, /* two tables have row ids that are not reused */
    {QUERY_MOVE_LAST_ID, "SCAN sqlite_sequence"},
    {QUERY_MOVE_RESERVE_IDS, "SCAN CONSTANT ROW"},
    {QUERY_MOVE_RESERVE_IDS, "SCAN sqlite_sequence"},
};

/* Returns true for a statement that reads only the last row in the order of the primary key: the first row of
 * a scan that does not sort. */
static bool reads_last_row(enum query query, const char *plan)
{
    return strncmp(sql_queries[query].name, "MOVE_LAST_", 10) == 0 && strncmp(plan, "SCAN ", 5) == 0;
}

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
        sqlite3_stmt *q = explain("EXPLAIN QUERY PLAN", sql_queries[i].text);
        while (sqlite3_step(q) == SQLITE_ROW) {
            const char *plan = (const char *)sqlite3_column_text(q, 3);
            searches += strncmp(plan, "SEARCH", 6) == 0;
            if (is_bad(plan) && !is_exception((enum query)i, plan) && !reads_last_row((enum query)i, plan)) {
                print_error("%s: %s\n", sql_queries[i].name, plan);
                bad++;
            }
        }
        sqlite3_finalize(q);
    }
    assert_int_equal(bad, 0);
    assert_true(searches > 40); /* the plans were really read */
}

/* Both bounds of a page are bounds of the index range. So the cost of a page does not depend on how many
 * pages precede it. */
static void each_page_reads_one_index_range(void **state)
{
    (void)state;
    static const struct {
        enum query query;
        const char *plan;
    } pages[] = {
        {QUERY_BOOKS_PAGE,
         "SEARCH b USING INDEX books_by_author (author_id=? AND (created_at,uuid)<(?,?)) LEFT-JOIN"},
        {QUERY_VIDEOS_PAGE,
         "SEARCH v USING INDEX videos_by_author (author_id=? AND posted_at>? AND (posted_at,uuid)<(?,?))"},
        {QUERY_VIDEOS_PAGE_VIRAL, "SEARCH v USING INDEX videos_by_viral (author_id=? AND is_viral=? AND "
                                  "posted_at>? AND (posted_at,uuid)<(?,?))"},
        {QUERY_VIDEOS_PAGE_BOOK,
         "SEARCH v USING INDEX videos_by_book (book_id=? AND posted_at>? AND (posted_at,uuid)<(?,?))"},
        {QUERY_VIDEOS_PAGE_BOOK_VIRAL, "SEARCH v USING INDEX videos_by_book_viral (book_id=? AND is_viral=? "
                                       "AND posted_at>? AND (posted_at,uuid)<(?,?))"},
        {QUERY_STATS_SCAN,
         "SEARCH v USING INDEX videos_by_author (author_id=? AND (posted_at,uuid)<(?,?)) LEFT-JOIN"},
        {QUERY_STATS_SCAN_BOOK,
         "SEARCH v USING INDEX videos_by_book (book_id=? AND (posted_at,uuid)<(?,?)) LEFT-JOIN"},
        {QUERY_EVENTS_ASCENDING, "SEARCH e USING PRIMARY KEY (author_id=? AND id>?) LEFT-JOIN"},
        {QUERY_EVENTS_DESCENDING, "SEARCH e USING PRIMARY KEY (author_id=? AND id<?) LEFT-JOIN"},
        {QUERY_EVENT_ID_SHARED, "SEARCH o USING PRIMARY KEY (author_id=? AND id>? AND id<?)"},
        {QUERY_COMPARABLES, "SEARCH videos USING INDEX videos_comparable (author_id=? AND posted_at<?)"},
        {QUERY_AUTHOR_DAYS,
         "SEARCH d USING PRIMARY KEY (author_id=? AND (day,platform)>(?,?) AND day<?) LEFT-JOIN"},
        {QUERY_DAYS, "SEARCH daily USING PRIMARY KEY (video_id=? AND day>? AND day<?)"},
    };
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        sqlite3_stmt *q = explain("EXPLAIN QUERY PLAN", sql_queries[pages[i].query].text);
        const char *plan;
        do { /* the statement reads the author first if it has a column of the author */
            assert_int_equal(sqlite3_step(q), SQLITE_ROW);
            plan = (const char *)sqlite3_column_text(q, 3);
        } while (strcmp(plan, "SEARCH a USING INTEGER PRIMARY KEY (rowid=?)") == 0);
        assert_string_equal(plan, pages[i].plan);
        sqlite3_finalize(q);
    }
}

static int count_opcodes(enum query query, const char *name)
{
    sqlite3_stmt *q = explain("EXPLAIN", sql_queries[query].text);
    int count = 0;
    while (sqlite3_step(q) == SQLITE_ROW)
        count += strcmp((const char *)sqlite3_column_text(q, 1), name) == 0;
    sqlite3_finalize(q);
    return count;
}

static void saving_a_reading_writes_no_index(void **state)
{
    (void)state;
    assert_int_equal(count_opcodes(QUERY_SAVE_COUNTS, "Insert"), 1);
    assert_int_equal(count_opcodes(QUERY_SAVE_COUNTS, "IdxInsert"), 0);
    assert_int_equal(count_opcodes(QUERY_SAVE_COUNTS, "IdxDelete"), 0);
    assert_int_equal(count_opcodes(QUERY_SAVE_COUNTS, "Program"), 0); /* no trigger */
    assert_int_equal(count_opcodes(QUERY_SAVE_COUNTS_VIRAL, "Program"), 0);
    assert_int_equal(count_opcodes(QUERY_SAVE_FIRST_READING, "Program"), 0);
    /* A statement that fires a trigger has such an instruction. This shows that the search can find one. */
    assert_true(count_opcodes(QUERY_VIDEO_UPDATE, "Program") > 0);
    /* These statements write the columns that indexes contain. */
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
static void new_values_do_not_recompile_statements_of_pages_and_comparisons(void **state)
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
    for (int i = 0; i < QUERY_FIRST_RARE; i++)
        assert_int_equal(
            sqlite3_stmt_status(sqlite_db_of(t.r)->statements[i].handle, SQLITE_STMTSTATUS_REPREPARE, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_statement_scans_or_sorts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_page_reads_one_index_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(saving_a_reading_writes_no_index, set_up, tear_down),
        cmocka_unit_test_setup_teardown(new_values_do_not_recompile_statements_of_pages_and_comparisons,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
