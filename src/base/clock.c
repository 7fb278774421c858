/* Clocks and the calendar. Years begin in March, so that the day that not every year has is their last; from
 * a date to its text by C. Neri and L. Schneider, "Euclidean affine functions and their application to
 * calendar algorithms" (2022), without a branch and with multiplications where others divide. */
#include "base/clock.h"

#include "base/check.h"
#include "base/digits.h"

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

int64_t clock_mono_ms(void)
{
#ifdef VT_TEST_SEAMS
    if (test_clock && test_clock[1])
        return test_clock[1];
#endif
    return read_clock(CLOCK_MONOTONIC, 1000);
}

int64_t clock_work_us(void)
{
    return read_clock(CLOCK_MONOTONIC, 1000000);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

int32_t date_of(int64_t t_ms)
{
    return (int32_t)floor_div(t_ms, DAY_MS);
}

int64_t date_start_ms(int32_t date)
{
    return (int64_t)date * DAY_MS;
}

static int32_t days_from_civil(int y, int m, int d)
{
    y -= m <= 2;
    int era = (y >= 0 ? y : y - 399) / 400;
    int yoe = y - era * 400;
    int doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

/* `n` digits at s[at] as a number, -1 when one of them is no digit. */
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

/* Days from 0000-03-01, where the years of this file begin, to 1970-01-01; and the dates that have four
 * digits of year. */
enum { EPOCH_DAY = 719468, FIRST_DAY = EPOCH_DAY - 719162, LAST_DAY = EPOCH_DAY + 2932896 };

static void format_day(uint32_t day, char out[DATE_TEXT_LEN])
{
    const uint32_t century = (4 * day + 3) / 146097, of_century = (4 * day + 3) % 146097 / 4;
    const uint64_t years = UINT64_C(2939745) * (4 * of_century + 3); /* times 2^32, of the century */
    const uint32_t of_year = (uint32_t)years / 2939745 / 4;
    const uint32_t months = 2141 * of_year + 197913; /* times 2^16, counted from the January before */
    const bool next_year = of_year >= 306;
    put_4_digits(out, 100 * century + (uint32_t)(years >> 32) + next_year);
    out[4] = '-';
    put_2_digits(out + 5, (months >> 16) - (next_year ? 12 : 0));
    out[7] = '-';
    put_2_digits(out + 8, (months & 0xffff) / 2141 + 1);
}

/* What has no such text gets that of the nearest date that has. */
static uint32_t day_of(int64_t date)
{
    int64_t day = date + EPOCH_DAY;
    return (uint32_t)(day < FIRST_DAY ? FIRST_DAY : day > LAST_DAY ? LAST_DAY : day);
}

void date_format(int32_t date, char out[DATE_TEXT_LEN])
{
    format_day(day_of(date), out);
}

/* Milliseconds of ".fraction" (s begins with the dot), -1 when it is not 1 to 9 digits. */
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
    const int64_t first = (FIRST_DAY - EPOCH_DAY) * DAY_MS, last = (LAST_DAY - EPOCH_DAY + 1) * DAY_MS - 1;
    if (t_ms < first || t_ms > last)
        t_ms = t_ms < first ? first : last;
    const uint64_t since = (uint64_t)(t_ms + EPOCH_DAY * DAY_MS);
    const uint32_t day = (uint32_t)(since / DAY_MS), ms = (uint32_t)(since - (uint64_t)day * DAY_MS);
    const uint32_t s = ms / 1000, minutes = s / 60, rest = ms % 1000;
    format_day(day, out);
    out[10] = 'T';
    put_2_digits(out + 11, minutes / 60);
    out[13] = ':';
    put_2_digits(out + 14, minutes % 60);
    out[16] = ':';
    put_2_digits(out + 17, s % 60);
    out[19] = '.';
    out[20] = (char)('0' + rest / 100);
    put_2_digits(out + 21, rest % 100);
    out[23] = 'Z';
}

void time_format_again(int64_t t_ms, char out[TIME_TEXT_LEN])
{
    enum { TEXT_BITS = 3 };
    /* By the first bits of a product, so that times a second apart have places of their own; 0 has the first.
     */
    static _Thread_local struct {
        int64_t t_ms;
        char text[TIME_TEXT_LEN];
    } texts[1 << TEXT_BITS] = {[0].text = "1970-01-01T00:00:00.000Z"};
    const size_t place = (size_t)((uint64_t)t_ms * UINT64_C(0x9E3779B97F4A7C15) >> (64 - TEXT_BITS));
    if (texts[place].t_ms != t_ms) {
        texts[place].t_ms = t_ms;
        time_format(t_ms, texts[place].text);
    }
    memcpy(out, texts[place].text, TIME_TEXT_LEN);
}
