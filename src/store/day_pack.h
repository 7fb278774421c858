/* The packed column `days` of the table `videos`: the gains of a video by day.
 *
 *   version 1, the newest date, the sum of all gains, then the gain of each day that has one, newest first.
 *   Between two gains: the number of days without a gain between them.
 *
 * Dates are zigzag-encoded, all numbers are LEB128 varints in their shortest form, and no gain is 0. So equal
 * gains result in equal bytes. An empty column means no gains. The number of days is not limited. */
#ifndef VT_STORE_DAY_PACK_H
#define VT_STORE_DAY_PACK_H

#include "base/buf.h"
#include "store/model.h"
#include "store/varint.h"

/* Iterates over the days, newest first:
 *
 *     struct day_scan scan;
 *     day_scan_begin(&scan, packed);
 *     while (day_scan_next(&scan, &day))
 *         …
 *     if (scan.r.bad)
 *         the column is damaged
 *
 * A loop that breaks early need not test `bad`, because day_scan_next() returns only valid values. */
struct day_scan {
    struct varint_reader r;
    int64_t date; /* date of the next day */
    int64_t left; /* sum of the gains that the scan has not reached */
};
void day_scan_begin(struct day_scan *scan, struct str packed);
bool day_scan_next(struct day_scan *scan, struct day_gain *out);

/* Sets `*total` to the sum of all gains, which the head of the column contains. Returns false if the head is
 * damaged. */
MUST_USE bool days_total(struct str packed, int64_t *total);

/* Appends the packed form of `days`. Omits days without a gain, and ignores the member gained_total. CHECKs
 * that the dates ascend and that the sum does not exceed GAINED_MAX. */
void days_pack(struct buf *b, const struct day_gain *days, size_t count);

/* Appends a copy of the column `packed` to which `gained` views on `date` have been added. Returns false if
 * the head or the newest gain of `packed` is damaged, if `date` is older than the newest date in `packed`, or
 * if the sum would exceed GAINED_MAX. Copies the older gains without checking them. */
MUST_USE bool days_add(struct buf *b, struct str packed, int32_t date, int64_t gained);

/* Appends the column `recent` with the same gains, which the previous release reads: version 1, the newest
 * date, a bit mask, the sum of all earlier gains, then the gain of each day, by ascending date. The mask says
 * which of the seven dates before the newest date have a gain (1: one day before it, 2: two days, 4: three
 * days, …). Returns false if the part of `packed` with these dates is damaged. */
MUST_USE bool days_pack_recent(struct buf *b, struct str packed);

#endif
