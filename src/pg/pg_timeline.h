/* The newest timeline that any connection of this process to PostgreSQL has used. Each promotion of a standby
 * begins a new timeline, so a server with an older one is a former primary. With asynchronous replication, a
 * former primary that was not shut down still commits, and nothing else reveals it. May be called by any
 * thread. */
#ifndef VT_PG_PG_TIMELINE_H
#define VT_PG_PG_TIMELINE_H

#include <stdint.h>

enum { PG_CLUSTER_UNKNOWN = 0, PG_FORMER_PRIMARY_REASON_MAX = 100 };

/* Records the timeline of a server, unless a newer one is known. A different `cluster` replaces the record
 * even with an older timeline, because pg_upgrade begins with timeline 1 again; PG_CLUSTER_UNKNOWN never
 * does. Returns the newest timeline. */
uint32_t pg_timeline_record(int64_t cluster, uint32_t timeline);

/* Returns the newest recorded timeline; 0: none. */
uint32_t pg_timeline_newest(void);

/* Writes why a server with this timeline is refused. */
void pg_timeline_describe_former_primary(char reason[PG_FORMER_PRIMARY_REASON_MAX], uint32_t timeline);

#endif
