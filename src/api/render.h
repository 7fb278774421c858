/* JSON of the records that several endpoints show, as the contract's tables have them. */
#ifndef VT_API_RENDER_H
#define VT_API_RENDER_H

#include "base/json.h"
#include "store/model.h"

/* The video's title, else its book's, else "Untitled". */
struct str render_title(const struct video *video, const struct book_ref *book);

/* The key "book" with a BookRef or null. */
void render_book_ref(struct buf *b, const struct book_ref *book);

/* What statistics and events show of a video: id, title, thumbnail_url with events, book, posted_at. */
void render_shown_video(struct buf *b, const struct video *video, const struct book_ref *book,
                        bool with_thumbnail);

/* A Video object. `now_ms` decides views_final. */
void render_video(struct buf *b, const struct video *video, const struct book_ref *book, int64_t now_ms);

/* From when on render_video() gives something else for the same data; INT64_MAX: never. */
int64_t render_valid_until(const struct video *video, int64_t now_ms);

/* `evt_<id>` as a JSON string. */
void render_event_id(struct buf *b, int64_t id);

#endif
