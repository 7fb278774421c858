/* Unpacks arbitrary bytes as the packed columns of a videos row. Accepted bytes equal their repacked
 * values. */
#include "base/check.h"
#include "store/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str packed = str_make((const char *)data, size);
    struct post posts[PLATFORM_COUNT];
    struct milestone milestones[MILESTONES_MAX];
    struct recent_days recent;
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
    if (unpack_recent(packed, &recent)) {
        pack_recent(&again, &recent);
        CHECK(str_eq(buf_str(&again), packed));
    }
    buf_fini(&again);
    return 0;
}
