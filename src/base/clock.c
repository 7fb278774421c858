/* Clocks and the calendar. Calendar arithmetic uses eras of 400 years, and years that begin on March 1, so
 * that the leap day is the last day of a year. See Howard Hinnant, "chrono-compatible low-level date
 * algorithms". */
#include "base/clock.h"

#include "base/check.h"
#include "base/number.h"

#include <time.h>

#ifdef VT_TEST_SEAMS
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const volatile int64_t *test_clock; /* [0] wall, [1] monotonic */

bool clock_use_test_file(void)
{
    const char *path = getenv("VIEWTALLY_TEST_CLOCK");
    if (!path || !*path)
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    void *p = mmap(NULL, 2 * sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (p == MAP_FAILED)
        return false;
    test_clock = p;
    return true;
}

static bool tests_connections;

void clock_test_connections(void)
{
    tests_connections = true;
}
#endif

static int64_t read_clock(clockid_t id, int64_t per_second)
{
    struct timespec ts;
    CHECK(clock_gettime(id, &ts) == 0);
    return (int64_t)ts.tv_sec * per_second + ts.tv_nsec / (1000000000 / per_second);
}

int64_t clock_wall_ms(void)
{
#ifdef VT_TEST_SEAMS
    if (test_clock && test_clock[0])
        return test_clock[0];
#endif
    return read_clock(CLOCK_REALTIME, 1000);
}

bool clock_wall_is_fake(void)
{
#ifdef VT_TEST_SEAMS
    return test_clock && test_clock[0];
#else
    return false;
#endif
}

int64_t clock_mono_ms(void)
{
#ifdef VT_TEST_SEAMS
    if (test_clock && test_clock[1])
        return test_clock[1];
#endif
    return read_clock(CLOCK_MONOTONIC, 1000);
}

int64_t clock_connection_ms(void)
{
#ifdef VT_TEST_SEAMS
    if (tests_connections)
        return clock_mono_ms();
#endif
    return read_clock(CLOCK_MONOTONIC, 1000);
}

int64_t clock_work_us(void)
{
    return read_clock(CLOCK_MONOTONIC, 1000000);
}

int32_t date_of(int64_t t_ms)
{
    return (int32_t)(t_ms / DAY_MS - (t_ms % DAY_MS < 0)); /* rounds down before 1970, too */
}

int64_t date_start_ms(int32_t date)
{
    return (int64_t)date * DAY_MS;
}

/* Precondition: year >= 1. */
static int32_t days_from_civil(int year, int month, int day)
{
    year -= month <= 2;
    const int era = year / 400, year_of_era = year % 400;
    const int day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    const int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

/* Returns the number that consists of the `n` digits at s[at], or -1 if one of these characters is not a
 * digit. */
static int digits(struct str s, size_t at, size_t n)
{
    int v = 0;
    for (size_t i = at; i < at + n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return -1;
        v = v * 10 + (s.p[i] - '0');
    }
    return v;
}

static int days_in_month(int y, int m)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return m == 2 && leap ? 29 : days[m - 1];
}

bool date_parse(struct str s, int32_t *out)
{
    if (s.len != DATE_TEXT_LEN || s.p[4] != '-' || s.p[7] != '-')
        return false;
    int y = digits(s, 0, 4), m = digits(s, 5, 2), d = digits(s, 8, 2);
    if (y < 1 || m < 1 || m > 12 || d < 1 || d > days_in_month(y, m))
        return false;
    *out = days_from_civil(y, m, d);
    return true;
}

/* The first and the last date with a year of four digits: 0001-01-01 and 9999-12-31. */
enum { FIRST_DATE = -719162, LAST_DATE = 2932896 };

struct civil_date {
    unsigned year, month, day;
};

/* The inverse of days_from_civil(). */
static struct civil_date civil_from_days(int32_t date)
{
    const unsigned days = (unsigned)(date - FIRST_DATE) + 306; /* days since 0000-03-01 */
    const unsigned era = days / 146097, day_of_era = days % 146097;
    const unsigned year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const unsigned day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100); /* days since March 1 */
    const unsigned month_from_march = (5 * day_of_year + 2) / 153;
    const unsigned month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    return (struct civil_date){
        .year = year_of_era + 400 * era + (month <= 2),
        .month = month,
        .day = day_of_year - (153 * month_from_march + 2) / 5 + 1,
    };
}

