/* The simulated source: generates readings for demonstrations. Each run applies one step per author with
 * readings of the author's live posts. growth.h computes the counts. */
#ifndef VT_REFRESH_SIMULATED_H
#define VT_REFRESH_SIMULATED_H

#include "refresh/source.h"

extern const struct source simulated_source;

#endif
