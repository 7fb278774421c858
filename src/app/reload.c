/* A configuration that is wrong changes nothing; one that is right changes the keys that say so in the table
 * (config/config_table.c), and names the others that wait for a restart. */
#include "app/reload.h"

#include "base/check.h"
#include "base/log.h"
#include "config/value.h"

#include <signal.h>

extern char **environ;

enum { MESSAGE_MAX = 1 << 20 };

/* The file that was renamed away must be let go of whatever the configuration is like. */
static void rotate(struct reload *r)
{
    const char *why = "";
    if (monitor_set_access_log(r->watch, r->config->log.access, &why))
        log_error("SIGHUP: %s; it is written where it was", why);
}

static void take_over(struct reload *r, struct config *fresh)
{
    int taken = 0;
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++) {
        if (!value_differs(r->config, fresh, key))
            continue;
        if (key->place.reload) {
            value_swap(r->config, fresh, key);
            taken++;
        } else {
            log_warn("SIGHUP: [%s] %s has another value now, which takes a restart", key->section, key->name);
        }
    }
    r->changed(r->ctx);
    log_info("SIGHUP: the configuration was read again, %d value%s changed", taken, taken == 1 ? "" : "s");
}

static bool read_again(struct reload *r, struct config *fresh)
{
    struct buf message;
    const char *why = "";
    buf_init(&message, MESSAGE_MAX);
    bool ok = config_load(fresh, r->path, (const char *const *)environ, &message) == OK;
    if (!ok) {
        log_error("SIGHUP: the configuration stays as it is: %.*s", (int)message.len, message.p);
    } else if (monitor_set_access_log(r->watch, fresh->log.access, &why)) {
        log_error("SIGHUP: the configuration stays as it is: %s", why);
        ok = false;
    }
    buf_fini(&message);
    return ok;
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct reload *r = signal->data;
    struct config fresh;
    (void)number;
    config_init(&fresh);
    if (read_again(r, &fresh))
        take_over(r, &fresh);
    else
        rotate(r);
    config_fini(&fresh);
}

void reload_open(struct reload *r, uv_loop_t *loop)
{
    CHECK(uv_signal_init(loop, &r->signal) == 0);
    r->signal.data = r;
    CHECK(uv_signal_start(&r->signal, on_signal, SIGHUP) == 0);
}

void reload_close(struct reload *r)
{
    uv_close((uv_handle_t *)&r->signal, NULL);
}