int32_t month_start(int32_t date)
{
    return date < FIRST_DATE ? FIRST_DATE : date - ((int32_t)civil_from_days(date).day - 1);
}

void date_format(int32_t date, char out[DATE_TEXT_LEN])
{
    const struct civil_date civil = civil_from_days(date < FIRST_DATE  ? FIRST_DATE
                                                    : date > LAST_DATE ? LAST_DATE
                                                                       : date);
    format_4_digits(civil.year, out);
    out[4] = '-';
    format_2_digits(civil.month, out + 5);
    out[7] = '-';
    format_2_digits(civil.day, out + 8);
}

/* Returns the milliseconds of ".fraction", or -1 if the dot is not followed by 1 to 9 digits. */
static int fraction_ms(struct str s)
{
    if (s.len < 2 || s.len > 10 || s.p[0] != '.' || digits(s, 1, s.len - 1) < 0)
        return -1;
    int ms = 0;
    for (size_t i = 1; i <= 3; i++)
        ms = ms * 10 + (i < s.len ? s.p[i] - '0' : 0);
    return ms;
}

bool time_parse(struct str s, int64_t *out)
{
    int32_t date;
    if (s.len < 20 || s.p[10] != 'T' || s.p[13] != ':' || s.p[16] != ':' || s.p[s.len - 1] != 'Z' ||
        !date_parse(str_make(s.p, DATE_TEXT_LEN), &date) || date < 0)
        return false;
    int hour = digits(s, 11, 2), minute = digits(s, 14, 2), second = digits(s, 17, 2);
    int ms = s.len == 20 ? 0 : fraction_ms(str_make(s.p + 19, s.len - 20));
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 || ms < 0)
        return false;
    *out = date_start_ms(date) + hour * (int64_t)HOUR_MS + minute * MINUTE_MS + second * SECOND_MS + ms;
    return true;
}

void time_format(int64_t t_ms, char out[TIME_TEXT_LEN])
{
    const int64_t first = FIRST_DATE * DAY_MS, last = (LAST_DATE + 1) * DAY_MS - 1;
    t_ms = t_ms < first ? first : t_ms > last ? last : t_ms;
    const int32_t date = date_of(t_ms);
    const unsigned ms = (unsigned)(t_ms - date_start_ms(date)), s = ms / 1000;
    date_format(date, out);
    out[10] = 'T';
    format_2_digits(s / 3600, out + 11);
    out[13] = ':';
    format_2_digits(s / 60 % 60, out + 14);
    out[16] = ':';
    format_2_digits(s % 60, out + 17);
    out[19] = '.';
    out[20] = (char)('0' + ms % 1000 / 100);
    format_2_digits(ms % 100, out + 21);
    out[23] = 'Z';
}

bool time_name_parse(struct str s, int64_t *out)
{
    const char *p = s.p;
    if (s.len != TIME_NAME_LEN || p[8] != 'T')
        return false;
    const char text[] = {p[0], p[1], p[2],  p[3], '-',   p[4],  p[5], '-',   p[6],  p[7],
                         'T',  p[9], p[10], ':',  p[11], p[12], ':',  p[13], p[14], p[15]};
    return time_parse(str_make(text, sizeof text), out);
}

void time_name_format(int64_t t_ms, char out[TIME_NAME_LEN + 1])
{
    char text[TIME_TEXT_LEN];
    size_t n = 0;
    time_format(t_ms, text);
    for (size_t i = 0; i < sizeof "2026-06-15T00:00:00" - 1; i++)
        if (text[i] != '-' && text[i] != ':')
            out[n++] = text[i];
    out[n++] = 'Z';
    out[n] = '\0';
}
