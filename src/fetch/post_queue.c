/* Queues the posts of accounts, and divides them into batches. */
#include "fetch/post_queue.h"

#include "base/check.h"
#include "base/clock.h"

#include <stdlib.h>

/* --- batches of posts --- */

struct call_batch *call_batch_new(enum call_kind kind)
{
    struct call_batch *b = xcalloc(1, sizeof *b);
    list_init(&b->link);
    list_init(&b->posts);
    b->kind = kind;
    b->tier = -1;
    return b;
}

void call_batch_free(struct call_batch *batch)
{
    CHECK(list_is_empty(&batch->posts));
    list_remove(&batch->link);
    free(batch);
}

void call_batch_add(struct call_batch *batch, struct pending_post *post)
{
    list_remove(&post->link);
    list_add_last(&batch->posts, &post->link);
    batch->count++;
}

struct call_batch *call_batch_split(struct call_batch *batch, size_t keep)
{
    struct call_batch *rest = call_batch_new(batch->kind);
    rest->tries = batch->tries;
    rest->tier = batch->tier;
    rest->with_account = batch->with_account;
    rest->uncombined = batch->uncombined;
    memcpy(rest->dropped, batch->dropped, sizeof rest->dropped);
    while (batch->count > keep) {
        struct pending_post *post = LIST_ENTRY(batch->posts.prev, struct pending_post, link);
        list_remove(&post->link);
        list_add_last(rest->posts.next, &post->link); /* inserts before the first post, to keep the order */
        rest->count++;
        batch->count--;
    }
    return rest;
}

/* --- accounts that wait for calls --- */

void api_queue_init(struct api_queue *q, struct throttle *throttle)
{
    *q = (struct api_queue){.throttle = throttle};
    list_init(&q->ready);
}

void fetch_account_init(struct fetch_account *a, struct api_queue *api, struct author_posts *group)
{
    const struct throttle *t = api->throttle;
    *a = (struct fetch_account){.api = api, .group = group, .tier = t->lowest_tier};
    list_init(&a->link);
    list_init(&a->queue[CALL_READ]);
    list_init(&a->queue[CALL_RESOLVE]);
    list_init(&a->retries);
    bucket_init(&a->bucket, t->account_per_minute, t->desc->account_rate.burst, clock_mono_ms());
}

static bool has_new_posts(const struct fetch_account *a)
{
    return !list_is_empty(&a->queue[CALL_READ]) || !list_is_empty(&a->queue[CALL_RESOLVE]);
}

void fetch_account_update_ready(struct fetch_account *account)
{
    const bool has_work = has_new_posts(account) || !list_is_empty(&account->retries);
    if (!has_work || account->busy)
        list_remove(&account->link);
    else if (list_is_empty(&account->link))
        list_add_last(&account->api->ready, &account->link);
}

void fetch_account_add(struct fetch_account *account, struct pending_post *post)
{
    const struct platform_desc *desc = account->api->throttle->desc;
    const bool readable = post->record.resolved_id.p || post->reads_own_id || !desc->is_readable ||
                          desc->is_readable(post->record.post_id);
    list_remove(&post->link);
    list_add_last(&account->queue[readable ? CALL_READ : CALL_RESOLVE], &post->link);
    fetch_account_update_ready(account);
}

static struct call_batch *earliest_retry(const struct fetch_account *a)
{
    struct call_batch *first = NULL;
    for (struct list *l = a->retries.next; l != &a->retries; l = l->next) {
        struct call_batch *b = LIST_ENTRY(l, struct call_batch, link);
        if (!first || b->not_before < first->not_before)
            first = b;
    }
    return first;
}

bool fetch_account_is_ready(const struct fetch_account *account, int64_t now, int64_t *at)
{
    const bool has_new = has_new_posts(account);
    const struct call_batch *retry = has_new ? NULL : earliest_retry(account);
    *at = PACE_NEVER;
    if (!has_new && !retry)
        return false;
    *at = retry ? retry->not_before : now;
    if (*at < account->not_before)
        *at = account->not_before;
    const int64_t by_rate = bucket_ready_at(&account->bucket, account->api->throttle->pace.half_rate, now);
    if (*at < by_rate)
        *at = by_rate;
    return *at <= now;
}

struct call_batch *fetch_account_next_batch(struct fetch_account *account, int64_t now)
{
    struct call_batch *retry = earliest_retry(account);
    if (retry && retry->not_before <= now) {
        list_remove(&retry->link);
        return retry;
    }
    const enum call_kind kind = list_is_empty(&account->queue[CALL_RESOLVE]) ? CALL_READ : CALL_RESOLVE;
    struct list *queue = &account->queue[kind];
    if (list_is_empty(queue))
        return NULL;
    struct call_batch *batch = call_batch_new(kind);
    const int most = throttle_ids_per_call(account->api->throttle, kind, account->tier);
    for (int i = 0; i < most && !list_is_empty(queue); i++)
        call_batch_add(batch, LIST_ENTRY(queue->next, struct pending_post, link));
    return batch;
}

void fetch_account_retry(struct fetch_account *account, struct call_batch *batch, int64_t not_before)
{
    batch->not_before = not_before;
    list_add_last(&account->retries, &batch->link);
    fetch_account_update_ready(account);
}

void fetch_account_requeue(struct fetch_account *account, struct call_batch *batch)
{
    struct list *queue = &account->queue[batch->kind];
    while (!list_is_empty(&batch->posts)) {
        struct list *last = batch->posts.prev;
        list_remove(last);
        list_add_last(queue->next, last); /* inserts before the first post, to keep the order */
    }
    call_batch_free(batch);
}
