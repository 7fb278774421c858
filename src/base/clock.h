/* Clocks, and calendar arithmetic in UTC. A time is an int64_t: milliseconds since 1970-01-01T00:00:00Z. A
 * date is an int32_t: days since 1970-01-01. The calendar is the proleptic Gregorian one, without leap
 * seconds. */
#ifndef VT_BASE_CLOCK_H
#define VT_BASE_CLOCK_H

#include "base/str.h"

#include <stdint.h>

/* These are int64_t, because the milliseconds of 30 days do not fit into an int. */
#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

/* Returns the wall clock. Use it only for times that are stored or shown, because the clock may be set back.
 */
int64_t clock_wall_ms(void);

/* Returns the monotonic clock, for deadlines and rate-limit windows. */
int64_t clock_mono_ms(void);

/* Returns the monotonic clock, for the deadlines of connections to PostgreSQL. A test clock affects it only
 * after clock_test_connections(): a test clock that jumps would let a working connection time out, and a test
 * clock that stands still would prevent the next attempt to connect. */
int64_t clock_connection_ms(void);

/* Returns true if a test has set the wall clock. */
bool clock_wall_is_fake(void);

/* Returns the monotonic clock in microseconds, for measuring how long work takes. A test clock does not
 * affect it. */
int64_t clock_work_us(void);

#ifdef VT_TEST_SEAMS
/* If VIEWTALLY_TEST_CLOCK names a file, maps the file and reads both clocks from it. The file contains two
 * little-endian int64: the wall clock and the monotonic clock in milliseconds. A value of 0 means the real
 * clock. A test moves a clock by writing to the file. Returns false if the file cannot be mapped. */
bool clock_use_test_file(void);

/* From this call on, clock_connection_ms() reads the test clock, too. For tests of the connections. */
void clock_test_connections(void);
#endif

int32_t date_of(int64_t t_ms);       /* returns the UTC date of a time, also before 1970 */
int64_t date_start_ms(int32_t date); /* returns the first millisecond of a date */

/* Returns the first date of the month of `date`. Dates before 0001-01-01 count as the month 0001-01. */
int32_t month_start(int32_t date);

/* Parses `YYYY-MM-DD`. Returns false if the text has another form, or if there is no such date in the years
 * 0001 to 9999. */
bool date_parse(struct str s, int32_t *out);
enum { DATE_TEXT_LEN = 10 };
/* Writes `YYYY-MM-DD`. A date outside the years 0001 to 9999 is written as the nearest date within them. */
void date_format(int32_t date, char out[DATE_TEXT_LEN]);

/* Parses `YYYY-MM-DDTHH:MM:SS[.fraction]Z`, years 1970 to 9999. The fraction has 1 to 9 digits and is
 * truncated to milliseconds. Returns false for any other text, also for second 60 and for a lower-case t or
 * z. */
bool time_parse(struct str s, int64_t *out);
enum { TIME_TEXT_LEN = 24 };
/* Writes `2026-06-15T00:00:00.000Z`. Treats years outside 0001 to 9999 like date_format(). */
void time_format(int64_t t_ms, char out[TIME_TEXT_LEN]);

/* Parse and write a time in the name of a file, in whole seconds: `20260615T000000Z`. Such names sort by time
 * and contain no colon. `out` is NUL-terminated. */
bool time_name_parse(struct str s, int64_t *out);
enum { TIME_NAME_LEN = 16 };
void time_name_format(int64_t t_ms, char out[TIME_NAME_LEN + 1]);

#endif
