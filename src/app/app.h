/* The server process, which `viewtally serve` runs. */
#ifndef VT_APP_APP_H
#define VT_APP_APP_H

#include "base/error.h"
#include "config/config.h"

/* Runs the server and blocks until it has stopped after SIGTERM or SIGINT. On SIGHUP, reads `config_path`
 * again and changes `config`; `config_path` is NULL if there is no file. Returns OK after an orderly stop.
 * Returns another code and sets `error` if the server cannot start; everything is closed then. */
MUST_USE enum err app_run(struct config *config, const char *config_path, struct error *error);

#endif
