/* What the admin pages look at: pointers that the app fills in as the parts come up, and takes away before
 * they go. Everything is read, nothing is changed. */
#ifndef VT_ADMIN_VIEW_H
#define VT_ADMIN_VIEW_H

#include "admin/access_log.h"
#include "admin/loop_lag.h"
#include "admin/request_metrics.h"
#include "config/config.h"
#include "http/server.h"
#include "limit/poll_positions.h"
#include "limit/limiter.h"
#include "refresh/schedule.h"
#include "store/checkpoint.h"
#include "store/store.h"
#include "store/writer.h"

struct admin_view {
    const struct config *config;
    const struct http_server *server; /* the API's; NULL: not (or no longer) listening */
    const struct limiter *limiter;
    const struct poll_positions *cursors;
    const struct redis *redis; /* NULL: none is configured */
    struct store *store;       /* the loop's read connection */
    const struct writer *writer;
    const struct checkpointer *checkpointer; /* NULL: as the schedule */
    const struct schedule *schedule;         /* NULL: not there yet, or gone */
    const struct request_metrics *traffic;
    const struct loop_lag *lag;
    const struct access_log *log;
    void (*more)(struct buf *b, const void *ctx); /* further metrics; NULL: none */
    const void *more_ctx;
    bool draining;
};

#endif
