/* Maintains the recent days of a video. */
#include "store/recent.h"

#include "base/check.h"

#include <string.h>

static const struct day_gain no_day = {.date = 0};

static const struct day_gain *newest(const struct recent_days *recent)
{
    return recent->count ? &recent->days[recent->count - 1] : &no_day;
}

/* Makes room for a newer day. */
static void remove_before(struct recent_days *recent, int32_t date)
{
    size_t old = 0;
    while (old < recent->count && recent->days[old].date < date)
        old++;
    recent->count -= old;
    memmove(recent->days, recent->days + old, recent->count * sizeof recent->days[0]);
}

void recent_add(struct recent_days *recent, int32_t date, int64_t gained)
{
    CHECK(recent->known && gained >= 0);
    const struct day_gain last = *newest(recent);
    if ((recent->count && date < last.date) || gained > GAINED_MAX - last.gained_total) {
        recent->known = false;
        return;
    }
    if (!recent->count || date > last.date) {
        remove_before(recent, date - (RECENT_DAYS - 1));
        recent->days[recent->count++] = (struct day_gain){.date = date, .gained_total = last.gained_total};
    }
    recent->days[recent->count - 1].gained += gained;
    recent->days[recent->count - 1].gained_total += gained;
}

bool recent_is_sound(const struct recent_days *recent)
{
    int64_t total = recent->days[0].gained_total - recent->days[0].gained;
    for (size_t i = 0; i < recent->count; i++) {
        const struct day_gain *day = &recent->days[i];
        if (day->gained < 0 || total < 0 || day->gained > GAINED_MAX - total)
            return false;
        total += day->gained;
        if (day->gained_total != total)
            return false;
    }
    return true;
}

bool recent_reaches(const struct recent_days *recent, int32_t from)
{
    CHECK(recent->known);
    return !recent->count || from > newest(recent)->date - RECENT_DAYS;
}

const struct day_gain *recent_within(const struct recent_days *recent, int32_t from, int32_t to,
                                     size_t *count)
{
    size_t first = 0, end = recent->count;
    while (first < end && recent->days[first].date < from)
        first++;
    while (end > first && recent->days[end - 1].date > to)
        end--;
    *count = end - first;
    return recent->days + first;
}
