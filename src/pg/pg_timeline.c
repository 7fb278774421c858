/* One record is enough: only `viewtally move` uses two clusters, and it only reads from the first one. */
#include "pg/pg_timeline.h"

#include "base/check.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

static struct {
    pthread_mutex_t mutex;
    int64_t cluster;
    uint32_t timeline;
} newest = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cluster = PG_CLUSTER_UNKNOWN};

uint32_t pg_timeline_record(int64_t cluster, uint32_t timeline)
{
    CHECK(pthread_mutex_lock(&newest.mutex) == 0);
    const bool is_other =
        cluster != PG_CLUSTER_UNKNOWN && newest.cluster != PG_CLUSTER_UNKNOWN && cluster != newest.cluster;
    if (is_other || timeline > newest.timeline)
        newest.timeline = timeline;
    if (cluster != PG_CLUSTER_UNKNOWN)
        newest.cluster = cluster;
    const uint32_t result = newest.timeline;
    CHECK(pthread_mutex_unlock(&newest.mutex) == 0);
    return result;
}

uint32_t pg_timeline_newest(void)
{
    return pg_timeline_record(PG_CLUSTER_UNKNOWN, 0);
}

void pg_timeline_describe_former_primary(char reason[PG_FORMER_PRIMARY_REASON_MAX], uint32_t timeline)
{
    (void)snprintf(reason, PG_FORMER_PRIMARY_REASON_MAX,
                   "the server is a former primary (its timeline is %u, the newest one is %u)", timeline,
                   pg_timeline_newest());
}
