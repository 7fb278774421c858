/* The deliveries that wait for a slot, and the number of deliveries in flight by origin. A slot is the
 * permission to have one delivery in flight: the dispatcher has SEND_QUEUE_SLOTS of them, and may use
 * SEND_QUEUE_SLOTS_PER_ORIGIN for one origin. A delivery that finds no free slot waits here, so that it can
 * start as soon as another delivery ends, without another scan of the database. */
#ifndef VT_WEBHOOK_SEND_QUEUE_H
#define VT_WEBHOOK_SEND_QUEUE_H

#include "base/hash_table.h"
#include "base/str.h"
#include "base/vec.h"

enum {
    SEND_QUEUE_SLOTS = 256,
    /* Fewer than SEND_QUEUE_SLOTS, so that a popular app that does not respond cannot use all slots. */
    SEND_QUEUE_SLOTS_PER_ORIGIN = 64,
};

struct send_item {
    int64_t row;      /* row of the endpoint */
    int64_t event_id; /* only if is_manual is true */
    bool is_manual;   /* a person has requested the delivery */
    uint64_t origin;  /* send_queue_origin(); 0: unknown until the delivery is prepared */
};

struct send_queue {
    VEC(struct send_item) items; /* the waiting deliveries, in the order in which they must start */
    int in_flight;

    /* private */
    uint64_t seed;
    struct hash_table origins; /* the origins that have deliveries in flight */
};

void send_queue_init(struct send_queue *q);
void send_queue_fini(struct send_queue *q);

/* Returns a hash that identifies an origin in this queue; never 0. Its seed is random, so that authors cannot
 * choose origins that collide. */
uint64_t send_queue_origin(const struct send_queue *q, struct str origin);

/* Returns true if a delivery to this origin can start now. */
bool send_queue_has_slot(const struct send_queue *q, uint64_t origin);
/* send_queue_enter() acquires a slot for a delivery to this origin; send_queue_leave() releases it. */
void send_queue_enter(struct send_queue *q, uint64_t origin);
void send_queue_leave(struct send_queue *q, uint64_t origin);

#endif
