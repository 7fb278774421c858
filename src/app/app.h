/* The server process: everything that `viewtally serve` runs. */
#ifndef VT_APP_APP_H
#define VT_APP_APP_H

#include "base/error.h"
#include "config/config.h"

/* Runs the server until SIGTERM or SIGINT. Blocks. Returns OK after an orderly stop; after a failed start,
 * nothing is left open. On SIGHUP, reads `config_path` (NULL: no file) again and changes `config`. */
MUST_USE enum err app_run(struct config *config, const char *config_path, struct error *error);

#endif
