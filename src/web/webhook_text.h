/* Parts of pages that /webhooks and /webhooks/{id} share. */
#ifndef VT_WEB_WEBHOOK_TEXT_H
#define VT_WEB_WEBHOOK_TEXT_H

#include "http/request.h"
#include "store/webhooks.h"
#include "vault/webhook_secrets.h"

enum { WEBHOOK_TYPES = 2 };

/* The event types that an author can choose for an endpoint. The index is an enum event_type. */
struct webhook_type_text {
    const char *name;  /* `type` of the message, such as "video.went_viral" */
    const char *field; /* name of the form field */
    const char *label;
};
extern const struct webhook_type_text webhook_type_texts[WEBHOOK_TYPES];

/* Writes the state of the endpoint as a badge. */
void webhook_text_badge(struct buf *b, const struct webhook_endpoint *e);
/* Writes a paragraph that explains the state and what the author can do. */
void webhook_text_state(struct buf *b, const struct webhook_endpoint *e, int64_t now);
/* Writes the event type in plain words and by its name in messages. */
void webhook_text_type(struct buf *b, enum event_type type);
/* Writes the event types of the endpoint. */
void webhook_text_types(struct buf *b, const struct webhook_endpoint *e);

/* Returns the path of the endpoint's page, in the arena. */
struct str webhook_path(struct request *r, const struct uuid *id);

/* Writes a page that shows a new secret. The page cannot be opened again. If the same form is sent again, its
 * response shows the secret again, but for the creation of a webhook only within WEBHOOK_REPEAT_MS. `words`
 * is the sentence before the secret. Returns NEXT_DONE. */
enum next webhook_show_secret(struct request *r, const struct uuid *id, const char *words,
                              const uint8_t secret[WEBHOOK_SECRET_LEN]);

#endif
