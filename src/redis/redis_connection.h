/* One connection to Redis: name lookup, socket, TLS, AUTH and SELECT. The owner (redis.c) decides when to
 * open it again after a loss.
 *
 *   CLOSED --redis_connection_open()--> OPENING --connected()--> OPEN
 *   OPENING, OPEN --lost(): the owner calls redis_connection_drop()--> CLOSED */
#ifndef VT_REDIS_REDIS_CONNECTION_H
#define VT_REDIS_REDIS_CONNECTION_H

#include "redis/redis.h"

struct redis_connection;
struct redisReply;

/* Called on the loop; `lost` also from within redis_connection_open(). `reason` is valid until the callback
 * returns or drops the connection. */
struct redis_connection_events {
    void (*connected)(void *ctx);
    void (*lost)(void *ctx, const char *reason);
    void *ctx;
};

/* Embedded in a record of the sender, which must live until `replied` is called. */
struct redis_command {
    /* Called exactly once. `reply` is valid until the callback returns; NULL: the connection was lost or
     * dropped. */
    void (*replied)(struct redis_command *command, const struct redisReply *reply);
};

/* Takes ownership of the options, also on failure. Returns NULL if out of memory. */
struct redis_connection *redis_connection_new(uv_loop_t *loop, struct redis_options *options,
                                              const struct redis_connection_events *events);
/* Precondition: dropped, and no callback of it is running. */
void redis_connection_free(struct redis_connection *c);

/* Starts an attempt. Precondition: closed. It has no timeout: the owner must drop
 * the connection if the attempt takes too long. */
void redis_connection_open(struct redis_connection *c);

/* Closes the connection. Commands in flight get the reply NULL, during this call or, if it was called from a
 * reply, soon afterwards. */
void redis_connection_drop(struct redis_connection *c);

/* Buffers a command until redis_connection_flush(). `command` NULL: the reply is ignored. Returns false if
 * out of memory; `command` is not called then. Precondition: connected() was called. */
bool redis_connection_send(struct redis_connection *c, struct redis_command *command, const struct str *args,
                           int count);

bool redis_connection_has_output(const struct redis_connection *c);
/* Writes what is buffered. May call `lost`. */
void redis_connection_flush(struct redis_connection *c);

/* The reason for giving the connection up: that of TLS if there is one, else `reason`. */
const char *redis_connection_explain(struct redis_connection *c, const char *reason);

#endif
