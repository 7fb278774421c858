/* Creates, changes and deletes webhook endpoints. */
#include "web/webhook_jobs.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/write.h"

#include <sodium.h>

enum { SEALED_LEN = WEBHOOK_SECRET_LEN + SEAL_OVERHEAD };

static const char ENDED[] =
    "The receiver has ended this webhook with status 410. Create a new one, or connect "
    "the app again.";

static enum err seal(const struct config *config, const struct webhook_endpoint *e,
                     const uint8_t secret[WEBHOOK_SECRET_LEN], struct buf *out)
{
    struct error error;
    struct seal_keys *keys;
    const struct webhook_secret_place place = webhook_secret_place_of(e);
    enum err err = seal_keys_open(&keys, config->secrets.key_file, &error);
    if (err) {
        log_error("cannot seal the secret of a webhook: %s", error.text);
        return ERR_IO;
    }
    err = webhook_secret_seal(keys, &place, secret, out);
    seal_keys_close(keys);
    return err == ERR_NOT_FOUND ? ERR_IO : err;
}

static enum err insert(struct store *store, struct webhook_creation *c, struct arena *arena)
{
    struct author author;
    char room[SEALED_LEN];
    struct buf sealed = buf_on(room, sizeof room);
    struct webhook_endpoint e = {.id = c->id,
                                 .author_row = c->author_row,
                                 .url = str_make(c->url, c->url_len),
                                 .types = c->types,
                                 .created_at = c->now};
    enum err err = store_get_author(store, arena, c->author_row, &author);
    if (!err)
        err = seal(c->config, &e, c->secret, &sealed);
    e.secret = buf_str(&sealed);
    e.position = author.last_event_id;
    if (!err)
        err = store_insert_webhook(store, &e);
    return err ? err : store_note_webhook(store, &e, c->now, AUDIT_WEBHOOK_CREATED, &c->by);
}

enum err webhook_create(struct store *store, void *creation)
{
    struct webhook_creation *c = creation;
    struct webhook_endpoint found;
    struct arena arena;
    int64_t count = 0;
    arena_init(&arena, 4096);
    enum err err = store_find_webhook(store, &arena, &c->id, &found);
    if (!err) {
        c->existed = true;
        c->show_again = c->now >= found.created_at && c->now - found.created_at < WEBHOOK_REPEAT_MS;
    } else if (err == ERR_NOT_FOUND) {
        err = store_count_webhooks(store, c->author_row, &count);
        c->is_full = count >= WEBHOOKS_PER_AUTHOR;
        if (!err && !c->is_full)
            err = insert(store, c, &arena);
    }
    arena_fini(&arena);
    return err;
}

/* ---- changes of a webhook ---- */

static enum err note(struct store *store, const struct webhook_endpoint *e, const struct webhook_change *c,
                     enum audit_action action)
{
    return store_note_webhook(store, e, c->now, action, &c->by);
}

static enum err enter(struct store *store, struct webhook_endpoint *e, enum webhook_state state, int64_t now)
{
    e->state = state;
    e->state_at = now;
    e->failures = 0;
    e->next_attempt_at = TIME_NONE;
    return store_save_webhook(store, e);
}

static enum err pause_endpoint(struct store *store, struct webhook_endpoint *e,
                               const struct webhook_change *c)
{
    if (e->state != WEBHOOK_ACTIVE)
        return OK;
    const enum err err = enter(store, e, WEBHOOK_PAUSED, c->now);
    return err ? err : note(store, e, c, AUDIT_WEBHOOK_PAUSED);
}

static enum err resume(struct store *store, struct webhook_endpoint *e, struct webhook_change *c)
{
    const bool is_active = e->state == WEBHOOK_ACTIVE;
    if (e->state == WEBHOOK_GONE) {
        c->refused = ENDED;
        return OK;
    }
    const enum err err = enter(store, e, WEBHOOK_ACTIVE, c->now);
    return err || is_active ? err : note(store, e, c, AUDIT_WEBHOOK_RESUMED);
}

