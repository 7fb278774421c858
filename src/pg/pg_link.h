/* A link to PostgreSQL: one connection to the primary, kept open on the event loop.
 *
 *            attempt            prepared, acknowledged barrier
 *   DOWN ------------> OPENING ---------------------------> UP --no acknowledged barrier for 5 s--> STALE
 *    ^                    |                                 | ^-------------acknowledged-------------+ |
 *    +--refused, late-----+------connection lost, late------+--------------------no barrier for 10 s---+
 *
 * pg_link_enter() performs every transition. An attempt tries all hosts, beginning with the last primary,
 * each with its own deadline. After all of them have failed, the link waits before the next attempt: at first
 * 100 ms, doubled up to 5 s, with jitter (base/backoff.h).
 *
 * Queries. All queries of one loop iteration are sent in one write, just before the loop waits. But if 128
 * queries are in flight, the others are held until results arrive. A batch ends with a synchronization point:
 * the reads share one batch, and each write is a batch of its own. If one read of a batch fails, PostgreSQL
 * skips the rest of the batch; the skipped reads are sent again, each in a batch of its own. While the link
 * is not up, at most held_max queries are held until it is up or until they are older than hold_ms. If a
 * server does not reply in time, the connection is dropped and the query is never canceled: canceling the
 * wait for a standby would make a commit visible that exists on only one machine.
 *
 * Barrier. The link uses the results of a server only after the server has committed a row of this process
 * (table `barriers`), and for at most 5 s after the latest such commit was sent. With synchronous
 * replication, this means that everything that a query has seen before the barrier is on a standby. A primary
 * that is cut off from its standby cannot commit the next barrier, so its results are soon ignored. With
 * asynchronous replication, it can; so the link also leaves a server whose timeline is older than the newest
 * one that the process has seen (pg_timeline.h). */
#ifndef VT_PG_PG_LINK_H
#define VT_PG_PG_LINK_H

#include "base/metrics.h"
#include "base/next.h"
#include "pg/pg_connection.h"

enum {
    PG_QUEUE_MAX = 1024,      /* maximum number of queries held and in flight */
    PG_BARRIER_MS = 2000,     /* interval of the barriers */
    PG_STALE_MS = 5000,       /* after this time without an acknowledged barrier, the link becomes STALE */
    PG_STALE_LOST_MS = 10000, /* after this time without an acknowledged barrier, the link becomes DOWN */
    PG_ANSWER_MS = 5000,      /* if a query or the opening batch takes longer, the connection is dropped */
    PG_STATEMENTS_MAX = 256,
};

struct pg_link;

/* A statement, which is prepared on each connection. The strings are static. */
struct pg_statement {
    const char *name, *sql;
    bool
        is_read; /* the statement writes nothing: it may be sent again, and shares a batch with other reads */
};

/* Identifies a run of a server. A restart or a promotion changes it. Data that was cached under another
 * incarnation is invalid: commits may have been lost, after which a revision can recur with other
 * contents. */
struct pg_incarnation {
    int64_t started_us; /* pg_postmaster_start_time() */
    uint32_t timeline;
};

enum pg_link_state { PG_DOWN, PG_OPENING, PG_UP, PG_STALE, PG_CLOSED };

struct pg_reply {
    /* Set by the caller; NULL ignores the result. Called with the result before the waiter completes, unless
     * the waiter was canceled. Returns false if the form of the result does not fit the statement. */
    bool (*decode)(void *ctx, const struct pg_result *result);
    void *ctx;

    /* ERR_BUSY: too many queries are waiting, or the query is older than hold_ms. ERR_IO: the connection was
     * lost, and it is unknown whether the write was committed. ERR_CORRUPT: `decode` returned false.
     * ERR_NOMEM, ERR_FULL: see pg_params.h. If the server reported an error: pg_error_of(sqlstate). */
    enum err err;
    char sqlstate[6];                  /* "" unless the server reported an error */
    struct pg_incarnation incarnation; /* of the server that replied */
    int64_t took_us; /* from sending the query to its result; set before `decode` is called */
};

struct pg_link_options {
    const struct pg_statement *statements; /* must outlive the link */
    int statement_count;
    const char *process; /* identifies this link in `barriers`; must outlive the link */
    int hold_ms;         /* how long a query may wait for the link to be up */
    int held_max;        /* maximum number of queries held and in flight while the link is not up */
};

/* Creates a link, which connects and reconnects until pg_link_close(). Takes ownership of `where`, even on
 * failure. Returns NULL if out of memory. */
struct pg_link *pg_link_new(uv_loop_t *loop, struct pg_options *where, const struct pg_link_options *options);

/* Closes the connection, then frees the link and calls `closed`, which may be NULL, on the loop.
 * Precondition: no waiter of a query is armed. */
void pg_link_close(struct pg_link *l, void (*closed)(void *ctx), void *ctx);

/* Starts a query. Takes ownership of the parameters. Returns NEXT_WAIT if the query was started: `w` is
 * completed when `reply` contains the result, and `reply` must stay valid until then. Returns NEXT_MORE if
 * the query was refused; in this case, `reply->err` is already set. */
enum next pg_link_query(struct pg_link *l, int statement, struct pg_params *params, struct waiter *w,
                        struct pg_reply *reply);

struct pg_status {
    enum pg_link_state state;
    struct pg_incarnation incarnation; /* of the server that replied most recently; zero before a reply */
    bool is_synchronous;               /* the server has a synchronous standby configured */
    const char *host; /* "HOST:PORT" of the connection or of the current attempt; "" while the link is DOWN */
    enum pg_failure failure; /* only valid if `reason` is not empty */
    const char *reason;      /* of the most recent failure; valid until the next one; contains no password */
    int held, in_flight;
    int64_t barrier_age_ms; /* since the latest acknowledged barrier of the connection was sent; -1: none */
};
struct pg_status pg_link_get_status(const struct pg_link *l);

/* Returns "connection", "auth", "tls", "not_primary", "schema" or "pooler". */
const char *pg_failure_name(enum pg_failure failure);
/* Returns what to do about a failure, to be appended to its reason: "; check the user, …", or "". */
const char *pg_failure_fix(enum pg_failure failure, const char *reason);
const char *pg_link_state_name(enum pg_link_state state);

/* Totals since the link was created. `resent` counts the queries that were sent again, each in a batch of its
 * own, because another query of their batch had failed. It does not count reads that were sent again for
 * another reason, such as a lost connection. `losses` counts connections that were lost after the link had
 * been up. */
struct pg_counts {
    unsigned long long queries, failed, batches, resent, losses;
    struct metrics_duration_histogram times; /* from sending a query to its result */
};
struct pg_counts pg_link_get_counts(const struct pg_link *l);

#endif
