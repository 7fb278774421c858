/* The server process, which `viewtally serve` runs. */
#ifndef VT_APP_APP_H
#define VT_APP_APP_H

#include "app/notifier.h"
#include "base/error.h"
#include "config/config.h"

/* Runs the server and blocks until it has stopped after SIGTERM or SIGINT. On SIGHUP, reads `config_path`
 * again and changes `config`; `config_path` is NULL if there is no file. Calls notifier_end_start() when it
 * has started or failed to start. Returns OK after an orderly stop. Returns another code and sets `error` if
 * the server cannot start; everything but `notifier` is closed then. */
MUST_USE enum err app_run(struct config *config, const char *config_path, struct notifier *notifier,
                          struct error *error);

#endif
