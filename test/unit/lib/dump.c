/* Dumps a database with its own SQL, so that it shares no code with the tested store. */
#include "lib/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sqlite3.h>

static const char *const queries[] = {
    "SELECT 'author', hex(uuid), name, plan_active, books_count, videos_count, views_refreshed_at FROM "
    "authors ORDER BY uuid",
    "SELECT 'book', hex(b.uuid), hex(a.uuid), b.title, b.subtitle, b.videos_posted "
    "FROM books b JOIN authors a ON a.id = b.author_id ORDER BY b.uuid",
    "SELECT 'video', hex(v.uuid), hex(a.uuid), hex(b.uuid), v.title, v.thumbnail_url, v.posted_at, v.views, "
    "v.baseline, "
    "v.first_reading_at, v.views_updated_at, v.went_viral_at, v.views_when_viral, v.threshold, "
    "v.author_median_views, "
    "v.compared_videos, v.baseline_pending, hex(v.posts), hex(v.milestones), hex(v.recent), hex(v.days) FROM "
    "videos v "
    "JOIN authors a ON a.id = v.author_id LEFT JOIN books b ON b.id = v.book_id ORDER BY v.uuid",
    "SELECT 'key', k.platform, k.post_id, hex(v.uuid) FROM post_keys k JOIN videos v ON v.id = k.video_id "
    "ORDER BY 2, 3",
    "SELECT 'day', hex(v.uuid), d.day, d.gained, d.gained_total FROM daily d JOIN videos v ON v.id = "
    "d.video_id ORDER BY 2, 3",
    "SELECT 'platform day', hex(a.uuid), p.day, p.platform, p.gained FROM author_daily p "
    "JOIN authors a ON a.id = p.author_id ORDER BY 2, 3, 4",
    "SELECT 'event', hex(a.uuid), hex(v.uuid), e.type, e.occurred_at, e.value, e.threshold, "
    "e.author_median_views "
    "FROM events e JOIN authors a ON a.id = e.author_id JOIN videos v ON v.id = e.video_id ORDER BY e.id",
};

static sqlite3 *open_database(const char *path)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    return db;
}

static int append_row(void *ctx, int columns, char **values, char **names)
{
    struct buf *out = ctx;
    (void)names;
    for (int i = 0; i < columns; i++) {
        buf_append(out, values[i] ? str_from_cstr(values[i]) : STR("-"));
        buf_append_char(out, i + 1 < columns ? '|' : '\n');
    }
    return 0;
}

void dump_database(const char *path, struct buf *out)
{
    sqlite3 *db = open_database(path);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
        if (sqlite3_exec(db, queries[i], append_row, out, NULL) != SQLITE_OK)
            fail_msg("%s: %s", queries[i], sqlite3_errmsg(db));
    sqlite3_close(db);
    assert_false(out->failed);
}

void assert_same_dump(const struct buf *expected, const struct buf *found)
{
    struct str a = buf_str(expected), b = buf_str(found), x, y;
    if (str_eq(a, b))
        return;
    do {
        a = str_cut(a, '\n', &x);
        b = str_cut(b, '\n', &y);
    } while (str_eq(x, y) && a.p && b.p);
    fail_msg("\nexpected %.*s\nfound    %.*s", (int)x.len, x.p, (int)y.len, y.p);
}

int64_t query_i64(const char *path, const char *sql)
{
    sqlite3 *db = open_database(path);
    sqlite3_stmt *q;
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK || sqlite3_step(q) != SQLITE_ROW)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    int64_t v = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return v;
}
