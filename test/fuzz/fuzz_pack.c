/* Unpacks arbitrary bytes as the packed columns of a videos row. Checks that packing the values again
 * gives the same bytes if the bytes are accepted. */
#include "base/check.h"
#include "base/vec.h"
#include "store/day_pack.h"
#include "store/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks that days which day_scan_next() accepts give the same bytes when they are packed again, and that
 * adding a gain on another date succeeds or is rejected without a crash. */
static void unpack_days(struct str packed, struct buf *again)
{
    VEC(struct day_gain) days = {0};
    struct day_gain day;
    struct day_scan scan;
    day_scan_begin(&scan, packed);
    while (day_scan_next(&scan, &day))
        *VEC_ADD(&days) = day;
    const bool sound = !scan.r.bad;
    for (size_t i = 0; i < days.count / 2; i++) {
        day = days.items[i];
        days.items[i] = days.items[days.count - 1 - i];
        days.items[days.count - 1 - i] = day;
    }
    if (sound) {
        days_pack(again, days.items, days.count);
        CHECK(str_eq(buf_str(again), packed));
    }
    buf_reset(again, 0);
    CHECK(days_pack_recent(again, packed) || !sound);
    (void)days_add(again, packed, 20000, 1);
    VEC_FREE(&days);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str packed = str_make((const char *)data, size);
    struct post posts[PLATFORM_COUNT];
    struct milestone milestones[MILESTONES_MAX];
    struct buf again;
    size_t count;
    buf_init(&again, 1 << 20);
    if (unpack_posts(packed, posts, &count)) {
        pack_posts(&again, posts, count);
        CHECK(str_eq(buf_str(&again), packed));
    }
    buf_reset(&again, 0);
    if (unpack_milestones(packed, milestones, &count)) {
        pack_milestones(&again, milestones, count);
        CHECK(str_eq(buf_str(&again), packed));
    }
    buf_reset(&again, 0);
    unpack_days(packed, &again);
    buf_fini(&again);
    return 0;
}
