/* Posts on their way: queues of accounts, batches that are repeated, parts that end with their last post.
 * Knows no clock and no platform. */
#include "fetch/engine.h"

#include "base/check.h"

#include <stdlib.h>

bool str_put(char *to, size_t size, struct str s)
{
    const size_t n = s.len < size ? s.len : size - 1;
    if (n)
        memcpy(to, s.p, n);
    to[n] = 0;
    return n == s.len;
}

/* --- batches --- */

struct batch *batch_new(enum call_kind kind)
{
    struct batch *b = xcalloc(1, sizeof *b);
    list_init(&b->link);
    list_init(&b->asks);
    b->kind = kind;
    b->tier = -1;
    return b;
}

void batch_free(struct batch *batch)
{
    CHECK(list_is_empty(&batch->asks));
    list_remove(&batch->link);
    free(batch);
}

void batch_add(struct batch *batch, struct ask *ask)
{
    list_remove(&ask->link);
    list_add_last(&batch->asks, &ask->link);
    batch->count++;
}

struct batch *batch_cut(struct batch *batch, size_t keep)
{
    struct batch *half = batch_new(batch->kind);
    half->tries = batch->tries;
    half->tier = batch->tier;
    half->with_account = batch->with_account;
    half->uncombined = batch->uncombined;
    memcpy(half->dropped, batch->dropped, sizeof half->dropped);
    while (batch->count > keep) {
        struct ask *ask = LIST_ENTRY(batch->asks.prev, struct ask, link);
        list_remove(&ask->link);
        /* In front: the order stays. */
        list_add_last(half->asks.next, &ask->link);
        half->count++;
        batch->count--;
    }
    return half;
}

/* --- accounts --- */

static bool has_anything(const struct account *a)
{
    return !list_is_empty(&a->batches) || !list_is_empty(&a->queue[CALL_READ]) ||
           !list_is_empty(&a->queue[CALL_RESOLVE]);
}

void account_settle_place(struct account *account)
{
    const bool wanted = has_anything(account) && !account->busy;
    if (!wanted)
        list_remove(&account->link);
    else if (list_is_empty(&account->link))
        list_add_last(&account->gate->ready, &account->link);
}

void ask_queue(struct account *account, struct ask *ask)
{
    const struct gate *g = account->gate;
    const bool readable =
        ask->known.resolved_id.p || !g->desc->is_readable || g->desc->is_readable(ask->known.post_id);
    list_remove(&ask->link);
    list_add_last(&account->queue[readable ? CALL_READ : CALL_RESOLVE], &ask->link);
    account_settle_place(account);
}

/* The batch that may be repeated first; NULL: there is none. */
static struct batch *first_batch(const struct account *a)
{
    struct batch *first = NULL;
    for (struct list *l = a->batches.next; l != &a->batches; l = l->next) {
        struct batch *b = LIST_ENTRY(l, struct batch, link);
        if (!first || b->not_before < first->not_before)
            first = b;
    }
    return first;
}

bool account_is_ready(const struct account *account, int64_t now, int64_t *at)
{
    const bool fresh =
        !list_is_empty(&account->queue[CALL_READ]) || !list_is_empty(&account->queue[CALL_RESOLVE]);
    const struct batch *repeat = fresh ? NULL : first_batch(account);
    *at = PACE_NEVER;
    if (!fresh && !repeat)
        return false;
    *at = repeat ? repeat->not_before : now;
    if (*at < account->not_before)
        *at = account->not_before;
    const int64_t bucket = bucket_ready_at(&account->bucket, account->gate->pace.half, now);
    if (*at < bucket)
        *at = bucket;
    return *at <= now;
}

struct batch *account_next_batch(struct account *account, int64_t now)
{
    struct batch *repeat = first_batch(account);
    if (repeat && repeat->not_before <= now) {
        list_remove(&repeat->link);
        return repeat;
    }
    const enum call_kind kind = list_is_empty(&account->queue[CALL_RESOLVE]) ? CALL_READ : CALL_RESOLVE;
    struct list *queue = &account->queue[kind];
    if (list_is_empty(queue))
        return NULL;
    struct batch *batch = batch_new(kind);
    const int most = gate_ids_per_call(account->gate, kind, account->tier);
    while (!list_is_empty(queue) && batch->count < (size_t)most)
        batch_add(batch, LIST_ENTRY(queue->next, struct ask, link));
    return batch;
}

void account_repeat(struct account *account, struct batch *batch, int64_t not_before)
{
    batch->not_before = not_before;
    list_remove(&batch->link);
    list_add_last(&account->batches, &batch->link);
    account_settle_place(account);
}

/* --- ends --- */

void part_free(struct engine *e, struct part *part)
{
    CHECK(part->open == 0 && part->flying == 0);
    struct lane *lane = &e->lanes[part->platform];
    for (size_t i = 0; i < part->account_count; i++) {
        struct account *account = &part->accounts[i];
        /* Where each post has a call of its own, no answer says so by itself. */
        if (account->missing > 1 && !account->seen)
            verdict_note_failed(e, account, "missing", STR("all"));
        list_remove(&account->link);
    }
    list_remove(&part->link);
    lane->part_count--;
    arena_fini(&part->arena);
    free(part);
}

static void count_settled(struct engine *e, const struct ask *ask, enum settled how)
{
    static const int counters[] = {
        [SETTLED_READ] = RUN_READ,
        [SETTLED_NO_DATA] = RUN_NO_DATA,
        [SETTLED_MISSING] = RUN_MISSING,
        [SETTLED_PERMANENT] = RUN_PERMANENT,
        [SETTLED_UNANSWERED] = RUN_UNANSWERED,
    };
    run_count(e->run, ask->part->platform, (enum run_counter)counters[how], 1);
}

void ask_settle(struct engine *e, struct ask *ask, enum settled how)
{
    struct part *part = ask->part;
    struct visit *visit = part->visit;
    CHECK(part->open > 0);
    list_remove(&ask->link);
    count_settled(e, ask, how);
    if (how == SETTLED_READ)
        visit_add(e, visit, ask, part->platform);
    e->lanes[part->platform].ask_count--;
    if (--part->open > 0)
        return;
    visit->parts_open--;
    if (!part->flying)
        part_free(e, part);
}

static void give_up_list(struct engine *e, struct list *asks)
{
    while (!list_is_empty(asks))
        ask_settle(e, LIST_ENTRY(asks->next, struct ask, link), SETTLED_UNANSWERED);
}

void batch_give_up(struct engine *e, struct batch *batch)
{
    give_up_list(e, &batch->asks);
    batch->count = 0;
    batch_free(batch);
}

void account_give_up(struct engine *e, struct account *account)
{
    struct part *part = account->part;
    account->dropped = true;
    if (part)
        part->flying++; /* keeps it, and the account in it, until the end of this */
    while (!list_is_empty(&account->batches))
        batch_give_up(e, LIST_ENTRY(account->batches.next, struct batch, link));
    give_up_list(e, &account->queue[CALL_READ]);
    give_up_list(e, &account->queue[CALL_RESOLVE]);
    account_settle_place(account);
    if (part && --part->flying == 0 && part->open == 0)
        part_free(e, part);
}
