/* The loop of the dispatcher: finds due endpoints, starts deliveries, and commits their results.
 *
 *   IDLE --scan finds something to send, lease acquired--> SENDING
 *   SENDING --nothing in flight and nothing due, lease released--> IDLE
 *   SENDING --another process has the lease--> IDLE, deliveries in flight are canceled
 *
 * All work is synchronous except HTTP. Callbacks only collect results; after the callbacks of a loop
 * iteration, flush() commits the results in one transaction. */
#include "webhook/dispatcher.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/seam.h"
#include "base/vec.h"
#include "net/address_policy.h"
#include "jobs/lease.h"
#include "store/store_config.h"
#include "store/ticket_lock.h"
#include "store/write.h"
#include "webhook/delivery.h"
#include "webhook/send_queue.h"
#include "webhook/webhook_url.h"

#include <sodium.h>
#include <stdlib.h>

/* Tests shorten the tick, or make it so long that only the end of a delivery can start other deliveries. */
static uint64_t tick_ms(void)
{
#ifdef VT_TEST_SEAMS
    const char *ms = getenv("VIEWTALLY_TEST_WEBHOOK_TICK_MS");
    return ms ? strtoull(ms, NULL, 10) : 50;
#else
    return 1000;
#endif
}

enum {
    PAGE_ROWS = 200,
    BUSY_PAUSE_MS = 5 * 1000, /* pause if another process has the lease, or a message cannot be signed */
    FAILED_PAUSE_MS = 1000,   /* pause after a failure of the database */
    DRAIN_MS = 5 * 1000,      /* maximum wait for deliveries in flight when the process stops */
    RESPONSE_MAX = 256 * 1024,
    CONNECT_TIMEOUT_MS = 5 * 1000,
};

struct dispatcher {
    const struct dispatcher_options *options;
    uv_loop_t loop;
    uv_timer_t tick;
    struct store *store;
    struct http_client *http;
    struct address_policy policy;
    struct seal_keys *keys; /* NULL unless this process holds the lease */
    struct lease lease;
    bool has_lease;
    struct list in_flight, finished;
    struct send_queue queue; /* each delivery in `in_flight` and `finished` has a slot */
    VEC(struct send_item) page;
    int64_t last_row;     /* endpoint of the most recently started delivery; the next scan begins after it */
    uint64_t seen_commit; /* argument of store_has_changed() */
    int64_t next_attempt_at; /* wall clock time when the next pause of an endpoint ends; INT64_MAX: none */
    bool is_due;             /* the next tick must scan */
    uint64_t not_before_ms;  /* loop time before which nothing is scanned or committed */
    uint64_t scan_not_before_ms; /* loop time before which nothing is scanned */
    bool is_stopping;
    uint64_t drain_until_ms; /* loop time at which the wait for deliveries ends; 0: not stopping yet */
    bool http_closed;
    struct error open_error; /* why opening failed; it was logged. No error if all is open */
};

static void pause_for(struct dispatcher *d, uint64_t ms)
{
    d->not_before_ms = uv_now(&d->loop) + ms;
}

static bool can_scan(const struct dispatcher *d)
{
    return d->not_before_ms <= uv_now(&d->loop) && d->scan_not_before_ms <= uv_now(&d->loop);
}

static void update_counts(struct dispatcher *d)
{
    atomic_store(&d->options->counts->in_flight, d->queue.in_flight);
    atomic_store(&d->options->counts->has_lease, d->has_lease);
}

/* ---- transactions and the lease ---- */

/* Runs `work` in a transaction, under the write lock of the process. */
static enum err transact(struct dispatcher *d, enum err (*work)(struct dispatcher *d))
{
    ticket_lock_acquire(d->options->write_lock);
    enum err err = store_begin(d->store);
    if (!err) {
        err = work(d);
        seam_kill_point();
        if (err)
            store_rollback(d->store);
        else
            err = store_commit(d->store);
    }
    ticket_lock_release(d->options->write_lock);
    seam_kill_point();
    return err;
}

static void close_keys(struct dispatcher *d)
{
    seal_keys_close(d->keys);
    d->keys = NULL;
    d->has_lease = false;
}

static enum err acquire(struct dispatcher *d)
{
    struct lease_row row;
    return lease_acquire(&d->lease, d->store, &row);
}

static enum err release(struct dispatcher *d)
{
    return lease_release(&d->lease, d->store);
}

