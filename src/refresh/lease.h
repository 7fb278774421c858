/* The lease of the refresh: one row in the database, held by at most one run of all processes.
 *
 *   free or expired --lease_acquire()--> held --lease_renew() in each transaction--> held
 *   held --lease_release()--> free;   held, process died or slept for 30 s--> expired
 *
 * Each acquisition increments the fence. A run with an old fence has lost the lease, whatever its clock says,
 * and detects that in its next transaction before it writes anything. So a process that was suspended cannot
 * damage what another one does. */
#ifndef VT_REFRESH_LEASE_H
#define VT_REFRESH_LEASE_H

#include "store/runs.h"

enum { LEASE_MS = 30 * 1000, LEASE_RENEW_MS = 10 * 1000 };

struct lease {
    char holder[HOLDER_MAX];
    int64_t fence; /* 0: not held */
    int64_t taken_at;
    int64_t renewed_at; /* committed, or in the open transaction */
};

/* Sets a unique holder name: host, process id, random number. */
void lease_init(struct lease *l);

/* Whether a run holds the lease at `now_ms`. False if it expires later than any lease can, because the clock
 * was set back. */
bool lease_is_held(const struct lease_row *row, int64_t now_ms);

/* Call these in an open write transaction. ERR_BUSY: another run holds the lease; `*row` receives it. */
MUST_USE enum err lease_acquire(struct lease *l, struct store *store, int64_t now_ms, struct lease_row *row);
/* Verifies the lease, and renews it when due. ERR_CANCELED: another run has taken it over. */
MUST_USE enum err lease_renew(struct lease *l, struct store *store, int64_t now_ms);
MUST_USE enum err lease_release(struct lease *l, struct store *store);

/* Whether the lease is due for renewal, so that it needs a transaction if there is no other. */
bool lease_renewal_is_due(const struct lease *l, int64_t now_ms);

#endif
