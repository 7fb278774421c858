/* Write jobs of the webhook pages (store/writer_call.h). The jobs run on the thread pool, so they may block
 * to read the key file. */
#ifndef VT_WEB_WEBHOOK_JOBS_H
#define VT_WEB_WEBHOOK_JOBS_H

#include "config/config.h"
#include "store/webhooks.h"
#include "vault/webhook_secrets.h"

/* Time for which the old secret of an endpoint stays valid after a rotation. */
#define WEBHOOK_OVERLAP_MS DAY_MS
/* If the form that creates an endpoint is sent a second time within this time, the response shows the secret
 * again. */
#define WEBHOOK_REPEAT_MS MINUTE_MS

struct webhook_creation {
    const struct config *config;
    int64_t author_row, now, types;
    struct uuid id;
    uint8_t secret[WEBHOOK_SECRET_LEN];
    char url[WEBHOOK_URL_MAX];
    size_t url_len;
    struct actor by;
    /* The result. */
    bool existed;    /* the endpoint existed already, because the same form was sent before */
    bool show_again; /* show the secret although the endpoint existed, because it was created less than
                        WEBHOOK_REPEAT_MS ago, and the author may not have seen the secret yet */
    bool is_full;    /* the author has WEBHOOKS_PER_AUTHOR endpoints */
};
/* Inserts an endpoint whose position is the author's newest event, so that only later events are delivered.
 * `creation` is a struct webhook_creation. */
enum err webhook_create(struct store *store, void *creation);

enum webhook_action {
    WEBHOOK_TEST,
    WEBHOOK_RESEND,
    WEBHOOK_HISTORY,
    WEBHOOK_PAUSE,
    WEBHOOK_RESUME,
    WEBHOOK_ROTATE,
    WEBHOOK_DELETE,
};
enum { WEBHOOK_ACTIONS = 7 };

struct webhook_change {
    const struct config *config;
    int64_t author_row, now;
    struct uuid id;
    enum webhook_action action;
    int64_t event_id;                   /* only for WEBHOOK_RESEND */
    uint8_t secret[WEBHOOK_SECRET_LEN]; /* the new secret; only for WEBHOOK_ROTATE */
    struct actor by;
    /* The result. */
    const char *refused; /* static text with the reason why the action is not possible; NULL: success */
};
/* Changes an endpoint of the author. `change` is a struct webhook_change. Returns ERR_NOT_FOUND if the author
 * has no such endpoint. */
enum err webhook_change_job(struct store *store, void *change);

#endif
