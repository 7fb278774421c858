/* If the new configuration is valid, its values of the keys marked as RELOADED (config/key_rows.h) take
 * effect. The log and the reply to `viewtally reload` name the other changed keys, which need a restart. If
 * the new configuration is invalid, no value changes. */
#include "app/reload.h"

#include "base/check.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/reload_reply.h"
#include "config/value.h"

#include <signal.h>

extern char **environ;

enum { MESSAGE_MAX = 1 << 20, KEYS_MAX = 1 << 16 };

/* Reopens the access log at its current path. Called if the configuration cannot be reloaded, because even in
 * this case log rotation requires that the renamed file is closed. */
static void reopen_log(struct reload *r)
{
    struct error error;
    if (monitor_set_access_log(r->monitor, r->config->log.access, &error))
        log_error("SIGHUP: cannot reopen the access log, the open file stays in use: %s", error.text);
}

/* Applies the changed keys that can be reloaded. Appends the names of the other changed keys to `restart`. */
static void apply(struct reload *r, struct config *fresh, struct buf *restart)
{
    int changed = 0;
    const struct config_key *key;
    for (size_t i = 0; (key = config_key_at(i)); i++) {
        if (!value_differs(r->config, fresh, key))
            continue;
        if (key->place.reload) {
            value_swap(r->config, fresh, key);
            changed++;
        } else {
            log_warn("SIGHUP: the new value of [%s] %s takes effect after a restart", key->section,
                     key->name);
            buf_printf(restart, "%s[%s] %s", restart->len ? ", " : "", key->section, key->name);
        }
    }
    r->changed(r->changed_ctx);
    log_info("SIGHUP: configuration reloaded, %d value%s changed", changed, plural(changed, "", "s"));
}

static void log_mistakes(struct str mistakes)
{
    struct str line;
    while (mistakes.p) {
        mistakes = str_cut(mistakes, '\n', &line);
        log_error("SIGHUP: cannot reload the configuration, the current one stays in use: %.*s",
                  (int)line.len, line.p);
    }
}

static bool load(struct reload *r, struct config *fresh)
{
    struct buf message;
    struct error error;
    buf_init(&message, MESSAGE_MAX);
    bool ok = config_load(fresh, r->path, (const char *const *)environ, &message) == OK;
    if (!ok) {
        log_mistakes(buf_str(&message));
    } else if (monitor_set_access_log(r->monitor, fresh->log.access, &error)) {
        log_error("SIGHUP: cannot reload the configuration, the current one stays in use: %s", error.text);
        ok = false;
    }
    buf_fini(&message);
    return ok;
}

static void reload(struct reload *r)
{
    struct config fresh;
    struct buf restart;
    notifier_send_reloading(r->notifier);
    config_init(&fresh);
    buf_init(&restart, KEYS_MAX);
    const bool ok = load(r, &fresh);
    if (ok)
        apply(r, &fresh, &restart);
    else
        reopen_log(r);
    config_fini(&fresh);
    notifier_send(r->notifier, ok ? "READY=1\nSTATUS=Serving requests"
                                  : "READY=1\nSTATUS=Serving requests; the new configuration was rejected");
    reload_reply_send(ok ? RELOAD_APPLIED : RELOAD_REJECTED, buf_str(&restart));
    buf_fini(&restart);
}

/* Sends no notification while the server stops: READY=1 would end the state that STOPPING=1 has begun. */
static void on_signal(uv_signal_t *signal, int number)
{
    struct reload *r = signal->data;
    (void)number;
    if (!r->is_stopping) {
        reload(r);
        return;
    }
    log_warn("SIGHUP: the server is stopping, so the configuration is not reloaded");
    reopen_log(r);
    reload_reply_send(RELOAD_REJECTED, STR(""));
}

void reload_sighup_start(struct reload *r, uv_loop_t *loop)
{
    CHECK(uv_signal_init(loop, &r->signal) == 0);
    r->signal.data = r;
    CHECK(uv_signal_start(&r->signal, on_signal, SIGHUP) == 0);
}

void reload_sighup_stop(struct reload *r)
{
    uv_close((uv_handle_t *)&r->signal, NULL);
    /* libuv has restored the default action, which would end the process while it closes the database. */
    (void)signal(SIGHUP, SIG_IGN);
}
