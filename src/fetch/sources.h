/* The sources of readings that a configuration enables. This is the only place that lists all sources. It is
 * in src/fetch, because src/refresh must not include headers of src/fetch. */
#ifndef VT_FETCH_SOURCES_H
#define VT_FETCH_SOURCES_H

#include "refresh/source.h"

/* Returns the sources that the key `source` of section [refresh] lists, in the order in which a run reads
 * them. */
struct source_list sources_from_config(const struct config *config);

#endif
