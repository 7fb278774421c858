/* A step that writes several tables, and its consistency check. */
#include "lib/whole_step.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

/* The first video of the first author. */
enum { AUTHOR_ROW = 1, VIDEO_ROW = (1 << 24) + 1 };

enum err write_step(struct store *s, int64_t views)
{
    struct arena a;
    struct video v;
    arena_init(&a, 4096);
    enum err err = store_begin(s);
    if (!err)
        err = store_get_video(s, &a, VIDEO_ROW, &v);
    if (!err) {
        struct event e = {.type = EVENT_MILESTONE_REACHED,
                          .occurred_at = TEST_DAY,
                          .value = views,
                          .author_row = AUTHOR_ROW,
                          .video_row = VIDEO_ROW};
        int64_t gained = views - v.views;
        v.views = v.posts[0].counts[COUNT_VIEWS] = views;
        v.first_reading_at = v.updated_at = TEST_DAY + views;
        err = store_save_gain(s, &a, &v, false, date_of(TEST_DAY), gained);
        if (!err)
            err = store_insert_event(s, &e, TEST_DAY);
        if (!err)
            err = store_touch_author(s, AUTHOR_ROW, v.updated_at);
    }
    if (!err)
        err = store_commit(s);
    else
        store_rollback(s);
    arena_fini(&a);
    return err;
}

void add_video_with_first_step(struct temp_db *t)
{
    test_begin(t);
    struct author author = add_author(t, 1);
    struct video v = add_video(t, &author, 0, 1, TEST_DAY);
    assert_int_equal(v.row, VIDEO_ROW);
    test_commit(t);
    assert_int_equal(write_step(t->w, 1), OK);
}

int64_t views_of_last_step(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT v.views, (SELECT gained_total FROM daily), "
                                        "(SELECT value FROM events ORDER BY id DESC LIMIT 1), "
                                        "(SELECT last_event_id = (SELECT max(id) FROM events) FROM authors), "
                                        "(SELECT value = (SELECT max(id) FROM events) FROM meta "
                                        " WHERE key = 'last_event_id'), "
                                        "(SELECT integrity_check FROM pragma_integrity_check) = 'ok' "
                                        "FROM videos v",
                                        -1, &q, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    int64_t views = sqlite3_column_int64(q, 0);
    assert_int_equal(sqlite3_column_int64(q, 1), views);
    assert_int_equal(sqlite3_column_int64(q, 2), views);
    for (int i = 3; i < 6; i++)
        assert_int_equal(sqlite3_column_int64(q, i), 1);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return views;
}
