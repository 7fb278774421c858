/* Packs and unpacks columns; see pack.h for the format. */
#include "store/pack.h"

#include "base/check.h"
#include "store/varint.h"

enum { PACK_VERSION = 1 };

/* --- packing --- */

static void put_post(struct buf *b, const struct post *post)
{
    varint_put(b, post->platform);
    varint_put_signed(b, post->posted_at);
    varint_put_signed(b, post->updated_at);
    for (int i = 0; i < COUNT_KINDS; i++) {
        CHECK(post->counts[i] >= COUNT_NONE && post->counts[i] <= COUNT_MAX);
        varint_put(b, (uint64_t)(post->counts[i] + 1));
    }
    varint_put(b, post->post_id.len);
    buf_append(b, post->post_id);
    varint_put(b, post->url.p ? post->url.len + 1 : 0);
    buf_append(b, post->url);
}

void pack_posts(struct buf *b, const struct post *posts, size_t count)
{
    CHECK(count <= PLATFORM_COUNT);
    if (!count)
        return;
    varint_put(b, PACK_VERSION);
    varint_put(b, count);
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
    varint_put(b, PACK_VERSION);
    varint_put(b, count);
    for (size_t i = 0; i < count; i++) {
        CHECK(i == 0 || milestones[i - 1].value < milestones[i].value);
        varint_put(b, (uint64_t)milestones[i].value);
        varint_put_signed(b, milestones[i].reached_at);
    }
}

/* --- unpacking --- */

static struct str get_text(struct varint_reader *r, uint64_t len)
{
    if (len > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return str_make("", 0);
    }
    struct str s = str_make((const char *)r->p, (size_t)len);
    r->p += len;
    return s;
}

static void get_post(struct varint_reader *r, struct post *post)
{
    post->platform = (enum platform)varint_get_at_most(r, PLATFORM_COUNT - 1);
    post->posted_at = varint_get_signed(r);
    post->updated_at = varint_get_signed(r);
    for (int i = 0; i < COUNT_KINDS; i++)
        post->counts[i] = (int64_t)varint_get_at_most(r, (uint64_t)COUNT_MAX + 1) - 1;
    post->post_id = get_text(r, varint_get(r));
    uint64_t url = varint_get(r);
    post->url = url ? get_text(r, url - 1) : str_make(NULL, 0);
}

/* Reads the version and returns the count. The count of an empty column is 0. */
static size_t get_head(struct varint_reader *r, struct str packed, size_t max)
{
    *r = varint_reader_on(packed);
    if (!packed.len)
        return 0;
    if (varint_get(r) != PACK_VERSION)
        r->bad = true;
    uint64_t count = varint_get_at_most(r, max);
    if (count == 0)
        r->bad = true;
    return r->bad ? 0 : (size_t)count;
}

bool unpack_posts(struct str packed, struct post posts[PLATFORM_COUNT], size_t *count)
{
    struct varint_reader r;
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
    struct varint_reader r;
    *count = get_head(&r, packed, MILESTONES_MAX);
    for (size_t i = 0; i < *count; i++) {
        milestones[i].value = (int64_t)varint_get_at_most(&r, (uint64_t)COUNT_MAX);
        milestones[i].reached_at = varint_get_signed(&r);
        if (i > 0 && milestones[i].value <= milestones[i - 1].value)
            r.bad = true;
    }
    return !r.bad && r.p == r.end;
}
