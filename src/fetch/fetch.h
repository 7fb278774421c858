/* The source `platforms`: reads every live post of every author from its platform. A run has an event loop of
 * its own on the run's thread. */
#ifndef VT_FETCH_FETCH_H
#define VT_FETCH_FETCH_H

#include "refresh/source.h"

extern const struct source platform_source;

#endif
