/* Packs and unpacks the gains of a video by day; see day_pack.h for the format. */
#include "store/day_pack.h"

#include "base/check.h"

enum {
    DAYS_VERSION = 1,
    RECENT_VERSION = 1,
    RECENT_DAYS = 8,
};

/* The limits of valid dates. They are far from the limits of int32_t, so that computations with dates cannot
 * overflow. */
#define DATE_MIN (INT32_MIN / 2)
#define DATE_MAX (INT32_MAX / 2)

/* --- reading packed days --- */

void day_scan_begin(struct day_scan *scan, struct str packed)
{
    *scan = (struct day_scan){.r = varint_reader_on(packed)};
    if (!packed.len)
        return;
    if (varint_get(&scan->r) != DAYS_VERSION)
        scan->r.bad = true;
    scan->date = varint_get_signed(&scan->r);
    scan->left = (int64_t)varint_get_at_most(&scan->r, (uint64_t)GAINED_MAX);
    if (!scan->left || scan->date < DATE_MIN || scan->date > DATE_MAX)
        scan->r.bad = true;
}

/* Moves to the next older day with a gain, or to the end. */
static void advance(struct day_scan *scan)
{
    if (scan->left)
        scan->date -= 1 + (int64_t)varint_get_at_most(&scan->r, (uint64_t)(scan->date - DATE_MIN));
    else if (scan->r.p != scan->r.end)
        scan->r.bad = true;
    if (scan->date < DATE_MIN)
        scan->r.bad = true;
}

bool day_scan_next(struct day_scan *scan, struct day_gain *out)
{
    if (!scan->left || scan->r.bad)
        return false;
    *out = (struct day_gain){.date = (int32_t)scan->date, .gained_total = scan->left};
    out->gained = (int64_t)varint_get_at_most(&scan->r, (uint64_t)scan->left);
    scan->left -= out->gained;
    if (!out->gained)
        scan->r.bad = true;
    if (!scan->r.bad)
        advance(scan);
    return !scan->r.bad;
}

bool days_total(struct str packed, int64_t *total)
{
    struct day_scan scan;
    day_scan_begin(&scan, packed);
    *total = scan.left;
    return !scan.r.bad;
}

/* --- packing days --- */

static void put_head(struct buf *b, int64_t newest, int64_t total)
{
    varint_put(b, DAYS_VERSION);
    varint_put_signed(b, newest);
    varint_put(b, (uint64_t)total);
}

static void put_gap(struct buf *b, int64_t later, int64_t earlier)
{
    varint_put(b, (uint64_t)(later - earlier - 1));
}

void days_pack(struct buf *b, const struct day_gain *days, size_t count)
{
    int64_t total = 0, later = 0;
    bool is_newest = true;
    for (size_t i = 0; i < count; i++) {
        CHECK(days[i].gained >= 0 && days[i].gained <= GAINED_MAX - total);
        CHECK(i == 0 || days[i].date > days[i - 1].date);
        total += days[i].gained;
    }
    for (size_t i = count; i-- > 0;) {
        if (!days[i].gained)
            continue;
        if (is_newest)
            put_head(b, days[i].date, total);
        else
            put_gap(b, later, days[i].date);
        varint_put(b, (uint64_t)days[i].gained);
        later = days[i].date;
        is_newest = false;
    }
}

/* Encodes only the newest day and copies the encoded older days. */
bool days_add(struct buf *b, struct str packed, int32_t date, int64_t gained)
{
    struct day_scan scan;
    CHECK(gained >= 0 && date >= DATE_MIN && date <= DATE_MAX);
    day_scan_begin(&scan, packed);
    const int64_t total = scan.left, newest = scan.date;
    if (scan.r.bad || gained > GAINED_MAX - total || (total && date < newest))
        return false;
    if (!gained) {
        buf_append(b, packed);
        return true;
    }
    put_head(b, date, total + gained);
    if (total && date == newest) {
        const uint64_t before = varint_get_at_most(&scan.r, (uint64_t)total);
        varint_put(b, before + (uint64_t)gained);
    } else {
        varint_put(b, (uint64_t)gained);
        if (total)
            put_gap(b, date, newest);
    }
    buf_append(b, str_make((const char *)scan.r.p, (size_t)(scan.r.end - scan.r.p)));
    return !scan.r.bad;
}

bool days_pack_recent(struct buf *b, struct str packed)
{
    struct day_gain days[RECENT_DAYS], day;
    struct day_scan scan;
    size_t count = 0;
    uint64_t others = 0;
    day_scan_begin(&scan, packed);
    const int64_t newest = scan.date;
    while (day_scan_next(&scan, &day) && day.date > newest - RECENT_DAYS) {
        if (day.date != newest)
            others |= UINT64_C(1) << (newest - day.date - 1);
        days[count++] = day;
    }
    if (scan.r.bad || !count)
        return !scan.r.bad;
    varint_put(b, RECENT_VERSION);
    varint_put_signed(b, newest);
    varint_put(b, others);
    varint_put(b, (uint64_t)(days[count - 1].gained_total - days[count - 1].gained));
    while (count > 0)
        varint_put(b, (uint64_t)days[--count].gained);
    return true;
}
