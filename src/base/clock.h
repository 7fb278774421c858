/* The two clocks and UTC calendar arithmetic. Times are int64_t milliseconds since 1970-01-01T00:00:00Z,
 * dates are int32_t days since 1970-01-01; both proleptic Gregorian, no leap seconds, as in RFC 3339 "Z"
 * times. */
#ifndef VT_BASE_CLOCK_H
#define VT_BASE_CLOCK_H

#include "base/str.h"

#include <stdint.h>

/* 64 bits wide: thirty days of milliseconds do not fit into an int. */
#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

/* What the calendar says: for stored times only. May step back. */
int64_t clock_wall_ms(void);

/* Never falls; for windows and deadlines. */
int64_t clock_mono_ms(void);

/* Microseconds of the monotonic clock of the machine, also under a test clock: for measuring slices of work.
 */
int64_t clock_work_us(void);

#ifdef VT_TEST_SEAMS
/* Maps the file that VIEWTALLY_TEST_CLOCK names: two little-endian int64, wall and monotonic ms, 0 meaning
 * the real clock. A test moves time by writing to it. Without the variable nothing changes. False when the
 * file cannot be mapped. */
bool clock_use_test_file(void);
#endif

int32_t date_of(int64_t t_ms);       /* UTC date of an instant, rounding towards minus infinity */
int64_t date_start_ms(int32_t date); /* its first millisecond */

/* `YYYY-MM-DD`, a date that exists, years 0001 to 9999. */
bool date_parse(struct str s, int32_t *out);
enum { DATE_TEXT_LEN = 10 };
/* A date of another year than 0001 to 9999 is formatted as the nearest one that is. */
void date_format(int32_t date, char out[DATE_TEXT_LEN]);

/* `YYYY-MM-DDTHH:MM:SS[.fraction]Z` with 1 to 9 digits of fraction, cut to milliseconds; years 1970 to 9999;
 * second 60 is refused. Upper-case T and Z only. */
bool time_parse(struct str s, int64_t *out);
enum { TIME_TEXT_LEN = 24 };
/* `2026-06-15T00:00:00.000Z`; times of other years than 0001 to 9999 as of date_format(). */
void time_format(int64_t t_ms, char out[TIME_TEXT_LEN]);

#endif
