/* SIGHUP: reopens the access log and applies changed configuration values that do not need a restart. */
#ifndef VT_APP_RELOAD_H
#define VT_APP_RELOAD_H

#include "app/monitor.h"

struct reload {
    uv_signal_t signal;
    struct config *config; /* in effect */
    const char *path;      /* NULL: no file */
    struct monitor *monitor;
    /* Called after values of `config` have changed. The previous strings are freed when it returns. */
    void (*changed)(void *ctx);
    void *changed_ctx;
};

/* Starts to handle the signal. The caller sets all members but `signal`. */
void reload_open(struct reload *r, uv_loop_t *loop);
/* The struct must stay valid until the loop has ended. */
void reload_close(struct reload *r);

#endif
