/* Computes when calls may begin: token buckets, calls spread over a period, and delays of retries. */
#include "fetch/pace.h"

#include "base/check.h"
#include "base/clock.h"

enum { CALL = 60000 }; /* one call, in units of bucket.level */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void bucket_init(struct bucket *b, int per_minute, int burst, int64_t now)
{
    *b = (struct bucket){.per_minute = per_minute, .burst = burst > 0 ? burst : 1, .at = now};
    b->level = (int64_t)b->burst * CALL;
}

static int64_t bucket_level(const struct bucket *b, bool half_rate, int64_t now)
{
    const int64_t passed = now > b->at ? now - b->at : 0, full = (int64_t)b->burst * CALL;
    const int64_t divisor = half_rate ? 2 : 1;
    /* Even at the lowest rate, one call per minute or half of it, the bucket is full by now. Returning here
     * also prevents an overflow of the product below. */
    if (passed > full * divisor)
        return full;
    const int64_t level = b->level + passed * b->per_minute / divisor;
    return level < full ? level : full;
}

int64_t bucket_ready_at(const struct bucket *b, bool half_rate, int64_t now)
{
    if (!b->per_minute)
        return now;
    const int64_t missing = CALL - bucket_level(b, half_rate, now);
    if (missing <= 0)
        return now;
    const int64_t rate = b->per_minute;
    return now + (missing * (half_rate ? 2 : 1) + rate - 1) / rate;
}

void bucket_use(struct bucket *b, bool half_rate, int64_t now)
{
    if (!b->per_minute)
        return;
    b->level = bucket_level(b, half_rate, now) - CALL;
    b->at = later(b->at, now);
}

void spread_init(struct spread *s, int64_t now, int64_t length_ms, int64_t planned)
{
    *s = (struct spread){.until = now + length_ms, .planned = planned, .last = now};
}

int64_t spread_ready_at(const struct spread *s, bool half_rate)
{
    if (s->begun == 0 || s->begun >= s->planned || s->until <= s->last)
        return s->last;
    return s->last + (s->until - s->last) / (s->planned - s->begun) * (half_rate ? 2 : 1);
}

void spread_begin(struct spread *s, bool half_rate, int64_t now)
{
    s->last = later(spread_ready_at(s, half_rate), now - SECOND_MS);
    s->begun++;
}

int64_t retry_delay_ms(int tries, uint64_t random)
{
    int64_t limit = RETRY_BASE_MS;
    for (int i = 0; i < tries && limit < RETRY_CAP_MS; i++)
        limit *= 2;
    if (limit > RETRY_CAP_MS)
        limit = RETRY_CAP_MS;
    return (int64_t)(random % (uint64_t)(limit + 1));
}

int64_t retry_budget(int64_t planned, int64_t percent)
{
    if (percent <= 0)
        return 0;
    return later(RETRY_MIN, planned * percent / 100);
}

int64_t pace_ready_at(const struct pace *p, int64_t now)
{
    const int cap = p->half_rate ? (p->in_flight_max + 1) / 2 : p->in_flight_max;
    if (p->in_flight >= cap)
        return PACE_NEVER;
    int64_t at = later(p->paused_until, spread_ready_at(&p->spread, p->half_rate));
    return later(at, bucket_ready_at(&p->bucket, p->half_rate, now));
}

void pace_begin(struct pace *p, int64_t now)
{
    bucket_use(&p->bucket, p->half_rate, now);
    spread_begin(&p->spread, p->half_rate, now);
    p->in_flight++;
}

void pace_end(struct pace *p)
{
    CHECK(p->in_flight > 0);
    p->in_flight--;
}

void pace_pause(struct pace *p, int64_t until)
{
    p->paused_until = later(p->paused_until, until);
}