/* Acquires the lease unless this process holds it already. Returns true if the process now holds it. */
static bool ensure_lease(struct dispatcher *d)
{
    struct error error;
    if (d->has_lease)
        return true;
    enum err err = seal_keys_open(&d->keys, d->options->config->secrets.key_file, &error);
    if (err) {
        log_error("webhooks: %s", error.text);
        d->keys = NULL;
        pause_for(d, BUSY_PAUSE_MS);
        return false;
    }
    err = transact(d, acquire);
    if (err) {
        close_keys(d);
        pause_for(d, err == ERR_BUSY ? BUSY_PAUSE_MS : FAILED_PAUSE_MS);
        return false;
    }
    d->has_lease = true;
    return true;
}

static void drop(struct dispatcher *d, struct delivery *delivery)
{
    send_queue_leave(&d->queue, delivery->origin_hash);
    delivery_free(delivery);
}

static void free_list(struct dispatcher *d, struct list *list)
{
    while (!list_is_empty(list))
        drop(d, LIST_ENTRY(list->next, struct delivery, link));
}

static void lose_lease(struct dispatcher *d)
{
    log_warn("webhooks: another process has acquired the lease and repeats %d deliveries",
             d->queue.in_flight);
    free_list(d, &d->in_flight);
    free_list(d, &d->finished);
    d->queue.items.count = 0;
    close_keys(d);
    pause_for(d, BUSY_PAUSE_MS);
    d->is_due = true;
}

static void release_if_idle(struct dispatcher *d)
{
    if (!d->has_lease || d->queue.in_flight || (d->is_due && !d->is_stopping))
        return;
    const enum err err = transact(d, release);
    if (err && err != ERR_CANCELED)
        log_warn("webhooks: cannot release the lease: %s; it expires within %d s", err_name(err),
                 LEASE_MS / 1000);
    close_keys(d);
}

/* ---- storing the results of deliveries ---- */

static void log_end(const struct webhook_endpoint *e, const struct delivery_result *r)
{
    char id[UUID_TEXT_LEN];
    uuid_format(&e->id, id);
    if (e->state == WEBHOOK_FAILED)
        log_warn("webhooks: %.*s has failed %d times in a row, so no more events are sent until it is "
                 "resumed: %s",
                 UUID_TEXT_LEN, id, WEBHOOK_TRIES, r->error);
    if (e->state == WEBHOOK_GONE)
        log_info("webhooks: %.*s responded with status 410, so no more events are sent to it", UUID_TEXT_LEN,
                 id);
}

static enum err store_result(struct dispatcher *d, struct delivery *delivery)
{
    struct arena arena;
    struct webhook_endpoint e = {.row = 0};
    const struct delivery_result *r = &delivery->result;
    arena_init(&arena, 2048);
    enum err err = store_get_webhook(d->store, &arena, delivery->endpoint.row, &e);
    const enum webhook_state before = err ? WEBHOOK_ACTIVE : e.state;
    if (!err) {
        webhook_apply(&e, r, clock_wall_ms(), randombytes_random());
        err = store_save_webhook(d->store, &e);
    }
    const struct webhook_attempt attempt = {.number = e.attempts,
                                            .event_id = r->event_id,
                                            .at = r->at,
                                            .took_ms = r->took_ms,
                                            .status = r->status,
                                            .error = str_from_cstr(*r->error ? r->error : NULL),
                                            .is_manual = r->kind == DELIVERY_MANUAL};
    if (!err && r->kind != DELIVERY_SKIP)
        err = store_insert_webhook_attempt(d->store, e.row, &attempt);
    if (!err && r->kind == DELIVERY_MANUAL)
        err = store_delete_webhook_request(d->store, e.row, r->event_id);
    if (!err && e.state != before)
        log_end(&e, r);
    arena_fini(&arena);
    return err == ERR_NOT_FOUND ? OK : err; /* the endpoint was deleted */
}

static enum err store_results(struct dispatcher *d)
{
    enum err err = lease_renew(&d->lease, d->store);
    for (struct list *l = d->finished.next; l != &d->finished && !err; l = l->next)
        err = store_result(d, LIST_ENTRY(l, struct delivery, link));
    return err;
}

static void count_result(struct dispatcher *d, const struct delivery_result *r)
{
    struct dispatcher_counts *c = d->options->counts;
    if (r->kind == DELIVERY_SKIP)
        return;
    atomic_fetch_add(*r->error == '\0' ? &c->delivered : r->status == 410 ? &c->gone : &c->failed, 1);
}

static void send_next(struct dispatcher *d, int64_t row, uint64_t origin);
static void send_waiting(struct dispatcher *d, int in_flight);

/* Commits the results of finished deliveries. Then starts the next delivery of each of their endpoints, and
 * deliveries that wait for a slot. If the commit fails, keeps the results and commits them later, so that no
 * event is sent twice. */
