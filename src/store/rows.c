/* Converts result rows to the records of model.h. */
#include "store/rows.h"

#include "store/pack.h"

bool row_to_author(struct sql_statement *q, int first, struct author *out)
{
    *out = (struct author){
        .row = sql_i64(q, first),
        .name = sql_text(q, first + 2),
        .plan_active = sql_i64(q, first + 3) != 0,
        .created_at = sql_i64(q, first + 4),
        .rev = sql_i64(q, first + 5),
        .last_event_id = sql_i64(q, first + 6),
        .books_count = sql_i64(q, first + 7),
        .videos_count = sql_i64(q, first + 8),
        .views_refreshed_at = sql_i64_or(q, first + 9, TIME_NONE),
    };
    return sql_bytes(q, first + 1, out->id.b, sizeof out->id.b);
}

bool row_to_api_key(struct sql_statement *q, int first, struct api_key *out)
{
    *out = (struct api_key){
        .row = sql_i64(q, first),
        .author_row = sql_i64(q, first + 1),
        .name = sql_text(q, first + 3),
        .created_at = sql_i64(q, first + 5),
        .last_used_at = sql_i64_or(q, first + 6, TIME_NONE),
        .revoked_at = sql_i64_or(q, first + 7, TIME_NONE),
        .app_row = sql_i64_or(q, first + 8, 0),
    };
    return sql_bytes(q, first + 2, out->id.b, sizeof out->id.b) &&
           sql_bytes(q, first + 4, out->suffix, sizeof out->suffix);
}

bool row_to_key_owner(struct sql_statement *q, struct key_owner *out)
{
    *out = (struct key_owner){
        .key_row = sql_i64(q, 0),
        .author_row = sql_i64(q, 1),
        .revoked_at = sql_i64_or(q, 3, TIME_NONE),
        .last_used_at = sql_i64_or(q, 4, TIME_NONE),
        .plan_active = sql_i64(q, 6) != 0,
        .author_rev = sql_i64(q, 7),
        .feed_rev = sql_i64(q, 8),
        .last_event_id = sql_i64(q, 9),
    };
    return sql_bytes(q, 2, out->key_id.b, sizeof out->key_id.b) &&
           sql_bytes(q, 5, out->author_id.b, sizeof out->author_id.b);
}

bool row_to_book(struct sql_statement *q, int first, struct book *out)
{
    *out = (struct book){
        .row = sql_i64(q, first),
        .author_row = sql_i64(q, first + 1),
        .title = sql_text(q, first + 3),
        .subtitle = sql_text(q, first + 4),
        .created_at = sql_i64(q, first + 5),
        .videos_posted = sql_i64(q, first + 6),
    };
    return sql_bytes(q, first + 2, out->id.b, sizeof out->id.b);
}

/* Sets the members one by one. A compound literal would also clear the arrays of posts and milestones, which
 * takes longer than reading the row. */
bool row_to_video(struct sql_statement *q, int first, struct video *out)
{
    out->row = sql_i64(q, first);
    out->author_row = sql_i64(q, first + 1);
    out->book_row = sql_i64(q, first + 2);
    out->title = sql_text(q, first + 4);
    out->thumbnail_url = sql_text(q, first + 5);
    out->posted_at = sql_i64_or(q, first + 6, TIME_NONE);
    out->views = sql_i64(q, first + 7);
    out->baseline = sql_i64(q, first + 8);
    out->first_reading_at = sql_i64_or(q, first + 9, TIME_NONE);
    out->updated_at = sql_i64_or(q, first + 10, TIME_NONE);
    out->went_viral_at = sql_i64_or(q, first + 11, TIME_NONE);
    out->views_when_viral = sql_i64(q, first + 12);
    out->viral.threshold = sql_i64(q, first + 13);
    out->viral.median = sql_i64_or(q, first + 14, COUNT_NONE);
    out->viral.compared = sql_i64(q, first + 15);
    out->baseline_pending = sql_i64(q, first + 16) != 0;
    out->stored_first_reading_at = out->first_reading_at;
    out->stored_baseline_pending = out->baseline_pending;
    out->days = sql_text(q, first + 19);
    return sql_bytes(q, first + 3, out->id.b, sizeof out->id.b) &&
           unpack_posts(sql_text(q, first + VIDEO_POSTS_COLUMN), out->posts, &out->post_count) &&
           unpack_milestones(sql_text(q, first + 18), out->milestones, &out->milestone_count);
}

bool row_to_video_ref(struct sql_statement *q, int first, struct video_ref *out)
{
    out->title = sql_text(q, first + 1);
    out->thumbnail_url = sql_text(q, first + 2);
    out->posted_at = sql_i64_or(q, first + 3, TIME_NONE);
    out->posts = NULL;
    out->post_count = 0;
    return sql_bytes(q, first, out->id.b, sizeof out->id.b);
}

struct day_gain row_to_day_gain(struct sql_statement *q)
{
    return (struct day_gain){
        .date = (int32_t)sql_i64(q, 0),
        .gained = sql_i64(q, 1),
        .gained_total = sql_i64(q, 2),
    };
}

bool row_to_book_ref(struct sql_statement *q, int first, struct book_ref *out)
{
    *out = (struct book_ref){.title = sql_text(q, first + 1)};
    return !out->title.p || sql_bytes(q, first, out->id.b, sizeof out->id.b);
}

bool row_to_event(struct sql_statement *q, int first, struct event *out)
{
    int64_t type = sql_i64(q, first + 1);
    bool viral = type == EVENT_WENT_VIRAL;
    *out = (struct event){
        .id = sql_i64(q, first),
        .type = viral ? EVENT_WENT_VIRAL : EVENT_MILESTONE_REACHED,
        .occurred_at = sql_i64(q, first + 2),
        .value = sql_i64(q, first + 3),
        .threshold = viral ? sql_i64(q, first + 4) : 0,
        .median = viral ? sql_i64_or(q, first + 5, COUNT_NONE) : COUNT_NONE,
        .video_row = sql_i64(q, first + 6),
    };
    return viral || type == EVENT_MILESTONE_REACHED;
}

struct str row_copy_text(struct arena *a, struct str s)
{
    return s.p ? arena_copy(a, s) : s;
}
