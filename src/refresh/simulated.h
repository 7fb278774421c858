/* The simulated source: made-up readings for demonstrations. One step per author and run, for the author's
 * live posts; growth.h computes the counts. */
#ifndef VT_REFRESH_SIMULATED_H
#define VT_REFRESH_SIMULATED_H

#include "refresh/source.h"

extern const struct source simulated_source;

#endif