static void flush(struct dispatcher *d)
{
    const enum err err = transact(d, store_results);
    if (err == ERR_CANCELED) {
        lose_lease(d);
        return;
    }
    if (err) {
        d->lease.renewed_at = TIME_NONE; /* the rollback included the renewal of the lease */
        pause_for(d, FAILED_PAUSE_MS);
        return;
    }
    struct list done;
    const int in_flight = d->queue.in_flight;
    list_init(&done);
    while (!list_is_empty(&d->finished)) {
        struct list *link = d->finished.next;
        list_remove(link);
        list_add_last(&done, link);
    }
    while (!list_is_empty(&done)) {
        struct delivery *delivery = LIST_ENTRY(done.next, struct delivery, link);
        const int64_t row = delivery->endpoint.row;
        const uint64_t origin = delivery->origin_hash;
        count_result(d, &delivery->result);
        drop(d, delivery);
        send_next(d, row, origin);
    }
    send_waiting(d, in_flight);
}

static void on_done(struct delivery *delivery)
{
    struct dispatcher *d = delivery->ctx;
    seam_kill_point();
    list_remove(&delivery->link);
    list_add_last(&d->finished, &delivery->link);
}

/* ---- starting deliveries ---- */

static const struct delivery *find_in_flight(struct dispatcher *d, int64_t row)
{
    struct list *lists[] = {&d->in_flight, &d->finished};
    for (int i = 0; i < 2; i++)
        for (struct list *l = lists[i]->next; l != lists[i]; l = l->next)
            if (LIST_ENTRY(l, struct delivery, link)->endpoint.row == row)
                return LIST_ENTRY(l, struct delivery, link);
    return NULL;
}

static void start(struct dispatcher *d, struct delivery *delivery)
{
    delivery->ctx = d;
    list_add_last(&d->in_flight, &delivery->link);
    send_queue_enter(&d->queue, delivery->origin_hash);
    if (delivery->result.kind != DELIVERY_MANUAL)
        d->last_row = delivery->endpoint.row;
    if (delivery->result.kind == DELIVERY_SKIP || *delivery->result.error) {
        on_done(delivery);
        return;
    }
    seam_kill_point();
    const enum err err = delivery_send(delivery, d->http, d->keys, on_done, d);
    if (!err)
        return;
    /* A missing secret is not a failed attempt of the endpoint, so the endpoint does not change. */
    if (can_scan(d))
        log_error("webhooks: cannot sign: %s; run viewtally secrets check", err_name(err));
    d->scan_not_before_ms = uv_now(&d->loop) + BUSY_PAUSE_MS;
    drop(d, delivery);
}

/* Prepares and starts a delivery, unless there is nothing to send any more. If no slot is free, sets
 * item->origin and returns false; in this case the caller must keep the item until a slot is free. */
static bool try_send(struct dispatcher *d, struct send_item *item)
{
    enum err err;
    if (item->origin && !send_queue_has_slot(&d->queue, item->origin))
        return false;
    for (;;) {
        const int64_t now = clock_wall_ms();
        struct delivery *delivery =
            item->is_manual ? delivery_prepare_manual(d->store, item->row, item->event_id, now, &err)
                            : delivery_prepare(d->store, item->row, now, &err);
        if (err)
            pause_for(d, FAILED_PAUSE_MS);
        if (!delivery)
            return true;
        item->origin = delivery->origin_hash = send_queue_origin(&d->queue, str_from_cstr(delivery->origin));
        const bool has_slot = send_queue_has_slot(&d->queue, item->origin);
        if (d->has_lease && has_slot) {
            start(d, delivery);
            return true;
        }
        delivery_free(delivery);
        if (!has_slot)
            return false;
        /* After acquiring the lease, prepare again: another process may have delivered the event. */
        if (!ensure_lease(d))
            return true;
    }
}

/* Sends the next event of an endpoint, or queues it if other deliveries already wait for a slot. */
static void send_next(struct dispatcher *d, int64_t row, uint64_t origin)
{
    struct send_item item = {.row = row, .origin = origin};
    if (d->is_stopping || !d->has_lease)
        return;
    if (d->queue.items.count || !try_send(d, &item))
        *VEC_ADD(&d->queue.items) = item;
}

/* Starts waiting deliveries until `in_flight` deliveries are in flight, as before some of them ended. Each of
 * these has freed one slot, so when this number is reached again, no further attempt would find a slot. */
