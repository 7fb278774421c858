/* The simulated source: readings that nobody counted, for `make run` and for trying things out. It asks
 * nobody and brings none but readings of posts that are known, one step for each author and run; growth.h
 * says how they grow. */
#ifndef VT_REFRESH_SIMULATED_H
#define VT_REFRESH_SIMULATED_H

#include "refresh/source.h"

extern const struct source simulated_source;

#endif
