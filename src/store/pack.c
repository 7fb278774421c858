/* Packs and unpacks columns; see pack.h for the format. */
#include "store/pack.h"

#include "base/check.h"

enum {
    PACK_VERSION = 1,
    VARINT_MAX_BYTES = 10,
};

/* --- writing --- */

static void put_varint(struct buf *b, uint64_t v)
{
    char *p = buf_reserve(b, VARINT_MAX_BYTES);
    if (!p)
        return;
    size_t n = 0;
    while (v >= 0x80) {
        p[n++] = (char)(v | 0x80);
        v >>= 7;
    }
    p[n++] = (char)v;
    b->len += n;
}

static void put_time(struct buf *b, int64_t t)
{
    put_varint(b, (uint64_t)t << 1 ^ (t < 0 ? UINT64_MAX : 0));
}

static void put_post(struct buf *b, const struct post *post)
{
    put_varint(b, post->platform);
    put_time(b, post->posted_at);
    put_time(b, post->updated_at);
    for (int i = 0; i < COUNT_KINDS; i++) {
        CHECK(post->counts[i] >= COUNT_NONE && post->counts[i] <= COUNT_MAX);
        put_varint(b, (uint64_t)(post->counts[i] + 1));
    }
    put_varint(b, post->post_id.len);
    buf_append(b, post->post_id);
    put_varint(b, post->url.p ? post->url.len + 1 : 0);
    buf_append(b, post->url);
}

void pack_posts(struct buf *b, const struct post *posts, size_t count)
{
    CHECK(count <= PLATFORM_COUNT);
    if (!count)
        return;
    put_varint(b, PACK_VERSION);
    put_varint(b, count);
    for (size_t i = 0; i < count; i++) {
        CHECK(i == 0 || posts[i - 1].platform < posts[i].platform);
        put_post(b, &posts[i]);
    }
}

void pack_milestones(struct buf *b, const struct milestone *milestones, size_t count)
{
    CHECK(count <= MILESTONES_MAX);
    if (!count)
        return;
    put_varint(b, PACK_VERSION);
    put_varint(b, count);
    for (size_t i = 0; i < count; i++) {
        CHECK(i == 0 || milestones[i - 1].value < milestones[i].value);
        put_varint(b, (uint64_t)milestones[i].value);
        put_time(b, milestones[i].reached_at);
    }
}

void pack_recent(struct buf *b, const struct recent_days *recent)
{
    CHECK(recent->known && recent->count <= RECENT_DAYS);
    if (!recent->count)
        return;
    const struct day_gain *days = recent->days, *newest = &days[recent->count - 1];
    uint64_t others = 0;
    for (size_t i = 0; i + 1 < recent->count; i++)
        others |= UINT64_C(1) << (newest->date - days[i].date - 1);
    put_varint(b, PACK_VERSION);
    put_time(b, newest->date);
    put_varint(b, others);
    put_varint(b, (uint64_t)(days[0].gained_total - days[0].gained));
    for (size_t i = 0; i < recent->count; i++)
        put_varint(b, (uint64_t)days[i].gained);
}

/* --- reading: once `bad` is set, it stays set, and every value read is 0 --- */

struct reader {
    const unsigned char *p, *end;
    bool bad;
};

static uint64_t get_varint(struct reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && r->p < r->end; shift += 7) {
        uint64_t byte = *r->p++;
        v |= (byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        bool is_shortest = byte != 0 || shift == 0, overflows = shift == 63 && byte > 1;
        if (!is_shortest || overflows)
            break;
        return v;
    }
    r->bad = true;
    r->p = r->end;
    return 0;
}

static int64_t get_time(struct reader *r)
{
    uint64_t v = get_varint(r);
    return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

static uint64_t get_at_most(struct reader *r, uint64_t max)
{
    uint64_t v = get_varint(r);
    if (v <= max)
        return v;
    r->bad = true;
    return 0;
}

static struct str get_text(struct reader *r, uint64_t len)
{
    if (len > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return str_make("", 0);
    }
    struct str s = str_make((const char *)r->p, (size_t)len);
    r->p += len;
    return s;
}

static void get_post(struct reader *r, struct post *post)
{
    post->platform = (enum platform)get_at_most(r, PLATFORM_COUNT - 1);
    post->posted_at = get_time(r);
    post->updated_at = get_time(r);
    for (int i = 0; i < COUNT_KINDS; i++)
        post->counts[i] = (int64_t)get_at_most(r, (uint64_t)COUNT_MAX + 1) - 1;
    post->post_id = get_text(r, get_varint(r));
    uint64_t url = get_varint(r);
    post->url = url ? get_text(r, url - 1) : str_make(NULL, 0);
}

/* Reads the version and returns the count. The count of an empty column is 0. */
static size_t get_head(struct reader *r, struct str packed, size_t max)
{
    *r = (struct reader){.p = (const unsigned char *)packed.p};
    if (!packed.len) {
        r->end = r->p;
        return 0;
    }
    r->end = r->p + packed.len;
    if (get_varint(r) != PACK_VERSION)
        r->bad = true;
    uint64_t count = get_at_most(r, max);
    if (count == 0)
        r->bad = true;
    return r->bad ? 0 : (size_t)count;
}

bool unpack_posts(struct str packed, struct post posts[PLATFORM_COUNT], size_t *count)
{
    struct reader r;
    *count = get_head(&r, packed, PLATFORM_COUNT);
    for (size_t i = 0; i < *count; i++) {
        get_post(&r, &posts[i]);
        if (i > 0 && posts[i].platform <= posts[i - 1].platform)
            r.bad = true;
    }
    return !r.bad && r.p == r.end;
}

bool unpack_milestones(struct str packed, struct milestone milestones[MILESTONES_MAX], size_t *count)
{
    struct reader r;
    *count = get_head(&r, packed, MILESTONES_MAX);
    for (size_t i = 0; i < *count; i++) {
        milestones[i].value = (int64_t)get_at_most(&r, (uint64_t)COUNT_MAX);
        milestones[i].reached_at = get_time(&r);
        if (i > 0 && milestones[i].value <= milestones[i - 1].value)
            r.bad = true;
    }
    return !r.bad && r.p == r.end;
}

static void get_day(struct reader *r, struct recent_days *recent, int64_t date, int64_t *total)
{
    int64_t gained = (int64_t)get_at_most(r, (uint64_t)(GAINED_MAX - *total));
    *total += gained;
    recent->days[recent->count++] =
        (struct day_gain){.date = (int32_t)date, .gained = gained, .gained_total = *total};
}

bool unpack_recent(struct str packed, struct recent_days *recent)
{
    struct reader r = {.p = (const unsigned char *)packed.p};
    recent->known = true;
    recent->count = 0;
    if (!packed.len)
        return true;
    r.end = r.p + packed.len;
    if (get_varint(&r) != PACK_VERSION)
        return false;
    int64_t newest = get_time(&r);
    uint64_t others = get_at_most(&r, (1 << (RECENT_DAYS - 1)) - 1);
    int64_t total = (int64_t)get_at_most(&r, GAINED_MAX);
    if (newest < INT32_MIN / 2 || newest > INT32_MAX / 2)
        return false;
    for (int age = RECENT_DAYS - 1; age > 0; age--)
        if (others >> (age - 1) & 1)
            get_day(&r, recent, newest - age, &total);
    get_day(&r, recent, newest, &total);
    return !r.bad && r.p == r.end;
}
