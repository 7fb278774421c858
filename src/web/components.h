/* Components: pieces of HTML that several pages use to show videos and events. */
#ifndef VT_WEB_COMPONENTS_H
#define VT_WEB_COMPONENTS_H

#include "http/request.h"
#include "store/model.h"

/* Returns the video's own `title`; if it has none, the title of its book; if there is no book, "Untitled". */
struct str component_video_title(struct str title, const struct book_ref *book);

/* Writes the title as a link to the video's page. */
void component_video_link(struct request *r, const struct video_ref *v, const struct book_ref *book);

/* Writes the video's thumbnail if [account] image_sources permits it; otherwise a generated image with the
 * initials of the title. Screen readers ignore the image, because the title follows it. */
void component_thumbnail(struct request *r, const struct video_ref *v, struct str title);

/* Writes how a number of views compares with the author's median: `5.2 times your typical 2,400`. Without a
 * median, writes the threshold instead: `over 10,000 views`. */
void component_viral_comparison(struct buf *b, int64_t views, int64_t threshold, int64_t median);

/* Writes how the video's views compared with the author's median when the video went viral. If it has gained
 * more than a tenth of the median since, also writes how its present views compare with the same median:
 * `at 49.8K views, 10.5 times your typical 4,742; now 59.7 times your typical`. Precondition: the video is
 * viral. */
void component_viral_summary(struct buf *b, const struct video *v);

/* Writes the names of the platforms, for example "TikTok, YouTube". */
void component_platform_list(struct buf *b, const struct video *v);

/* Writes a video as one <li>. */
void component_video_item(struct request *r, const struct video *v, const struct book_ref *book);

/* Writes an event as one <li>. */
void component_event_item(struct request *r, const struct event *e, const struct video_ref *v,
                          const struct book_ref *book, int64_t now);

#endif
