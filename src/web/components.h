/* What several pages show of a video: its picture, its name, what it reached. */
#ifndef VT_WEB_COMPONENTS_H
#define VT_WEB_COMPONENTS_H

#include "http/request.h"
#include "store/model.h"

/* The video's title, else its book's, else "Untitled". */
struct str component_video_title(struct str title, const struct book_ref *book);

/* The link to the video's page around its name. */
void component_video_link(struct request *r, const struct video_ref *v, const struct book_ref *book);

/* Its thumbnail when pictures from elsewhere are allowed ([account] image_sources), else a drawn one with
 * initials and a colour of its own. Says nothing to a screen reader: the name stands beside it. */
void component_thumbnail(struct request *r, const struct video_ref *v, struct str title);

/* `5.2 times your typical 2,400`, or without a median `over 10,000 views`. */
void component_viral_comparison(struct buf *b, int64_t views, int64_t threshold, int64_t median);

/* "TikTok, YouTube" */
void component_platform_list(struct buf *b, const struct video *v);

/* One <li> of a list of videos. */
void component_video_item(struct request *r, const struct video *v, const struct book_ref *book);

/* One <li> of a list of events. */
void component_event_item(struct request *r, const struct event *e, const struct video_ref *v,
                          const struct book_ref *book, int64_t now);

#endif
