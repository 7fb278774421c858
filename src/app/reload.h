/* SIGHUP: reopens the access log and applies changed configuration values that do not need a restart. */
#ifndef VT_APP_RELOAD_H
#define VT_APP_RELOAD_H

#include "app/monitor.h"
#include "app/notifier.h"

struct reload {
    uv_signal_t signal;
    struct config *config; /* the configuration in use */
    const char *path;      /* path of the configuration file; NULL if none exists */
    struct monitor *monitor;
    const struct notifier *notifier;
    /* Called after a new configuration has been applied to `config`. The strings of the old values are freed
     * when the function has returned. */
    void (*changed)(void *ctx);
    void *changed_ctx;
    bool is_stopping; /* set when the server begins to stop; SIGHUP then only reopens the access log */
};

/* Starts to handle SIGHUP. Before the call, set all members except `signal` and `is_stopping`. */
void reload_sighup_start(struct reload *r, uv_loop_t *loop);

/* Stops handling SIGHUP. The struct must stay valid until the loop has ended. */
void reload_sighup_stop(struct reload *r);

#endif
