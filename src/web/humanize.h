/* Numbers and times for people. Short forms are truncated, never rounded up: 999,999 becomes "999K", not
 * "1000K". All times are UTC. The functions named format_ append plain text, those named html_ append HTML.
 */
#ifndef VT_WEB_HUMANIZE_H
#define VT_WEB_HUMANIZE_H

#include "base/buf.h"

#include <stdint.h>

/* Appends the exact number: `9,007,199,254,740,991`. */
void format_number(struct buf *b, int64_t v);
/* Appends the short form: `2,400`, `12.4K`, `124K`, `1.2M`, `9,007T`. Numbers below 10,000 are exact. */
void format_number_short(struct buf *b, int64_t v);

/* Appends the short form. Its tooltip is the exact number, which screen readers read instead of the short
 * form. */
void html_number(struct buf *b, int64_t v);

/* Appends html_number() and the matching noun: `1 view`, `12.4K views`. */
void html_quantity(struct buf *b, int64_t v, const char *singular, const char *plural);

/* Appends `v` / `base`, truncated to one decimal if it is below 100, otherwise to an integer: `5.2 times`.
 * Precondition: `base` > 0. */
void format_multiplier(struct buf *b, int64_t v, int64_t base);

/* Appends `part` / `whole` as a rounded percentage: `37%`. Appends `<1%` or `>99%` (escaped for HTML) if the
 * value is rounded to 0% or 100% but is not exactly that. Appends `0%` if `whole` is 0. */
void format_percentage(struct buf *b, int64_t part, int64_t whole);

/* Appends the change from `before` to `now`: `up 24% from`, `down 3% from`, `3.5 times as many as in`, `the
 * same number as in`. The caller appends the name of the earlier period. Precondition: `before` > 0. */
void format_change(struct buf *b, int64_t now, int64_t before);

/* Returns a + b, but at most COUNT_SUM_MAX, so that the sum over any number of videos cannot overflow. */
#define COUNT_SUM_MAX INT64_C(1000000000000000000)
int64_t count_add_saturating(int64_t a, int64_t b);

/* Append a date with the year, such as `14 Nov 2026`, or without it, such as `14 Nov`. */
void format_date(struct buf *b, int32_t date);
void format_date_short(struct buf *b, int32_t date);
/* Appends `14 Nov 2026, 09:05 UTC`. */
void format_date_time(struct buf *b, int64_t t_ms);
/* Appends the date in a <time> element. */
void html_date(struct buf *b, int32_t date);
/* Appends the age of `t_ms`: `just now`, `5 minutes ago`, `3 hours ago`, `12 days ago`; from 31 days on, the
 * date. The text is in a <time> element with the exact time as tooltip. */
void html_time_ago(struct buf *b, int64_t t_ms, int64_t now_ms);

#endif
