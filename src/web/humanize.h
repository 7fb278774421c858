/* Numbers and times as people read them. Short forms are cut, never rounded up: nothing is said to be more
 * than it is, and 999,999 is "999K", never "1000K". All times are UTC. */
#ifndef VT_WEB_HUMANIZE_H
#define VT_WEB_HUMANIZE_H

#include "base/buf.h"

#include <stdint.h>

/* `9,007,199,254,740,991` */
void format_number(struct buf *b, int64_t v);
/* `2,400`, `12.4K`, `124K`, `1.2M`, `9,007T`: exact below 10,000. */
void format_number_short(struct buf *b, int64_t v);

/* The short form, with the exact one on hover and for screen readers. */
void html_number(struct buf *b, int64_t v);

/* `1 view`, `12.4K views`: html_number and the word. `many` is the plural. */
void html_quantity(struct buf *b, int64_t v, const char *one, const char *many);

/* `5.2 times`, cut to one decimal; above 100 without. `base` > 0. */
void format_multiplier(struct buf *b, int64_t v, int64_t base);

/* `37%` of a whole, rounded; `<1%` and `>99%` where rounding would say nothing or all. 0% of nothing. */
void format_percentage(struct buf *b, int64_t part, int64_t whole);

/* How a count compares with the one before, up to where the one before is named: `up 24% on`, `down 3% on`,
 * `3.5 times as many as in`, `the same number as in`. `before` > 0. */
void format_change(struct buf *b, int64_t now, int64_t before);

/* Sums of counts stop at 10^18, so that no number of videos makes one overflow. */
#define COUNT_SUM_MAX INT64_C(1000000000000000000)
int64_t count_sum(int64_t a, int64_t b);

/* `14 Nov 2026`; `14 Nov`. */
void format_date(struct buf *b, int32_t date);
void format_date_short(struct buf *b, int32_t date);
/* `14 Nov 2026, 09:05 UTC` */
void format_date_time(struct buf *b, int64_t t_ms);
/* The date in a <time>. */
void html_date(struct buf *b, int32_t date);
/* `just now`, `5 minutes ago`, `3 hours ago`, `12 days ago`, else the date; in a <time> with the exact time
 * on hover. */
void html_time_ago(struct buf *b, int64_t t_ms, int64_t now_ms);

#endif
