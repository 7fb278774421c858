/* Writes numbers, dates and times as English text. */
#include "web/humanize.h"

#include "base/clock.h"
#include "base/number.h"
#include "base/plural.h"
#include "web/html.h"

void format_number(struct buf *b, int64_t v)
{
    char digits[20];
    size_t n = i64_format(v, digits), i = 0;
    if (v < 0)
        buf_append_char(b, digits[i++]);
    for (; i < n; i++) {
        buf_append_char(b, digits[i]);
        if ((n - i) % 3 == 1 && i + 1 < n)
            buf_append_char(b, ',');
    }
}

void format_number_short(struct buf *b, int64_t v)
{
    static const struct {
        int64_t value;
        char letter;
    } units[] = {{INT64_C(1000000000000), 'T'}, {1000000000, 'B'}, {1000000, 'M'}, {1000, 'K'}};
    size_t u = 0;
    if (v < 10000) {
        format_number(b, v);
        return;
    }
    while (v < units[u].value)
        u++;
    int64_t whole = v / units[u].value, tenth = v % units[u].value / (units[u].value / 10);
    format_number(b, whole);
    if (whole < 100 && tenth) {
        buf_append_char(b, '.');
        buf_append_i64(b, tenth);
    }
    buf_append_char(b, units[u].letter);
}

void html_number(struct buf *b, int64_t v)
{
    if (v < 10000) {
        format_number(b, v);
        return;
    }
    HTML(b, "<span class=\"n\" aria-hidden=\"true\" title=\"");
    format_number(b, v);
    HTML(b, "\">");
    format_number_short(b, v);
    HTML(b, "</span><span class=\"sr\">");
    format_number(b, v);
    HTML(b, "</span>");
}

void html_quantity(struct buf *b, int64_t v, const char *singular, const char *plural)
{
    html_number(b, v);
    buf_append_char(b, ' ');
    buf_append(b, str_from_cstr(v == 1 ? singular : plural));
}

static void format_ratio(struct buf *b, int64_t v, int64_t base)
{
    int64_t whole = v / base, tenth = (int64_t)((__int128)(v % base) * 10 / base);
    format_number(b, whole);
    if (whole < 100 && tenth) {
        buf_append_char(b, '.');
        buf_append_i64(b, tenth);
    }
}

void format_multiplier(struct buf *b, int64_t v, int64_t base)
{
    format_ratio(b, v, base);
    HTML(b, " times");
}

/* Returns part * 100 / whole, rounded to the nearest integer. */
static int64_t percent(int64_t part, int64_t whole)
{
    return (int64_t)(((__int128)part * 200 + whole) / ((__int128)whole * 2));
}

void format_percentage(struct buf *b, int64_t part, int64_t whole)
{
    int64_t p = whole > 0 ? percent(part, whole) : 0;
    if (p == 0 && part > 0)
        HTML(b, "&lt;1%");
    else if (p == 100 && part < whole)
        HTML(b, "&gt;99%");
    else {
        buf_append_i64(b, p);
        buf_append_char(b, '%');
    }
}

void format_change(struct buf *b, int64_t now, int64_t before)
{
    int64_t more = now - before, p = percent(more < 0 ? -more : more, before);
    if (more == 0) {
        HTML(b, "the same number as in");
    } else if (now / before >= 3) {
        format_ratio(b, now, before);
        HTML(b, " times as many as in");
    } else {
        buf_append(b, more > 0 ? STR("up ") : STR("down "));
        if (p == 0)
            HTML(b, "less than 1% from");
        else if (p == 100 && now > 0 && more < 0)
            HTML(b, "more than 99% from");
        else
            buf_printf(b, "%lld%% from", (long long)p);
    }
}

int64_t count_add_saturating(int64_t a, int64_t b)
{
    return a > COUNT_SUM_MAX - b ? COUNT_SUM_MAX : a + b;
}

/* ---- dates ---- */

struct date_parts {
    int year, month, day;
};

static struct date_parts parts_of(int32_t date)
{
    char t[DATE_TEXT_LEN];
    date_format(date, t);
    return (struct date_parts){
        .year = (t[0] - '0') * 1000 + (t[1] - '0') * 100 + (t[2] - '0') * 10 + (t[3] - '0'),
        .month = (t[5] - '0') * 10 + (t[6] - '0'),
        .day = (t[8] - '0') * 10 + (t[9] - '0'),
    };
}

void format_date_short(struct buf *b, int32_t date)
{
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct date_parts p = parts_of(date);
    buf_printf(b, "%d %s", p.day, months[(p.month + 11) % 12]);
}

void format_date(struct buf *b, int32_t date)
{
    format_date_short(b, date);
    buf_printf(b, " %d", parts_of(date).year);
}

void format_date_time(struct buf *b, int64_t t_ms)
{
    char t[TIME_TEXT_LEN];
    time_format(t_ms, t);
    format_date(b, date_of(t_ms));
    buf_printf(b, ", %.5s UTC", t + DATE_TEXT_LEN + 1);
}

void html_date(struct buf *b, int32_t date)
{
    char t[DATE_TEXT_LEN];
    date_format(date, t);
    buf_printf(b, "<time datetime=\"%.*s\">", DATE_TEXT_LEN, t);
    format_date(b, date);
    HTML(b, "</time>");
}

static void format_age(struct buf *b, int64_t n, const char *unit)
{
    buf_printf(b, "%lld %s%s ago", (long long)n, unit, plural(n, "", "s"));
}

void html_time_ago(struct buf *b, int64_t t_ms, int64_t now_ms)
{
    char t[TIME_TEXT_LEN];
    int64_t age = now_ms - t_ms;
    time_format(t_ms, t);
    buf_printf(b, "<time datetime=\"%.*s\" title=\"", TIME_TEXT_LEN, t);
    format_date_time(b, t_ms);
    HTML(b, "\">");
    if (age < MINUTE_MS)
        HTML(b, "just now");
    else if (age < HOUR_MS)
        format_age(b, age / MINUTE_MS, "minute");
    else if (age < DAY_MS)
        format_age(b, age / HOUR_MS, "hour");
    else if (age < 31 * DAY_MS)
        format_age(b, age / DAY_MS, "day");
    else
        format_date(b, date_of(t_ms));
    HTML(b, "</time>");
}
