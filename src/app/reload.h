/* SIGHUP: opens the access log anew and takes new values of the configuration over, as far as a running
 * server can. */
#ifndef VT_APP_RELOAD_H
#define VT_APP_RELOAD_H

#include "app/monitor.h"

struct reload {
    uv_signal_t signal;
    struct config *config; /* in force */
    const char *path;      /* NULL: no file */
    struct monitor *watch;
    void (*changed)(void *ctx); /* values of `config` are new; texts of before are gone when it returns */
    void *ctx;
};

/* Begins to listen to the signal. The struct's members but `signal` are set by the caller. */
void reload_open(struct reload *r, uv_loop_t *loop);
/* The struct must stay until the loop has run on. */
void reload_close(struct reload *r);

#endif
