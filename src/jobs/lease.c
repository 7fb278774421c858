/* Reads and updates the row of a lease. */
#include "jobs/lease.h"

#include "base/clock.h"

#include <sodium.h>
#include <stdio.h>
#include <unistd.h>

void lease_init(struct lease *l, enum lease_kind kind)
{
    char host[HOLDER_MAX - 48] = "";
    *l = (struct lease){.kind = kind};
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    (void)snprintf(l->holder, sizeof l->holder, "%s:%ld:%08x", *host ? host : "localhost", (long)getpid(),
                   (unsigned)randombytes_random());
}

static bool is_held(const struct lease_row *row, int64_t now_ms)
{
    return row->holder[0] && row->expires_at > now_ms && row->expires_at <= now_ms + LEASE_MS;
}

enum err lease_read(struct store *store, enum lease_kind kind, struct lease_row *row, bool *held)
{
    int64_t now_ms = 0;
    enum err err = store_read_lease(store, kind, row);
    if (!err)
        err = store_read_clock(store, &now_ms);
    *held = !err && is_held(row, now_ms);
    return err;
}

/* Stores the lease of a holder that has the time `now_ms` from store_read_clock(). */
static enum err store_lease(struct lease *l, struct store *store, int64_t now_ms)
{
    struct lease_row row = {
        .fence = l->fence, .acquired_at = l->acquired_at, .expires_at = now_ms + LEASE_MS};
    (void)snprintf(row.holder, sizeof row.holder, "%s", l->holder);
    l->renewed_at = clock_wall_ms();
    return store_put_lease(store, l->kind, &row);
}

enum err lease_acquire(struct lease *l, struct store *store, struct lease_row *row)
{
    int64_t now_ms = 0;
    l->is_taken = false;
    enum err err = store_read_lease(store, l->kind, row);
    if (!err)
        err = store_read_clock(store, &now_ms);
    if (err)
        return err;
    l->is_taken = is_held(row, now_ms);
    if (l->is_taken)
        return ERR_BUSY;
    l->fence = row->fence + 1;
    l->acquired_at = now_ms;
    return store_lease(l, store, now_ms);
}

bool lease_renewal_is_due(const struct lease *l)
{
    const int64_t now_ms = clock_wall_ms();
    return now_ms >= l->renewed_at + LEASE_RENEW_MS || now_ms < l->renewed_at;
}

static enum err verify_fence(const struct lease *l, struct store *store)
{
    struct lease_row row;
    enum err err = store_read_lease(store, l->kind, &row);
    if (err)
        return err;
    return row.fence == l->fence ? OK : ERR_CANCELED;
}

enum err lease_renew(struct lease *l, struct store *store)
{
    int64_t now_ms = 0;
    enum err err = verify_fence(l, store);
    if (err || !lease_renewal_is_due(l))
        return err;
    err = store_read_clock(store, &now_ms);
    return err ? err : store_lease(l, store, now_ms);
}

enum err lease_release(struct lease *l, struct store *store)
{
    enum err err = verify_fence(l, store);
    const struct lease_row released = {.fence = l->fence, .acquired_at = l->acquired_at};
    return err ? err : store_put_lease(store, l->kind, &released);
}
