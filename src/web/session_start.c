/* Beginning a session. Knows no form. */
#include "web/session_start.h"

#include "auth/device.h"
#include "auth/session.h"
#include "base/expiry_floor.h"

bool session_start_read_device(struct request *r, uint8_t out[SECRET_HASH_LEN])
{
    struct secret device;
    if (!secret_parse(web_cookie_find(r, DEVICE_COOKIE_NAME), &device))
        return false;
    secret_hash(&device, out);
    return true;
}

static void prepare_device(struct request *r, struct session_start *entry)
{
    struct device_record *d = &entry->device;
    *d = (struct device_record){.author_row = entry->author_row,
                                .now = entry->now,
                                .expires_at = entry->now + DEVICE_LIFE_MS,
                                .expired_before = expiry_floor_ms()};
    secret_generate(&page_context_of(r)->device);
    secret_hash(&page_context_of(r)->device, d->hash);
    d->has_before = session_start_read_device(r, d->before);
}

void session_start_prepare(struct request *r, int64_t author_row, struct session_start *out)
{
    struct page_context *page = page_context_of(r);
    *out = (struct session_start){.author_row = author_row, .now = expiry_now_ms()};
    secret_generate(&page->entering);
    secret_hash(&page->entering, out->hash);
    prepare_device(r, out);
    if (page->viewer.author_row && !page->by_proxy) {
        out->has_before = true;
        memcpy(out->before, page->session_hash, sizeof out->before);
    }
}

enum err session_start_check_password(struct store *store, const struct session_start *entry,
                                      const char *checked)
{
    struct arena arena;
    struct viewer viewer;
    arena_init(&arena, 1024);
    enum err e = store_get_viewer(store, &arena, entry->author_row, &viewer);
    if (e == OK && !str_eq(viewer.password, str_from_cstr(checked)))
        e = ERR_INVALID;
    arena_fini(&arena);
    return e;
}

enum err session_start_write(struct store *store, const struct session_start *entry)
{
    enum err e = entry->has_before ? store_delete_session(store, entry->before) : OK;
    if (e == OK)
        e = store_purge_sessions(store, expiry_floor_ms());
    if (e == OK)
        e = store_insert_session(store, entry->hash, entry->author_row, entry->now,
                                 entry->now + SESSION_LIFE_MS);
    return e ? e : store_put_device(store, &entry->device, DEVICES_MAX);
}

void session_start_set_cookies(struct request *r)
{
    session_cookie_set(r, &page_context_of(r)->entering);
    web_cookie_set(r, DEVICE_COOKIE_NAME, secret_format(&r->arena, &page_context_of(r)->device),
                   DEVICE_LIFE_MS / SECOND_MS);
}