static void send_waiting(struct dispatcher *d, int in_flight)
{
    struct send_item *items = d->queue.items.items;
    const size_t count = d->queue.items.count;
    size_t kept = 0, i = 0;
    for (; i < count && d->queue.in_flight < in_flight && d->has_lease && !d->is_stopping; i++) {
        struct send_item item = items[i];
        const bool has_slot = !item.origin || send_queue_has_slot(&d->queue, item.origin);
        const bool must_wait = !has_slot || find_in_flight(d, item.row);
        if (has_slot && must_wait && !item.is_manual)
            continue; /* send_next() sends this event after the delivery in flight */
        if (must_wait || !try_send(d, &item))
            items[kept++] = item;
    }
    if (i > kept && i < count)
        memmove(items + kept, items + i, (count - i) * sizeof *items);
    d->queue.items.count = kept + count - i;
}

static bool on_due(void *ctx, const struct webhook_endpoint *e)
{
    struct dispatcher *d = ctx;
    struct str origin, path;
    webhook_url_split(e->url, &origin, &path);
    *VEC_ADD(&d->page) = (struct send_item){.row = e->row, .origin = send_queue_origin(&d->queue, origin)};
    return true;
}

static bool on_request(void *ctx, int64_t row, int64_t event_id)
{
    struct dispatcher *d = ctx;
    *VEC_ADD(&d->page) = (struct send_item){.row = row, .event_id = event_id, .is_manual = true};
    return true;
}

static enum err read_page(struct dispatcher *d, bool of_requests, int64_t after)
{
    d->page.count = 0;
    return of_requests ? store_list_webhook_requests(d->store, after, PAGE_ROWS, on_request, d)
                       : store_list_due_webhooks(d->store, after, clock_wall_ms(), PAGE_ROWS, on_due, d);
}

/* Starts a delivery for each due endpoint with a row id above `after` and up to `last`, or for each manual
 * request if `of_requests` is true. Queues deliveries for which no slot is free, and manual requests of
 * endpoints whose next event is in flight, so that they are sent before the event after it. */
static enum err scan_list(struct dispatcher *d, bool of_requests, int64_t after, int64_t last)
{
    do {
        const enum err err = read_page(d, of_requests, after);
        if (err)
            return err;
        for (size_t i = 0; i < d->page.count; i++) {
            struct send_item *item = &d->page.items[i];
            after = item->row;
            if (after > last)
                return OK;
            const bool has_slot = !item->origin || send_queue_has_slot(&d->queue, item->origin);
            const struct delivery *running = find_in_flight(d, after);
            if (has_slot && running && (!of_requests || running->result.kind == DELIVERY_MANUAL))
                continue;
            if (!has_slot || running || !try_send(d, item))
                *VEC_ADD(&d->queue.items) = *item;
            if (d->not_before_ms > uv_now(&d->loop))
                return OK;
        }
    } while (d->page.count == PAGE_ROWS);
    return OK;
}

/* Rebuilds the queue, and starts the deliveries for which a slot is free. Begins after the endpoint last_row,
 * so that endpoints with many events and low row ids do not delay others. */
static void scan(struct dispatcher *d)
{
    const int64_t last = d->last_row;
    (void)store_has_changed(d->store, &d->seen_commit);
    d->is_due = false;
    d->queue.items.count = 0;
    enum err err = scan_list(d, true, 0, INT64_MAX);
    if (!err)
        err = scan_list(d, false, last, INT64_MAX);
    if (!err)
        err = scan_list(d, false, 0, last);
    if (!err)
        err = store_next_webhook_attempt(d->store, clock_wall_ms(), &d->next_attempt_at);
    if (err)
        pause_for(d, FAILED_PAUSE_MS);
    d->is_due = err || !can_scan(d);
}

/* ---- opening the client, periodic checks, stopping ---- */

static enum err open_client(struct dispatcher *d, struct error *error)
{
    const struct config *c = d->options->config;
    const struct http_client_options http = {
        .ca_file = c->webhooks.ca_file,
        .connect_timeout_ms =
            c->webhooks.timeout_ms < CONNECT_TIMEOUT_MS ? c->webhooks.timeout_ms : CONNECT_TIMEOUT_MS,
        .timeout_ms = c->webhooks.timeout_ms,
        .body_max = RESPONSE_MAX,
        .host_connections = SEND_QUEUE_SLOTS_PER_ORIGIN,
        .opens_connections_in_parallel = true,
        .allow_address = address_policy_allows_socket,
        .allow_address_ctx = &d->policy,
    };
    if (!address_policy_init(&d->policy, str_from_cstr(c->webhooks.allowed_networks)))
        return error_set(error, ERR_INVALID, "[webhooks] allowed_networks is invalid");
    d->http = http_client_new(&d->loop, &http);
    return d->http ? OK : error_set(error, ERR_NOMEM, "out of memory");
}

