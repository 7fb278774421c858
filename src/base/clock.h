/* Clocks, and UTC calendar arithmetic. A time is an int64_t of milliseconds since 1970-01-01T00:00:00Z, a
 * date an int32_t of days since 1970-01-01. Both use the proleptic Gregorian calendar without leap seconds,
 * like RFC 3339 times in "Z". */
#ifndef VT_BASE_CLOCK_H
#define VT_BASE_CLOCK_H

#include "base/str.h"

#include <stdint.h>

/* int64_t, because the milliseconds of 30 days do not fit into an int. */
#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

/* Wall clock. Only for times that are stored or shown, because it may step back. */
int64_t clock_wall_ms(void);

/* Monotonic clock, for deadlines and rate-limit windows. */
int64_t clock_mono_ms(void);

/* Monotonic clock in microseconds, for measuring durations. A test clock does not change it. */
int64_t clock_work_us(void);

#ifdef VT_TEST_SEAMS
/* If VIEWTALLY_TEST_CLOCK names a file, maps it and reads the clocks from it: two little-endian int64, wall
 * and monotonic milliseconds; 0 stands for the real clock. A test moves time by writing to the file. Returns
 * false if the file cannot be mapped. */
bool clock_use_test_file(void);
#endif

int32_t date_of(int64_t t_ms);       /* UTC date of an instant, rounding towards minus infinity */
int64_t date_start_ms(int32_t date); /* its first millisecond */

/* `YYYY-MM-DD` of an existing date in the years 0001 to 9999. */
bool date_parse(struct str s, int32_t *out);
enum { DATE_TEXT_LEN = 10 };
/* Years outside 0001 to 9999 are clamped to the nearest date. */
void date_format(int32_t date, char out[DATE_TEXT_LEN]);

/* `YYYY-MM-DDTHH:MM:SS[.fraction]Z`, years 1970 to 9999. The fraction has 1 to 9 digits and is truncated to
 * milliseconds. Rejects second 60, and lower-case t and z. */
bool time_parse(struct str s, int64_t *out);
enum { TIME_TEXT_LEN = 24 };
/* `2026-06-15T00:00:00.000Z`. Clamps like date_format(). */
void time_format(int64_t t_ms, char out[TIME_TEXT_LEN]);

#endif
