/* The server process: owns and wires everything that `viewtally serve` runs. */
#ifndef VT_APP_H
#define VT_APP_H

#include "base/err.h"
#include "config/config.h"

/* Starts, serves until SIGTERM or SIGINT, drains, stops. Blocks. OK after an orderly stop; else nothing was
 * left open and `*why` is a sentence. */
MUST_USE enum err app_run(const struct config *config, const char **why);

#endif
