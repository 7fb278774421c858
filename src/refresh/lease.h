/* The right to run the refresh: one row in the database, held by at most one run of all processes.
 *
 *   free or expired --lease_acquire--> held --lease_renew in each transaction--> held
 *   held --lease_release--> free;   held, and its process died or slept --30 s--> expired
 *
 * Every taking raises the fence. Who holds an old fence has lost the lease, whatever its clock says, and
 * finds out in its next transaction, before it writes anything: a process that slept cannot spoil what
 * another does. */
#ifndef VT_REFRESH_LEASE_H
#define VT_REFRESH_LEASE_H

#include "store/runs.h"

enum { LEASE_MS = 30 * 1000, LEASE_RENEW_MS = 10 * 1000 };

struct lease {
    char holder[HOLDER_MAX];
    int64_t fence; /* 0: not held */
    int64_t taken_at;
    int64_t renewed_at; /* as far as it is committed, or in the open transaction */
};

/* A name of its own for this run: host, process id, a random part. */
void lease_init(struct lease *l);

/* Whether somebody holds it at `now`. One that ends later than any can (the clock was set back) is held by
 * nobody. */
bool lease_is_held(const struct lease_row *row, int64_t now_ms);

/* These three in an open write transaction. take: ERR_BUSY, and `*row` says who has it. hold: ERR_CANCELED,
 * the lease has gone to another; renews it when it is time. */
MUST_USE enum err lease_acquire(struct lease *l, struct store *store, int64_t now_ms, struct lease_row *row);
MUST_USE enum err lease_renew(struct lease *l, struct store *store, int64_t now_ms);
MUST_USE enum err lease_release(struct lease *l, struct store *store);

/* Whether lease_renew() would renew it: in a transaction for that alone, when there is no other. */
bool lease_renewal_is_due(const struct lease *l, int64_t now_ms);

#endif
