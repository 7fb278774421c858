/* JSON of the records that several endpoints return. Fields and their order follow the tables of the API
 * contract. */
#ifndef VT_API_RENDER_H
#define VT_API_RENDER_H

#include "base/json.h"
#include "store/model.h"

/* Returns the video's own `title`; if it has none, the title of its book; if there is no book, "Untitled". */
struct str render_title(struct str title, const struct book_ref *book);

/* Appends the object "video" of a row of statistics: id, title, book, posted_at. */
void render_stats_video(struct buf *b, const struct video_ref *video, const struct book_ref *book);

/* Appends the object "video" of an event: id, title, book, posted_at, thumbnail_url, and the platform and URL
 * of each post. */
void render_event_video(struct buf *b, const struct video_ref *video, const struct book_ref *book);

/* Appends a Video object. `views_final` is computed for the time `now_ms`. */
void render_video(struct buf *b, const struct video *video, const struct book_ref *book, int64_t now_ms);

/* Returns the wall clock time in ms at which the output of render_video() changes without a change of the
 * data. Returns INT64_MAX if there is no such time. */
int64_t render_valid_until(const struct video *video, int64_t now_ms);

/* Appends `evt_<id>` as a JSON string. */
void render_event_id(struct buf *b, int64_t id);

/* The names of the event types, by enum event_type; the last one is NULL. */
extern const char *const render_event_types[];

/* Appends an Event object. */
void render_event(struct buf *b, const struct event *event, const struct video_ref *video,
                  const struct book_ref *book);

#endif
