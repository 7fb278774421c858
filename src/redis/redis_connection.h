/* One connection to Redis: name lookup, socket, TLS, AUTH and SELECT. The owner (redis.c) opens it again
 * after a loss.
 *
 *   CLOSED --redis_connection_open()--> OPENING --connected()--> OPEN
 *   OPENING, OPEN --lost(): the owner calls redis_connection_drop()--> CLOSED */
#ifndef VT_REDIS_REDIS_CONNECTION_H
#define VT_REDIS_REDIS_CONNECTION_H

#include "redis/redis.h"

struct redis_connection;
struct redisReply;

/* Callbacks of the owner. They are called on the loop; redis_connection_open() may also call `lost` itself.
 * `reason` is valid until the callback returns or drops the connection.
 *
 * `connected` is called before the replies to AUTH and SELECT arrive, which saves a round trip. If Redis
 * rejects one of them, `lost` is called before the reply to any later command, so before
 * commands that must not run as another user or in another database, the owner must send a harmless command
 * and wait for its reply. */
struct redis_connection_events {
    void (*connected)(void *ctx);
    void (*lost)(void *ctx, enum redis_failure failure, const char *reason);
    void *ctx;
};

/* A command with a reply. The sender embeds this struct in its own record, which must stay valid until
 * `replied` is called. */
struct redis_command {
    /* Called exactly once. `reply` is valid until the callback returns. It is NULL if the connection was lost
     * or dropped. */
    void (*replied)(struct redis_command *command, const struct redisReply *reply);
};

/* Creates a closed connection. Takes ownership of the options, also on failure. Returns NULL if out of
 * memory. */
struct redis_connection *redis_connection_new(uv_loop_t *loop, struct redis_options *options,
                                              const struct redis_connection_events *events);

/* Frees the connection. Precondition: it is closed, and none of its callbacks is running. */
void redis_connection_free(struct redis_connection *c);

/* Starts an attempt to connect. The attempt has no timeout: if it takes too long, call
 * redis_connection_drop(). Precondition: the connection is closed. */
void redis_connection_open(struct redis_connection *c);

/* Closes the connection. `replied` is called with NULL for each command in flight: during
 * redis_connection_drop(), or soon afterwards if a `replied` callback has called it. */
void redis_connection_drop(struct redis_connection *c);

/* Buffers a command until redis_connection_flush(). If `command` is NULL, the reply is ignored. Returns false
 * if out of memory; in this case, `replied` is not called. Precondition: the connection is open. */
bool redis_connection_send(struct redis_connection *c, struct redis_command *command, const struct str *args,
                           int count);

/* Returns true if commands are buffered. */
bool redis_connection_has_output(const struct redis_connection *c);

/* Writes the buffered commands. May call `lost`. */
void redis_connection_flush(struct redis_connection *c);

/* Returns the text to report when the owner gives up the connection: the TLS error if there is one, else
 * `reason`. */
const char *redis_connection_explain(struct redis_connection *c, const char *reason);

#endif
