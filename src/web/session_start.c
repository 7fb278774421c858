/* Writes sessions and devices at sign-in. */
#include "web/session_start.h"

#include "auth/device.h"
#include "auth/session.h"
#include "base/clock.h"
#include "base/expiry_floor.h"
#include "web/cookies.h"
#include "web/page.h"

bool session_start_read_device(struct request *r, uint8_t out[SECRET_HASH_LEN])
{
    struct secret device;
    if (!secret_parse(web_cookie_find(r, DEVICE_COOKIE_NAME), &device))
        return false;
    secret_hash(&device, out);
    return true;
}

static void prepare_device(struct request *r, struct session_start *start)
{
    struct device_record *d = &start->device;
    *d = (struct device_record){.author_row = start->author_row,
                                .now = start->now,
                                .expires_at = start->now + DEVICE_LIFE_MS,
                                .expired_before = expiry_floor_ms()};
    secret_generate(&page_context_of(r)->new_device);
    secret_hash(&page_context_of(r)->new_device, d->hash);
    d->has_previous = session_start_read_device(r, d->previous);
}

void session_start_prepare(struct request *r, int64_t author_row, struct session_start *out)
{
    struct page_context *page = page_context_of(r);
    *out = (struct session_start){.author_row = author_row, .now = expiry_now_ms(), .by = page_actor(r)};
    out->session = (struct new_session){.author_row = author_row,
                                        .created_at = out->now,
                                        .expires_at = out->now + SESSION_LIFE_MS,
                                        .signed_in_at = clock_wall_ms()};
    secret_generate(&page->new_session);
    secret_hash(&page->new_session, out->session.hash);
    prepare_device(r, out);
    if (page->viewer.author_row && !page->by_proxy) {
        out->has_previous = true;
        memcpy(out->previous, page->session_hash, sizeof out->previous);
    }
}

enum err session_start_check_password(struct store *store, const struct session_start *start,
                                      const char *verified)
{
    struct arena arena;
    struct viewer viewer;
    arena_init(&arena, 1024);
    enum err err = store_get_viewer(store, &arena, start->author_row, &viewer);
    if (err == OK && !str_eq(viewer.password, str_from_cstr(verified)))
        err = ERR_INVALID;
    arena_fini(&arena);
    return err;
}

enum err session_start_write(struct store *store, const struct session_start *start)
{
    enum err err = start->has_previous ? store_delete_session(store, start->previous) : OK;
    if (err)
        return err;
    err = store_purge_sessions(store, expiry_floor_ms());
    if (err)
        return err;
    err = store_insert_session(store, &start->session, &start->by);
    return err ? err : store_put_device(store, &start->device, DEVICES_MAX);
}

enum err session_start_write_after_new_password(struct store *store, const struct session_start *start)
{
    const struct audit_note note = {
        .author_row = start->author_row, .at = start->session.signed_in_at, .action = AUDIT_PASSWORD_SET};
    enum err err = store_insert_audit(store, &note, &start->by);
    if (!err)
        err = store_delete_sessions_and_devices(store, start->author_row);
    /* An unused link, for example in a stolen mail, could otherwise replace the new password. */
    if (!err)
        err = store_delete_invitations_of(store, start->author_row);
    return err ? err : session_start_write(store, start);
}

void session_start_set_cookies(struct request *r)
{
    session_cookie_set(r, &page_context_of(r)->new_session);
    web_cookie_set(r, DEVICE_COOKIE_NAME, secret_format(&r->arena, &page_context_of(r)->new_device),
                   DEVICE_LIFE_MS / SECOND_MS);
}
