/* One connection to one PostgreSQL server: connects, negotiates TLS, authenticates, and then stays in
 * pipeline mode until it is closed. pg_connection.c is the only file that includes libpq-fe.h. pg_link.c
 * decides when to connect, to which host, and what a failure means.
 *
 *   OPENING --ready()--> OPEN --lost()--> FAILED        OPENING --lost()--> FAILED
 *   any state --pg_connection_close()--> freed after the loop has closed its handle */
#ifndef VT_PG_PG_CONNECTION_H
#define VT_PG_PG_CONNECTION_H

#include "pg/pg_options.h"
#include "pg/pg_params.h"
#include "pg/pg_result.h"

#include <uv.h>

struct pg_connection;

/* Why a connection failed. PG_FAILED_AUTH, _TLS, _SCHEMA and _POOLER mean that the configuration is wrong.
 * The values are in ascending order of importance: if several hosts have failed, pg_link.c reports the most
 * important failure. */
enum pg_failure {
    PG_FAILED_CONNECTION,
    PG_FAILED_AUTH,
    PG_FAILED_TLS,
    PG_FAILED_NOT_PRIMARY,
    PG_FAILED_SCHEMA,
    PG_FAILED_POOLER,
    PG_FAILURES,
};

/* Returns true if the reason of a PG_FAILED_CONNECTION contains the SQLSTATE of an error which shows that
 * host and port are right: "(53300)", too many connections, or "(57P03)", the server is starting or stopping.
 */
bool pg_reason_shows_a_reply(const char *reason);

/* What `got` reports. Each command of a pipeline gets one or several results, then PG_GOT_END. A
 * synchronization point gets PG_GOT_SYNC, preceded by PG_GOT_ERROR if the commit failed. PG_GOT_ABORTED: the
 * server has skipped the command, because an earlier command of the same batch failed. */
enum pg_got { PG_GOT_RESULT, PG_GOT_ERROR, PG_GOT_ABORTED, PG_GOT_END, PG_GOT_SYNC };

/* An error of a statement. The text is the primary message of the server, which contains no parameter
 * values. */
struct pg_error {
    char sqlstate[6];
    char text[200];
};

/* Called on the loop. `lost` is called at most once; call pg_connection_close() in `lost` or after it.
 * `error` is NULL unless `got` is PG_GOT_ERROR, and `result` is NULL unless it is PG_GOT_RESULT. Every
 * callback may call pg_connection_close(). */
struct pg_connection_events {
    void (*ready)(void *ctx);
    void (*got)(void *ctx, enum pg_got got, const struct pg_result *result, const struct pg_error *error);
    void (*lost)(void *ctx, enum pg_failure failure, const char *reason);
    void *ctx;
    size_t result_bytes_max; /* the connection fails if a result is larger; 0: PG_RESULT_BYTES_MAX */
};
enum { PG_RESULT_BYTES_MAX = 64 << 20 };

/* Keeps the result that `got` has received with PG_GOT_RESULT: it stays valid until the caller frees it with
 * pg_result_free(). Call it in `got`. */
void pg_connection_keep_result(struct pg_connection *c);

/* Starts to connect to options->hosts[host]. `address` is a numeric address, or NULL for a Unix socket. There
 * is no timeout: call pg_connection_close() if connecting takes too long. `options` must stay valid until
 * pg_connection_close(). Returns NULL if out of memory. Never calls `lost` before it returns. */
struct pg_connection *pg_connection_open(uv_loop_t *loop, const struct pg_options *options, int host,
                                         const char *address, const struct pg_connection_events *events);

/* Closes the connection and frees it. No callback is called afterwards. `c` may be NULL. */
void pg_connection_close(struct pg_connection *c);

/* Each of these functions appends a command to the output buffer. They return false if out of memory or
 * if the connection was lost. Precondition: `ready` has been called. */
MUST_USE bool pg_connection_prepare(struct pg_connection *c, const char *name, const char *sql);
MUST_USE bool pg_connection_query(struct pg_connection *c, const char *name, const struct pg_params *params);
MUST_USE bool pg_connection_sync(struct pg_connection *c);

/* Writes the output buffer to the socket. If the connection turns out to be lost, `lost` is called in the
 * next loop iteration. */
void pg_connection_flush(struct pg_connection *c);

/* Returns true if libpq has lost the connection, which may be the reason why a command could not be appended.
 */
bool pg_connection_is_broken(const struct pg_connection *c);

/* Parses a URL with libpq and calls `each` for each keyword that the URL sets. Returns false if the URL is
 * malformed. */
MUST_USE bool pg_conninfo_parse(const char *url,
                                void (*each)(void *ctx, const char *keyword, const char *value), void *ctx);

#endif
