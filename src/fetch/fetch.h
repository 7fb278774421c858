/* The source `platforms`: every live post of every author is asked for at its platform. One run of it is a
 * loop of its own on the run's thread; how it goes about it is engine.h's. */
#ifndef VT_FETCH_FETCH_H
#define VT_FETCH_FETCH_H

#include "refresh/source.h"

extern const struct source platform_source;

#endif