/* Opens the database and the client, unless they are open. */
static enum err open_all(struct dispatcher *d, struct error *error)
{
    const struct config *c = d->options->config;
    struct store_options store = store_options_from_config(c, STORE_WRITE);
    store.checkpointed = true;
    const enum err err = d->store ? OK : store_open(&d->store, &store, error);
    return err || d->http ? err : open_client(d, error);
}

/* Like open_all(). After a failure, for example because the database server has no free connection, a later
 * tick tries again. Logs each reason once. */
static bool ensure_open(struct dispatcher *d)
{
    struct error error;
    if (open_all(d, &error)) {
        if (strcmp(error.text, d->open_error.text) != 0)
            log_error("webhooks: nothing is delivered until the database and the HTTP client can be opened: "
                      "%s",
                      error.text);
        d->open_error = error;
        pause_for(d, FAILED_PAUSE_MS);
        return false;
    }
    if (d->open_error.code)
        log_info("webhooks: the database and the HTTP client are open; deliveries start");
    d->open_error = (struct error){0};
    return true;
}

static void check(struct dispatcher *d)
{
    if (d->not_before_ms > uv_now(&d->loop) || !ensure_open(d))
        return;
    if (!list_is_empty(&d->finished) || (d->has_lease && lease_renewal_is_due(&d->lease)))
        flush(d);
    if (d->is_stopping)
        return;
    /* Waiting deliveries start when a delivery in flight ends. If none is in flight, a scan must start
     * them. */
    d->is_due = d->is_due || (d->queue.items.count && !d->queue.in_flight) ||
                store_has_changed(d->store, &d->seen_commit) || clock_wall_ms() >= d->next_attempt_at;
    if (d->is_due && can_scan(d))
        scan(d);
    /* The scan may have finished deliveries that need no HTTP call, such as skipped events. */
    if (!list_is_empty(&d->finished))
        flush(d);
    release_if_idle(d);
}

static void on_tick(uv_timer_t *timer)
{
    check(timer->data);
}

static void on_stop(uv_async_t *stop)
{
    ((struct dispatcher *)stop->data)->is_stopping = true;
}

static bool is_drained(struct dispatcher *d)
{
    if (!d->is_stopping)
        return false;
    if (!d->drain_until_ms)
        d->drain_until_ms = uv_now(&d->loop) + DRAIN_MS;
    return !d->queue.in_flight || uv_now(&d->loop) >= d->drain_until_ms;
}

static void dispatch_until_stopped(struct dispatcher *d)
{
    while (!is_drained(d)) {
        (void)uv_run(&d->loop, UV_RUN_ONCE);
        /* Repeat, because flush() can start deliveries that need no HTTP call and finish immediately. */
        while (!list_is_empty(&d->finished) && d->not_before_ms <= uv_now(&d->loop))
            flush(d);
        update_counts(d);
    }
    free_list(d, &d->in_flight);
    free_list(d, &d->finished);
    release_if_idle(d);
    update_counts(d);
}

static void on_http_closed(void *ctx)
{
    ((struct dispatcher *)ctx)->http_closed = true;
}

static void close_loop(struct dispatcher *d)
{
    if (d->http)
        http_client_close(d->http, on_http_closed, d);
    uv_close((uv_handle_t *)&d->tick, NULL);
    uv_close((uv_handle_t *)d->options->stop, NULL);
    CHECK(uv_run(&d->loop, UV_RUN_DEFAULT) == 0);
    CHECK(uv_loop_close(&d->loop) == 0);
}

void dispatcher_run(const struct dispatcher_options *options, void (*opened)(void *ctx), void *ctx)
{
    struct dispatcher *d = xcalloc(1, sizeof *d);
    d->options = options;
    d->is_due = true;
    d->next_attempt_at = INT64_MAX;
    send_queue_init(&d->queue);
    list_init(&d->in_flight);
    list_init(&d->finished);
    lease_init(&d->lease, LEASE_WEBHOOKS);
    CHECK(uv_loop_init(&d->loop) == 0 && uv_timer_init(&d->loop, &d->tick) == 0);
    CHECK(uv_async_init(&d->loop, options->stop, on_stop) == 0);
    d->tick.data = options->stop->data = d;
    opened(ctx);
    CHECK(uv_timer_start(&d->tick, on_tick, 0, tick_ms()) == 0);
    dispatch_until_stopped(d);
    close_loop(d);
    if (d->store)
        store_close(d->store);
    VEC_FREE(&d->page);
    send_queue_fini(&d->queue);
    free(d);
}
