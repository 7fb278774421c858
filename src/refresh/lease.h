/* The lease of the refresh: one row in the database. It ensures that only one run is active at a time, in any
 * process.
 *
 *   free or expired --lease_acquire()--> held --lease_renew() in each transaction--> held
 *   held --lease_release()--> free
 *   held --not renewed for 30 s, because the process died or was suspended--> expired
 *
 * Each acquisition increments a number, the fence. A run with an old fence has lost the lease, even if its
 * clock shows that the lease has not expired. It detects this in its next transaction before it writes
 * anything, so a process that was suspended cannot interfere with the run of another process. */
#ifndef VT_REFRESH_LEASE_H
#define VT_REFRESH_LEASE_H

#include "store/runs.h"

enum { LEASE_MS = 30 * 1000, LEASE_RENEW_MS = 10 * 1000 };

struct lease {
    char holder[HOLDER_MAX];
    int64_t fence;      /* 0 if not held */
    int64_t taken_at;   /* wall clock time in ms, as is renewed_at */
    int64_t renewed_at; /* the last renewal, committed or in the open transaction */
};

/* Initializes a lease that is not held. Sets a unique holder name: host, process id and a random number. */
void lease_init(struct lease *l);

/* Returns true if a run holds the lease at `now_ms`. Returns false if the lease expires more than LEASE_MS
 * from now: then the clock was set back. */
bool lease_is_held(const struct lease_row *row, int64_t now_ms);

/* Acquires the lease. Returns ERR_BUSY if another run holds it. Sets `*row` to the row found in the database.
 * Call in a write transaction. */
MUST_USE enum err lease_acquire(struct lease *l, struct store *store, int64_t now_ms, struct lease_row *row);
/* Verifies that the run still holds the lease and renews it if due. Returns ERR_CANCELED if another run has
 * acquired it. Call in a write transaction. */
MUST_USE enum err lease_renew(struct lease *l, struct store *store, int64_t now_ms);
/* Releases the lease. Call in a write transaction. */
MUST_USE enum err lease_release(struct lease *l, struct store *store);

/* Returns true if the lease is due for renewal. The caller must then renew it in a transaction, even if it
 * has nothing else to write. */
bool lease_renewal_is_due(const struct lease *l, int64_t now_ms);

#endif
