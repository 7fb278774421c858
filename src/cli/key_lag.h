/* Poll positions and lags of an author's API keys, for `key list`. */
#ifndef VT_CLI_KEY_LAG_H
#define VT_CLI_KEY_LAG_H

#include "config/config.h"
#include "limit/poll_positions.h"
#include "store/store.h"

struct key_lag {
    struct uuid key_id;            /* set by the caller */
    bool is_read;                  /* Redis replied for this key */
    struct poll_position position; /* position.known is false if the key has not polled in the last 90 days */
    int events; /* the lag, if the position is known; LAG_MAX + 1 means more than LAG_MAX */
};

enum key_lag_state { KEY_LAG_NO_REDIS, KEY_LAG_UNAVAILABLE, KEY_LAG_READ };

/* Loads the poll positions of `count` keys from the configured Redis and counts the events after each
 * position in the database. Waits for Redis at most a second. Returns KEY_LAG_UNAVAILABLE if Redis did not
 * reply; if the configuration is invalid, `*error` contains the reason. */
enum key_lag_state key_lag_read(const struct config *c, struct store *store, int64_t author_row,
                                struct key_lag *lags, size_t count, struct error *error);

#endif