static enum err delete_endpoint(struct store *store, const struct webhook_endpoint *e,
                                const struct webhook_change *c)
{
    const enum err err = note(store, e, c, AUDIT_WEBHOOK_DELETED);
    return err ? err : store_delete_webhook(store, e->row);
}

/* Moves the endpoint's position to the beginning of the feed. If the endpoint was waiting for a retry, ends
 * this wait. */
static enum err rewind_position(struct store *store, struct webhook_endpoint *e, struct webhook_change *c)
{
    if (e->state == WEBHOOK_GONE) {
        c->refused = ENDED;
        return OK;
    }
    e->position = 0;
    e->failures = 0;
    e->next_attempt_at = TIME_NONE;
    return store_save_webhook(store, e);
}

static enum err request_event(struct store *store, const struct webhook_endpoint *e, struct webhook_change *c,
                              int64_t event_id)
{
    if (e->state == WEBHOOK_GONE) {
        c->refused = ENDED;
        return OK;
    }
    const enum err err = store_request_webhook(store, e->row, event_id, c->now);
    if (err == ERR_FULL) {
        c->refused = "Too many deliveries are waiting. Please try again later.";
        return OK;
    }
    return err;
}

/* Returns true if the endpoint already has the new secret, because the form was sent twice. A second rotation
 * would replace the stored old secret, which is still valid, with the new one. */
static bool is_rotated(const struct webhook_endpoint *e, const struct webhook_change *c)
{
    struct seal_keys *keys;
    uint8_t current[WEBHOOK_SECRET_LEN];
    const struct webhook_secret_place place = webhook_secret_place_of(e);
    if (seal_keys_open(&keys, c->config->secrets.key_file, NULL))
        return false;
    const bool is_same = webhook_secret_open(keys, &place, e->secret, current) == OK &&
                         sodium_memcmp(current, c->secret, sizeof current) == 0;
    seal_keys_close(keys);
    sodium_memzero(current, sizeof current);
    return is_same;
}

static enum err rotate(struct store *store, const struct webhook_endpoint *e, struct webhook_change *c)
{
    char room[SEALED_LEN];
    struct buf sealed = buf_on(room, sizeof room);
    if (e->app_row) {
        c->refused = "The secret of this webhook belongs to the app.";
        return OK;
    }
    if (is_rotated(e, c))
        return OK;
    enum err err = seal(c->config, e, c->secret, &sealed);
    if (!err)
        err =
            store_set_webhook_secret(store, e->row, buf_str(&sealed), e->secret, c->now + WEBHOOK_OVERLAP_MS);
    return err ? err : note(store, e, c, AUDIT_WEBHOOK_SECRET_ROTATED);
}

static enum err apply(struct store *store, struct webhook_endpoint *e, struct webhook_change *c)
{
    switch (c->action) {
    case WEBHOOK_TEST: return request_event(store, e, c, 0);
    case WEBHOOK_RESEND: return request_event(store, e, c, c->event_id);
    case WEBHOOK_HISTORY: return rewind_position(store, e, c);
    case WEBHOOK_PAUSE: return pause_endpoint(store, e, c);
    case WEBHOOK_RESUME: return resume(store, e, c);
    case WEBHOOK_ROTATE: return rotate(store, e, c);
    case WEBHOOK_DELETE: return delete_endpoint(store, e, c);
    }
    return ERR_INTERNAL;
}

enum err webhook_change_job(struct store *store, void *change)
{
    struct webhook_change *c = change;
    struct webhook_endpoint e;
    struct arena arena;
    arena_init(&arena, 4096);
    enum err err = store_find_webhook(store, &arena, &c->id, &e);
    if (!err && e.author_row != c->author_row)
        err = ERR_NOT_FOUND;
    if (!err)
        err = apply(store, &e, c);
    arena_fini(&arena);
    return err;
}
