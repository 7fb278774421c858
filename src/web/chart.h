/* A bar chart of views per day as inline SVG, followed by the same numbers in a table.
 *
 * The chart scales without a script and without inline styles: its positions are percentages, and its text
 * keeps its size. A day on which a video went viral has a star, a hatched bar and a note in the table, so
 * that color is never the only sign. */
#ifndef VT_WEB_CHART_H
#define VT_WEB_CHART_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHART_DAYS_MAX = 92 };

struct chart_day {
    int32_t date;
    int64_t views;
    int64_t total; /* all views up to the end of the day */
    int32_t viral; /* number of videos that went viral on this day */
};

struct chart {
    const char *id;   /* prefix of element ids; a literal, unique on the page */
    struct str title; /* title as plain text, for example "Views per day" */
    bool one_video;   /* the chart shows one video, so its text is "went viral", not "2 videos went viral" */
    const struct chart_day *days; /* days with consecutive dates in ascending order */
    size_t count;                 /* at most CHART_DAYS_MAX; if 0, a sentence is written instead of a chart */
};

/* Writes the chart and its table. */
void chart_write(struct buf *b, const struct chart *c);

/* Returns the distance between the grid lines of a chart whose highest value is `max`: the lowest number of
 * the form 1, 2 or 5 times a power of ten (at least 1) for which at most four grid lines above the grid line
 * of 0 are enough. */
int64_t chart_grid_step(int64_t max);

/* Writes a horizontal bar with the CSS class `class`. The fraction `part` / `whole` of the bar is filled. */
void chart_write_meter(struct buf *b, const char *class, int64_t part, int64_t whole);

#endif
