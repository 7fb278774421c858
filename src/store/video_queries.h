/* The part of queries.h with the statements about books, videos, their days and their events. */
#ifndef VT_STORE_VIDEO_QUERIES_H
#define VT_STORE_VIDEO_QUERIES_H

#define SQL_BOOK "b.id, b.author_id, b.uuid, b.title, b.subtitle, b.created_at, b.videos_posted"
#define SQL_VIDEO                                                                                            \
    "v.id, v.author_id, v.book_id, v.uuid, v.title, v.thumbnail_url, v.posted_at, v.views, v.baseline, "     \
    "v.first_reading_at, v.views_updated_at, v.went_viral_at, v.views_when_viral, v.threshold, "             \
    "v.author_median_views, v.compared_videos, v.baseline_pending, v.posts, v.milestones, v.days"
#define SQL_VIDEO_REF "v.uuid, v.title, v.thumbnail_url, v.posted_at"
#define SQL_BOOK_REF  "b.uuid, b.title"
#define SQL_STATS                                                                                            \
    "v.posted_at, v.uuid, v.first_reading_at, v.days, v.baseline, v.went_viral_at, v.title, v.id, v.views"
#define SQL_EVENT "e.id, e.type, e.occurred_at, e.value, e.threshold, e.author_median_views, e.video_id"

#define SQL_BOOK_OF_PAGE "(SELECT id FROM books WHERE uuid = ?6 AND author_id = ?1)"
#define SQL_VIDEOS_PAGE(index, where)                                                                        \
    "SELECT " SQL_VIDEO ", " SQL_BOOK_REF " FROM videos v INDEXED BY " index                                 \
    " LEFT JOIN books b ON b.id = v.book_id WHERE " where                                                    \
    " AND v.posted_at >= ?2 AND (v.posted_at, v.uuid) < (?3, ?4)"                                            \
    " ORDER BY v.posted_at DESC, v.uuid DESC LIMIT ?5"

/* Returns the videos of a list, each with the author's revision. If the list is empty, returns one row with
 * the revision and NULLs. The revision is a subselect, because SQLite evaluates a subselect only once, but
 * would decode the column a.rev for each row. */
#define SQL_STATS_SCAN(index, where)                                                                         \
    "SELECT " SQL_STATS ", (SELECT rev FROM authors WHERE id = ?1), v.book_id FROM authors a "               \
    "LEFT JOIN videos v INDEXED BY " index " ON " where                                                      \
    " AND v.posted_at IS NOT NULL AND (v.posted_at, v.uuid) < (?2, ?3) WHERE a.id = ?1"                      \
    " ORDER BY v.posted_at DESC, v.uuid DESC LIMIT ?4"

/* LEFT JOIN fixes the order of the loops, like CROSS JOIN. If the video of an event is missing, its columns
 * are NULL, which row_to_video_ref() rejects. */
#define SQL_EVENTS_PAGE(compare, order)                                                                      \
    "SELECT " SQL_EVENT ", " SQL_VIDEO_REF                                                                   \
    ", v.posts, (SELECT last_event_id FROM authors WHERE id = ?1), v.book_id FROM authors a "                \
    "LEFT JOIN events e ON e.author_id = a.id AND e.id " compare " ?2 "                                      \
    "LEFT JOIN videos v ON v.id = e.video_id WHERE a.id = ?1 ORDER BY e.id " order " LIMIT ?3"

/* The filters and the order of a search are not part of the statement (read.h). */
#define SQL_VIDEOS_SEARCH(columns, join)                                                                     \
    "SELECT v.id, v.uuid, v.posted_at, v.book_id, v.went_viral_at, v.views, v.views_updated_at, v.posts, "   \
    "v.days, v.baseline, v.title, (SELECT id FROM books WHERE uuid = ?3 AND author_id = ?1)" columns         \
    " FROM videos v INDEXED BY videos_in_events " join "WHERE v.author_id = ?1 AND v.id > ?2 "               \
    "ORDER BY v.id LIMIT ?4"

/* The id of a new video. The videos of an author have consecutive ids, no matter when they were inserted, so
 * that a list of them reads few pages of the database. Each author has room for 16 million videos. */
#define SQL_NEXT_VIDEO                                                                                       \
    "1 + coalesce((SELECT id FROM videos WHERE id BETWEEN CAST(?2 AS bigint) << 24 AND (CAST(?2 AS bigint) " \
    "<< 24) + 16777214 "                                                                                     \
    "ORDER BY id DESC LIMIT 1), CAST(?2 AS bigint) << 24)"

/* `recent` is the name of the column that only the previous release reads, and `value` is its value, each
 * after a comma; both are empty if the table has no such column. */
#define SQL_VIDEO_INSERT(recent, value)                                                                      \
    "INSERT INTO videos (id, uuid, author_id, book_id, posted_at, threshold, author_median_views, "          \
    "compared_videos, title, thumbnail_url, posts" recent ") VALUES (" SQL_NEXT_VIDEO                        \
    ", ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10" value ") RETURNING id"

