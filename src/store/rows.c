/* Converts result rows to the records of model.h. */
#include "store/rows.h"

#include "store/pack.h"

bool row_author(struct sqlite3_stmt *q, int first, struct author *out)
{
    *out = (struct author){
        .row = db_i64(q, first),
        .name = db_text(q, first + 2),
        .plan_active = db_i64(q, first + 3) != 0,
        .created_at = db_i64(q, first + 4),
        .rev = db_i64(q, first + 5),
        .last_event_id = db_i64(q, first + 6),
        .books_count = db_i64(q, first + 7),
        .videos_count = db_i64(q, first + 8),
        .views_refreshed_at = db_i64_or(q, first + 9, TIME_NONE),
    };
    return db_bytes(q, first + 1, out->id.b, sizeof out->id.b);
}

bool row_api_key(struct sqlite3_stmt *q, int first, struct api_key *out)
{
    *out = (struct api_key){
        .row = db_i64(q, first),
        .author_row = db_i64(q, first + 1),
        .name = db_text(q, first + 3),
        .created_at = db_i64(q, first + 5),
        .last_used_at = db_i64_or(q, first + 6, TIME_NONE),
        .revoked_at = db_i64_or(q, first + 7, TIME_NONE),
        .app_row = db_i64_or(q, first + 8, 0),
    };
    return db_bytes(q, first + 2, out->id.b, sizeof out->id.b) &&
           db_bytes(q, first + 4, out->suffix, sizeof out->suffix);
}

bool row_book(struct sqlite3_stmt *q, int first, struct book *out)
{
    *out = (struct book){
        .row = db_i64(q, first),
        .author_row = db_i64(q, first + 1),
        .title = db_text(q, first + 3),
        .subtitle = db_text(q, first + 4),
        .created_at = db_i64(q, first + 5),
        .videos_posted = db_i64(q, first + 6),
    };
    return db_bytes(q, first + 2, out->id.b, sizeof out->id.b);
}

/* No compound literal: clearing the arrays of posts and milestones costs more than reading the row. */
bool row_video(struct sqlite3_stmt *q, int first, struct video *out)
{
    out->row = db_i64(q, first);
    out->author_row = db_i64(q, first + 1);
    out->book_row = db_i64(q, first + 2);
    out->title = db_text(q, first + 4);
    out->thumbnail_url = db_text(q, first + 5);
    out->posted_at = db_i64_or(q, first + 6, TIME_NONE);
    out->views = db_i64(q, first + 7);
    out->baseline = db_i64(q, first + 8);
    out->first_reading_at = db_i64_or(q, first + 9, TIME_NONE);
    out->updated_at = db_i64_or(q, first + 10, TIME_NONE);
    out->went_viral_at = db_i64_or(q, first + 11, TIME_NONE);
    out->views_when_viral = db_i64(q, first + 12);
    out->viral.threshold = db_i64(q, first + 13);
    out->viral.median = db_i64_or(q, first + 14, COUNT_NONE);
    out->viral.compared = db_i64(q, first + 15);
    out->baseline_pending = db_i64(q, first + 16) != 0;
    return db_bytes(q, first + 3, out->id.b, sizeof out->id.b) &&
           unpack_posts(db_text(q, first + VIDEO_POSTS_COLUMN), out->posts, &out->post_count) &&
           unpack_milestones(db_text(q, first + 18), out->milestones, &out->milestone_count) &&
           row_recent(q, first + 19, &out->recent);
}

bool row_video_ref(struct sqlite3_stmt *q, int first, struct video_ref *out)
{
    out->title = db_text(q, first + 1);
    out->thumbnail_url = db_text(q, first + 2);
    out->posted_at = db_i64_or(q, first + 3, TIME_NONE);
    return db_bytes(q, first, out->id.b, sizeof out->id.b);
}

bool row_recent(struct sqlite3_stmt *q, int column, struct recent_days *out)
{
    struct str packed = db_text(q, column);
    out->known = false;
    out->count = 0;
    return !packed.p || unpack_recent(packed, out);
}

struct day_gain row_day(struct sqlite3_stmt *q)
{
    return (struct day_gain){
        .date = (int32_t)db_i64(q, 0),
        .gained = db_i64(q, 1),
        .gained_total = db_i64(q, 2),
    };
}

bool row_book_ref(struct sqlite3_stmt *q, int first, struct book_ref *out)
{
    *out = (struct book_ref){.title = db_text(q, first + 1)};
    return !out->title.p || db_bytes(q, first, out->id.b, sizeof out->id.b);
}

bool row_event(struct sqlite3_stmt *q, int first, struct event *out)
{
    int64_t type = db_i64(q, first + 1);
    bool viral = type == EVENT_WENT_VIRAL;
    *out = (struct event){
        .id = db_i64(q, first),
        .type = viral ? EVENT_WENT_VIRAL : EVENT_MILESTONE_REACHED,
        .occurred_at = db_i64(q, first + 2),
        .value = db_i64(q, first + 3),
        .threshold = viral ? db_i64(q, first + 4) : 0,
        .median = viral ? db_i64_or(q, first + 5, COUNT_NONE) : COUNT_NONE,
        .video_row = db_i64(q, first + 6),
    };
    return viral || type == EVENT_MILESTONE_REACHED;
}

struct str row_copy(struct arena *a, struct str s)
{
    return s.p ? arena_copy(a, s) : s;
}
