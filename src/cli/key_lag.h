/* Where an author's keys stand in the feed of events, for `key list`. */
#ifndef VT_CLI_KEY_LAG_H
#define VT_CLI_KEY_LAG_H

#include "config/config.h"
#include "limit/poll_positions.h"
#include "store/store.h"

struct key_feed {
    struct uuid key_id;          /* the caller's */
    bool answered;               /* Redis did */
    struct poll_position cursor; /* known: it has polled */
    int behind;                  /* with it: events, up to LAG_MAX + 1, which means more */
};

enum key_feed_state { KEY_FEED_NONE, KEY_FEED_AWAY, KEY_FEED_READ };

/* Asks the configured Redis for the cursors of `count` keys, a second at most, and the store for what is
 * behind them. KEY_FEED_NONE: no Redis is configured. KEY_FEED_AWAY: it did not answer; `message` says why
 * where it is the configuration. */
enum key_feed_state key_feed_read(const struct config *c, struct store *store, int64_t author_row,
                                  struct key_feed *feeds, size_t count, char *message, size_t size);

#endif
