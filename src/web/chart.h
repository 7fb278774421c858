/* A bar chart of views per day as inline SVG, with the same numbers in a table behind it.
 *
 * It scales without a script and without inline styles: places are per cent, text keeps its size. Days on
 * which a video went viral carry a star, a hatched bar and words in the table. */
#ifndef VT_WEB_CHART_H
#define VT_WEB_CHART_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHART_DAYS_MAX = 92 };

struct chart_day {
    int32_t date;
    int64_t views;
    int64_t total; /* views in all by the end of that day */
    int32_t viral; /* how many videos went viral on it */
};

struct chart {
    const char *id;               /* of the page's elements: a literal, unique on the page */
    struct str title;             /* "Views per day": plain text */
    bool one_video;               /* words: "went viral" instead of how many did */
    const struct chart_day *days; /* consecutive, ascending; none: nothing is drawn but a sentence */
    size_t count;                 /* at most CHART_DAYS_MAX */
};

void chart_write(struct buf *b, const struct chart *c);

/* The lowest round value (1, 2 or 5 times a power of ten) of which at most four reach `max`: the distance of
 * the lines of the axis. At least 1. */
int64_t chart_grid_step(int64_t max);

/* Views of the video's or author's share as a bar: `width` out of 1,000. */
void chart_meter(struct buf *b, const char *class, int64_t part, int64_t whole);

#endif
