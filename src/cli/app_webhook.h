/* The webhook of an app: `viewtally app add --webhook-url` and `viewtally app set-webhook`. */
#ifndef VT_CLI_APP_WEBHOOK_H
#define VT_CLI_APP_WEBHOOK_H

#include "cli/cli.h"
#include "store/apps.h"
#include "vault/webhook_secrets.h"
#include "webhook/webhook_signature.h"

/* A webhook to store, with a new secret. The caller wipes the struct after use. */
struct new_app_webhook {
    struct str url; /* p == NULL: no webhook */
    const char *key_file;
    uint8_t secret[WEBHOOK_SECRET_LEN];
    char text[WEBHOOK_SECRET_TEXT_ROOM]; /* the secret as receivers store it */
};

/* Checks the URL and generates the secret. If `url` is NULL, sets out->url.p to NULL instead. Returns false
 * after printing an error. */
MUST_USE bool app_webhook_init(struct cli *cli, const char *url, struct new_app_webhook *out);

/* Stores the webhook, or if webhook->url.p is NULL, removes the app's webhook. If the app already has a
 * webhook with the same URL, the old secret stays valid for a day. If the key file cannot be used, prints an
 * error and returns ERR_CANCELED. Call in a write transaction. */
MUST_USE enum err app_webhook_store(struct store *store, struct arena *arena, const struct app_record *app,
                                    const struct new_app_webhook *webhook);

/* The subcommand `viewtally app set-webhook`. */
enum cli_exit app_set_webhook(struct cli *cli, const struct cli_arguments *arguments);

#endif
