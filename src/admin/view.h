/* The data that the admin pages show: pointers to the subsystems. src/app sets a pointer after it has opened
 * the subsystem, and sets it to NULL when the subsystem closes, before the loop can serve another page. */
#ifndef VT_ADMIN_VIEW_H
#define VT_ADMIN_VIEW_H

#include "admin/access_log.h"
#include "admin/database_states.h"
#include "admin/disk_space.h"
#include "admin/loop_lag.h"
#include "admin/request_metrics.h"
#include "backup/backup_schedule.h"
#include "config/config.h"
#include "http/server.h"
#include "limit/poll_positions.h"
#include "limit/limiter.h"
#include "net/ping.h"
#include "refresh/schedule.h"
#include "store/checkpoint.h"
#include "store/store.h"
#include "store/writer.h"
#include "webhook/webhook_service.h"

struct admin_view {
    const struct config *config;
    const struct http_server *server; /* NULL if not listening */
    const struct limiter *limiter;
    const struct poll_positions *positions;
    const struct redis *redis; /* NULL if not configured */
    struct store *store;       /* the loop's read connection */
    struct writer *writer;
    struct database_states *states;
    const struct checkpointer *checkpointer; /* NULL if not open */
    const struct schedule *schedule;         /* NULL if not open */
    const struct backup_schedule *backups;   /* NULL if not open */
    const struct webhook_service *webhooks;  /* NULL if not open */
    const struct ping *refresh_ping, *backup_ping;
    const struct request_metrics *requests;
    const struct loop_lag *loop_lag;
    const struct access_log *access_log;
    const struct disk_space *disk;
    void (*write_more)(struct buf *b, const void *ctx); /* appends further metrics; may be NULL */
    const void *write_more_ctx;
    bool draining;
};

#endif
