/* Writes the metrics of a database server ([store] url). */
#ifndef VT_ADMIN_SERVER_METRICS_H
#define VT_ADMIN_SERVER_METRICS_H

#include "base/buf.h"
#include "store/store.h"

/* Appends the metrics of the connection. Also appends the metrics of the load, unless `load` is NULL because
 * the load is unknown. */
void server_metrics_write(const struct store_server_status *status, const struct store_server_load *load,
                          struct buf *b);

#endif
