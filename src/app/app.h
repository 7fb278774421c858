/* The server process: owns and wires everything that `viewtally serve` runs. */
#ifndef VT_APP_APP_H
#define VT_APP_APP_H

#include "base/error.h"
#include "config/config.h"

/* Starts, serves until SIGTERM or SIGINT, drains, stops. Blocks. OK after an orderly stop; else nothing was
 * left open and `error` is set. SIGHUP reads `config_path` (NULL: no file) again and changes `config`.
 */
MUST_USE enum err app_run(struct config *config, const char *config_path, struct error *error);

#endif
