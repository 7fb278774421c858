/* The records that the store returns and accepts. Times are milliseconds since 1970 in UTC, dates are days
 * since 1970, the counts of a post range from 0 to 2^53 - 1. `struct str` members of a record that the store
 * passes to a callback are borrowed: they are valid until the callback returns. */
#ifndef VT_STORE_MODEL_H
#define VT_STORE_MODEL_H

#include "base/platforms.h"
#include "base/str.h"
#include "base/uuid.h"

#include <stdbool.h>
#include <stdint.h>

#define COUNT_MAX  INT64_C(9007199254740991) /* 2^53 - 1 */
#define COUNT_NONE INT64_C(-1)               /* unknown */
#define TIME_NONE  INT64_MIN                 /* null */

enum { VIDEO_LIFE_DAYS = 30 };

enum count_kind { COUNT_VIEWS, COUNT_LIKES, COUNT_COMMENTS, COUNT_SHARES, COUNT_SAVES };
enum { COUNT_KINDS = 5 };

struct post {
    enum platform platform;
    struct str post_id;
    struct str url; /* p == NULL: none */
    int64_t posted_at;
    int64_t updated_at; /* observed_at of the newest reading with views; TIME_NONE: none yet */
    /* Indexed by enum count_kind; COUNT_NONE: never measured (the API returns 0). */
    int64_t counts[COUNT_KINDS];
};

struct viral_comparison {
    int64_t threshold;
    int64_t median; /* COUNT_NONE if too few videos were compared */
    int64_t compared;
};

struct milestone {
    int64_t value;
    int64_t reached_at;
};
/* Number of milestone values: six from 1,000 to 500,000, and 30 of the form {1, 2, 5} x 10^6 … 10^15, up to
 * COUNT_MAX. */
enum { MILESTONES_MAX = 36 };

/* The views that a video gained on one UTC day, and the sum of its gains up to and including that day
 * (without its baseline). */
struct day_gain {
    int32_t date;
    int64_t gained, gained_total;
};

#define GAINED_MAX (PLATFORM_COUNT * COUNT_MAX) /* upper bound of gained_total */

/* Title of a video that has neither a title of its own nor a book. */
#define UNTITLED STR("Untitled")

/* A row of the table `videos`. */
struct video {
    int64_t row;
    int64_t author_row;
    int64_t book_row; /* 0: none */
    struct uuid id;
    struct str title;         /* p == NULL: none of its own */
    struct str thumbnail_url; /* p == NULL: none */
    int64_t posted_at;        /* TIME_NONE: not posted */
    int64_t views, baseline;
    int64_t first_reading_at; /* observed_at of the oldest reading with views; TIME_NONE: none yet */
    int64_t updated_at;       /* observed_at of the newest reading with views; TIME_NONE: none yet */
    int64_t went_viral_at;    /* TIME_NONE: not viral */
    int64_t views_when_viral;
    struct viral_comparison viral;
    bool baseline_pending;
    size_t post_count;
    struct post posts[PLATFORM_COUNT]; /* by ascending platform, at most one for each */
    size_t milestone_count;
    struct milestone milestones[MILESTONES_MAX]; /* ascending value */
    /* Used only by the store: the values that the database contained when the video was read or inserted. */
    int64_t stored_first_reading_at;
    bool stored_baseline_pending;
    /* The packed gains by day (day_pack.h). Used only by the store: other modules read gains with the
     * functions of read.h and write.h. */
    struct str days;
};

/* The part of a video that events and statistics show. */
struct video_ref {
    struct uuid id;
    struct str title;         /* p == NULL: none of its own */
    struct str thumbnail_url; /* p == NULL: none, or this read does not include it */
    int64_t posted_at;
    const struct post *posts; /* ascending platform; NULL: this read does not include them */
    size_t post_count;
};

static inline struct video_ref video_ref_of(const struct video *video)
{
    return (struct video_ref){.id = video->id,
                              .title = video->title,
                              .thumbnail_url = video->thumbnail_url,
                              .posted_at = video->posted_at,
                              .posts = video->posts,
                              .post_count = video->post_count};
}

struct book_ref {
    struct uuid id;
    struct str title; /* p == NULL: the video has no book */
};

enum event_type { EVENT_WENT_VIRAL, EVENT_MILESTONE_REACHED };

struct event {
    int64_t id; /* the integer of evt_<integer> */
    enum event_type type;
    int64_t occurred_at;
    int64_t value; /* EVENT_WENT_VIRAL: the video's views; EVENT_MILESTONE_REACHED: the milestone */
    int64_t threshold, median; /* see struct viral_comparison; set only for EVENT_WENT_VIRAL */
    int64_t author_row, video_row;
};

struct author {
    int64_t row;
    struct uuid id;
    struct str name;
    bool plan_active;
    int64_t created_at;
    int64_t rev; /* revision: increases with every change that a response to this author could show, except
                    changes and uses of keys */
    int64_t last_event_id; /* 0: none */
    int64_t books_count, videos_count;
    int64_t views_refreshed_at; /* TIME_NONE: never */
};

struct book {
    int64_t row;
    int64_t author_row;
    struct uuid id;
    struct str title, subtitle;
    int64_t created_at;
    int64_t videos_posted;
};

enum { KEY_HASH_LEN = 32, KEY_SUFFIX_LEN = 4 };

struct api_key {
    int64_t row;
    int64_t author_row;
    struct uuid id;
    struct str name;
    char suffix[KEY_SUFFIX_LEN];
    int64_t created_at;
    int64_t last_used_at, revoked_at; /* TIME_NONE: never */
    int64_t app_row;                  /* the app that the key was issued to; 0: created by hand */
};

#endif
