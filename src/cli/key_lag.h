/* Poll positions and lags of an author's API keys, for `key list`. */
#ifndef VT_CLI_KEY_LAG_H
#define VT_CLI_KEY_LAG_H

#include "config/config.h"
#include "limit/poll_positions.h"
#include "store/store.h"

struct key_lag {
    struct uuid key_id;            /* set by the caller */
    bool is_read;                  /* Redis replied */
    struct poll_position position; /* known: the key has polled */
    int events;                    /* if known: the lag, up to LAG_MAX + 1, which means more */
};

enum key_lag_state { KEY_LAG_NO_REDIS, KEY_LAG_UNAVAILABLE, KEY_LAG_READ };

/* Loads the poll positions of `count` keys from the configured Redis within a second, and counts in the store
 * the events after each. KEY_LAG_UNAVAILABLE: Redis did not reply; if the configuration is the reason,
 * `*error` has a text. */
enum key_lag_state key_lag_read(const struct config *c, struct store *store, int64_t author_row,
                                struct key_lag *lags, size_t count, struct error *error);

#endif
