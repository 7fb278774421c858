/* JSON of the records that several endpoints return, with the fields and their order in the contract's
 * tables. */
#ifndef VT_API_RENDER_H
#define VT_API_RENDER_H

#include "base/json.h"
#include "store/model.h"

/* The video's own title, else its book's, else "Untitled". */
struct str render_title(struct str title, const struct book_ref *book);

/* The value of "video" in a row of statistics: id, title, book, posted_at. */
void render_stats_video(struct buf *b, const struct video_ref *video, const struct book_ref *book);

/* The value of "video" in an event: the same with thumbnail_url. */
void render_event_video(struct buf *b, const struct video_ref *video, const struct book_ref *book);

/* A Video object; `now_ms` decides views_final. */
void render_video(struct buf *b, const struct video *video, const struct book_ref *book, int64_t now_ms);

/* The wall clock time from which render_video() returns a different text for the same data; INT64_MAX: never.
 */
int64_t render_valid_until(const struct video *video, int64_t now_ms);

/* `evt_<id>` as a JSON string. */
void render_event_id(struct buf *b, int64_t id);

#endif