/* Writes no indexed column, so that a reading changes one row and no index. */
#define SQL_SAVE_COUNTS(more)                                                                                \
    "UPDATE videos SET views = ?2, baseline = ?3, views_updated_at = ?4, threshold = ?5, "                   \
    "author_median_views = ?6, compared_videos = ?7, posts = ?8, milestones = ?9, days = ?10" more           \
    " WHERE id = ?1"
#define SQL_SAVE_VIRAL  ", went_viral_at = ?11, views_when_viral = ?12"
#define SQL_SAVE_RECENT ", recent = ?13"

#define STORE_VIDEO_QUERIES(X)                                                                               \
    /* books */                                                                                              \
    X(BOOK_BY_UUID, "SELECT " SQL_BOOK " FROM books b WHERE b.uuid = ?1")                                    \
    X(BOOK_REF, "SELECT " SQL_BOOK_REF " FROM books b WHERE b.id = ?1")                                      \
    X(BOOKS_PAGE, "SELECT " SQL_BOOK ", a.name, a.rev FROM authors a LEFT JOIN books b "                     \
                  "INDEXED BY books_by_author ON b.author_id = a.id AND (b.created_at, b.uuid) < (?2, ?3) "  \
                  "WHERE a.id = ?1 ORDER BY b.created_at DESC, b.uuid DESC LIMIT ?4")                        \
    X(BOOK_INSERT, "INSERT INTO books (uuid, author_id, title, subtitle, created_at) "                       \
                   "VALUES (?1, ?2, ?3, ?4, ?5) RETURNING id")                                               \
    X(BOOK_UPDATE, "UPDATE books SET title = ?2, subtitle = ?3, created_at = ?4 WHERE id = ?1")              \
    X(BOOK_ADD_POSTED, "UPDATE books SET videos_posted = videos_posted + ?2 WHERE id = ?1")                  \
                                                                                                             \
    /* videos */                                                                                             \
    X(VIDEO_BY_UUID, "SELECT " SQL_VIDEO " FROM videos v WHERE v.uuid = ?1")                                 \
    X(VIDEO_BY_ROW, "SELECT " SQL_VIDEO " FROM videos v WHERE v.id = ?1")                                    \
    X(VIDEO_OF_AUTHOR,                                                                                       \
      "SELECT " SQL_VIDEO ", " SQL_BOOK_REF " FROM videos v LEFT JOIN books b ON b.id = v.book_id "          \
      "WHERE v.uuid = ?1 AND v.author_id = ?2 AND +v.posted_at IS NOT NULL")                                 \
    X(VIDEOS_PAGE, SQL_VIDEOS_PAGE("videos_by_author", "v.author_id = ?1"))                                  \
    X(VIDEOS_PAGE_VIRAL, SQL_VIDEOS_PAGE("videos_by_viral", "v.author_id = ?1 AND v.is_viral = ?6"))         \
    X(VIDEOS_PAGE_BOOK, SQL_VIDEOS_PAGE("videos_by_book", "v.book_id = " SQL_BOOK_OF_PAGE))                  \
    X(VIDEOS_PAGE_BOOK_VIRAL,                                                                                \
      SQL_VIDEOS_PAGE("videos_by_book_viral", "v.book_id = " SQL_BOOK_OF_PAGE " AND v.is_viral = ?7"))       \
    X(VIDEOS_SEARCH, SQL_VIDEOS_SEARCH("", ""))                                                              \
    X(VIDEOS_SEARCH_TITLES,                                                                                  \
      SQL_VIDEOS_SEARCH(", b.title", "LEFT JOIN books b ON b.id = v.book_id AND v.title IS NULL "))          \
    X(VIDEOS_FOUND, /* in the order of the ids in the array */                                               \
      "SELECT " SQL_VIDEO ", " SQL_BOOK_REF " FROM json_each(?1) f CROSS JOIN videos v ON v.id = f.value "   \
      "LEFT JOIN books b ON b.id = v.book_id WHERE v.author_id = ?2 AND v.posted_at IS NOT NULL")            \
    X(VIDEO_INSERT, SQL_VIDEO_INSERT(", recent", ", x''"))                                                   \
    X(VIDEO_UPDATE, "UPDATE videos SET book_id = ?2, posted_at = ?3, title = ?4, thumbnail_url = ?5, "       \
                    "posts = ?6 WHERE id = ?1")                                                              \
    X(SAVE_COUNTS, SQL_SAVE_COUNTS(SQL_SAVE_RECENT))                                                         \
    X(SAVE_COUNTS_VIRAL, SQL_SAVE_COUNTS(SQL_SAVE_VIRAL SQL_SAVE_RECENT))                                    \
    X(SAVE_FIRST_READING, "UPDATE videos SET first_reading_at = ?2, baseline_pending = ?3 "                  \
                          "WHERE id = ?1")                                                                   \
    X(COMPARABLES, "SELECT id, views FROM videos INDEXED BY videos_comparable "                              \
                   "WHERE author_id = ?1 AND posted_at <= ?2 AND first_reading_at IS NOT NULL "              \
                   "ORDER BY posted_at DESC, uuid DESC LIMIT ?3")                                            \
    X(PENDING, "SELECT author_id, id FROM videos INDEXED BY videos_pending WHERE baseline_pending = 1 "      \
               "ORDER BY author_id, id LIMIT ?1")                                                            \
                                                                                                             \
    /* posts */                                                                                              \
    X(POST_OWNER,                                                                                            \
      "SELECT p.video_id, v.author_id FROM post_keys p CROSS JOIN videos v ON v.id = p.video_id "            \
      "WHERE p.platform = ?1 AND p.post_id = ?2")                                                            \
    X(POST_KEY_PUT, "INSERT INTO post_keys (platform, post_id, video_id) VALUES (?1, ?2, ?3) "               \
                    "ON CONFLICT (platform, post_id) DO UPDATE SET video_id = excluded.video_id "            \
                    "WHERE post_keys.video_id = excluded.video_id")                                          \
    X(POST_KEY_DELETE, "DELETE FROM post_keys WHERE platform = ?1 AND post_id = ?2")                         \
                                                                                                             \
    /* days */                                                                                               \
    X(GAIN_ADD, "INSERT INTO daily (video_id, day, gained, gained_total) VALUES (?1, ?2, ?3, "               \
                "?3 + coalesce((SELECT gained_total FROM daily WHERE video_id = ?1 "                         \
                "ORDER BY day DESC LIMIT 1), 0)) ON CONFLICT (video_id, day) DO UPDATE "                     \
                "SET gained = gained + excluded.gained, gained_total = excluded.gained_total")               \
    X(DAYS_OF_VIDEOS, "SELECT id, views, baseline, days FROM videos WHERE id > ?1 ORDER BY id LIMIT ?2")     \
    X(VIDEO_SET_DAYS, "UPDATE videos SET days = ?2 WHERE id = ?1")                                           \
    X(AUTHOR_DAY, "SELECT gained FROM author_daily WHERE author_id = ?1 AND day = ?2 AND platform = ?3")     \
    X(AUTHOR_DAY_ADD, /* the sum is bounded by AUTHOR_GAINED_MAX = 2^60 */                                   \
      "INSERT INTO author_daily (author_id, day, platform, gained) VALUES (?1, ?2, ?3, ?4) "                 \
      "ON CONFLICT (author_id, day, platform) DO UPDATE SET gained = "                                       \
      "CASE WHEN author_daily.gained < 1152921504606846976 - excluded.gained "                               \
      "THEN author_daily.gained + excluded.gained ELSE 1152921504606846976 END")                             \
    X(AUTHOR_DAY_SET,                                                                                        \
      "UPDATE author_daily SET gained = ?4 WHERE author_id = ?1 AND day = ?2 AND platform = ?3")             \
    X(AUTHOR_DAYS, "SELECT d.day, d.platform, d.gained, a.rev FROM authors a "                               \
                   "LEFT JOIN author_daily d ON d.author_id = a.id AND (d.day, d.platform) > (?2, ?3) "      \
                   "AND d.day <= ?4 WHERE a.id = ?1 ORDER BY d.day, d.platform LIMIT ?5")                    \
    X(STATS_SCAN, SQL_STATS_SCAN("videos_by_author", "v.author_id = a.id"))                                  \
    X(STATS_SCAN_BOOK, SQL_STATS_SCAN("videos_by_book", "v.book_id = ?5"))                                   \
    X(DAYS, "SELECT day, gained, gained_total FROM daily WHERE video_id = ?1 AND day BETWEEN ?2 AND ?3 "     \
            "ORDER BY day")                                                                                  \
                                                                                                             \
    /* events */                                                                                             \
    X(EVENT_INSERT, "INSERT INTO events (author_id, id, video_id, type, occurred_at, value, threshold, "     \
                    "author_median_views) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")                          \
    X(EVENTS_ASCENDING, SQL_EVENTS_PAGE(">", "ASC"))                                                         \
    X(EVENTS_DESCENDING, SQL_EVENTS_PAGE("<", "DESC"))                                                       \
    X(EVENTS_OF_AUTHOR, "SELECT " SQL_EVENT " FROM events e WHERE e.author_id = ?1 ORDER BY e.id")           \
    X(VIDEOS_OF_AUTHOR, "SELECT " SQL_VIDEO " FROM videos v INDEXED BY videos_in_events "                    \
                        "WHERE v.author_id = ?1 ORDER BY v.id")                                              \
    X(EVENT_COUNT, "SELECT count(*) FROM (SELECT id FROM events WHERE author_id = ?1 AND id > ?2 LIMIT ?3) " \
                   "e")

#endif
