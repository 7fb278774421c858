/* Numbers and times for people. Short forms are truncated, never rounded up: 999,999 becomes "999K", not
 * "1000K". All times are UTC. The functions named format_ append plain text, those named html_ append HTML.
 */
#ifndef VT_WEB_HUMANIZE_H
#define VT_WEB_HUMANIZE_H

#include "base/buf.h"

#include <stdint.h>

/* `9,007,199,254,740,991` */
void format_number(struct buf *b, int64_t v);
/* `2,400`, `12.4K`, `124K`, `1.2M`, `9,007T`; exact below 10,000. */
void format_number_short(struct buf *b, int64_t v);

/* The short form; the exact number is the tooltip and what screen readers read. */
void html_number(struct buf *b, int64_t v);

/* `1 view`, `12.4K views`: html_number() and a noun in the singular or plural. */
void html_quantity(struct buf *b, int64_t v, const char *singular, const char *plural);

/* `5.2 times`: v / base, truncated to one decimal below 100 and to an integer above. `base` > 0. */
void format_multiplier(struct buf *b, int64_t v, int64_t base);

/* `37%`, rounded; `<1%` and `>99%` (escaped for HTML) instead of a rounded 0% and 100%. A `whole` of 0 gives
 * `0%`. */
void format_percentage(struct buf *b, int64_t part, int64_t whole);

/* The change from `before` to `now`, to be followed by the name of the earlier period: `up 24% from`,
 * `down 3% from`, `3.5 times as many as in`, `the same number as in`. `before` > 0. */
void format_change(struct buf *b, int64_t now, int64_t before);

/* Adds two counts. The sum saturates at COUNT_SUM_MAX, so that no number of videos can overflow it. */
#define COUNT_SUM_MAX INT64_C(1000000000000000000)
int64_t count_sum(int64_t a, int64_t b);

/* `14 Nov 2026`; `14 Nov`. */
void format_date(struct buf *b, int32_t date);
void format_date_short(struct buf *b, int32_t date);
/* `14 Nov 2026, 09:05 UTC` */
void format_date_time(struct buf *b, int64_t t_ms);
/* The date in a <time> element. */
void html_date(struct buf *b, int32_t date);
/* `just now`, `5 minutes ago`, `3 hours ago`, `12 days ago`, from 31 days on the date; in a <time> element
 * whose tooltip is the exact time. */
void html_time_ago(struct buf *b, int64_t t_ms, int64_t now_ms);

#endif
