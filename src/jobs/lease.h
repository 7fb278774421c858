/* A lease: one row in the database. The lease of the refresh ensures that only one run is active at a time,
 * in any process. Scheduled backups and the delivery of webhooks have a lease of their own; below, "run" also
 * stands for these jobs.
 *
 *   free or expired --lease_acquire()--> held --lease_renew() in each transaction--> held
 *   held --lease_release()--> free
 *   held --not renewed for 30 s, because the process died or was suspended--> expired
 *
 * The times in the row are those of store_read_clock(), because the holder and other processes can run on
 * machines whose clocks differ.
 *
 * Each acquisition increments a number, the fence. A run with an old fence has lost the lease, even if its
 * clock shows that the lease has not expired. The run detects this in its next transaction before it writes
 * anything, so a process that was suspended cannot interfere with the run of another process. */
#ifndef VT_JOBS_LEASE_H
#define VT_JOBS_LEASE_H

#include "store/runs.h"

enum { LEASE_MS = 30 * 1000, LEASE_RENEW_MS = 10 * 1000 };

struct lease {
    enum lease_kind kind;
    char holder[HOLDER_MAX];
    int64_t fence;       /* fence of the most recent acquisition with this struct; 0 if there was none */
    int64_t acquired_at; /* time of the acquisition, see store_read_clock() */
    bool is_taken;       /* another run held the lease at the most recent call of lease_acquire() */
    int64_t renewed_at;  /* time of the last renewal, committed or in the open transaction; wall clock of this
                            process in ms */
};

/* Initializes a lease that is not held. Sets a unique holder name: host, process id and a random number. */
void lease_init(struct lease *l, enum lease_kind kind);

/* Reads the row of a lease, and whether a run holds the lease. A lease that expires later than LEASE_MS from
 * now counts as free: the clock must have been set back after the lease was stored. */
MUST_USE enum err lease_read(struct store *store, enum lease_kind kind, struct lease_row *row, bool *held);

/* Acquires the lease. If another run holds it, returns ERR_BUSY, sets `l->is_taken`, and sets `*row` to the
 * row found in the database. ERR_BUSY without `l->is_taken` means that the database is locked. Call in a
 * write transaction. */
MUST_USE enum err lease_acquire(struct lease *l, struct store *store, struct lease_row *row);
/* Verifies that the run still holds the lease and renews it if due. Returns ERR_CANCELED if another run has
 * acquired it. Call in a write transaction. */
MUST_USE enum err lease_renew(struct lease *l, struct store *store);
/* Releases the lease. Call in a write transaction. */
MUST_USE enum err lease_release(struct lease *l, struct store *store);

/* Returns true if the lease is due for renewal. The caller must then renew it in a transaction, even if it
 * has nothing else to write. */
bool lease_renewal_is_due(const struct lease *l);

#endif
