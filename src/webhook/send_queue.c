/* Counts the slots in use, with one entry per origin that has deliveries in flight. */
#include "webhook/send_queue.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/list.h"

#include <sodium.h>

struct origin_slots {
    struct hash_link link;
    int in_flight;
};

/* Always returns true, because the hash alone identifies the origin. Among at most SEND_QUEUE_SLOTS origins,
 * a collision of 64-bit hashes is practically impossible, and would only make two origins share their
 * slots. */
static bool matches(const struct hash_link *link, const void *key)
{
    (void)link;
    (void)key;
    return true;
}

static struct origin_slots *find(const struct send_queue *q, uint64_t origin)
{
    struct hash_link *link = hash_table_find(&q->origins, origin, NULL);
    return link ? LIST_ENTRY(link, struct origin_slots, link) : NULL;
}

void send_queue_init(struct send_queue *q)
{
    *q = (struct send_queue){.in_flight = 0};
    randombytes_buf(&q->seed, sizeof q->seed);
    hash_table_init(&q->origins, matches);
}

void send_queue_fini(struct send_queue *q)
{
    CHECK(q->in_flight == 0 && q->origins.count == 0);
    hash_table_fini(&q->origins);
    VEC_FREE(&q->items);
}

uint64_t send_queue_origin(const struct send_queue *q, struct str origin)
{
    const uint64_t hash = hash_64(origin, q->seed);
    return hash ? hash : 1;
}

bool send_queue_has_slot(const struct send_queue *q, uint64_t origin)
{
    if (q->in_flight >= SEND_QUEUE_SLOTS)
        return false;
    const struct origin_slots *slots = find(q, origin);
    return !slots || slots->in_flight < SEND_QUEUE_SLOTS_PER_ORIGIN;
}

void send_queue_enter(struct send_queue *q, uint64_t origin)
{
    struct origin_slots *slots = find(q, origin);
    if (!slots) {
        slots = xcalloc(1, sizeof *slots);
        hash_table_add(&q->origins, &slots->link, origin);
    }
    slots->in_flight++;
    q->in_flight++;
}

void send_queue_leave(struct send_queue *q, uint64_t origin)
{
    struct origin_slots *slots = find(q, origin);
    CHECK(slots && slots->in_flight > 0);
    q->in_flight--;
    if (--slots->in_flight > 0)
        return;
    hash_table_remove(&q->origins, &slots->link);
    free(slots);
}
