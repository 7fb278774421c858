/* Beginning a session. Knows no form. */
#include "web/session_start.h"

#include "auth/device.h"
#include "auth/session.h"
#include "base/expiry_floor.h"

bool enter_device_hash(struct request *r, uint8_t out[SECRET_HASH_LEN])
{
    struct secret device;
    if (!secret_parse(site_cookie(r, SITE_DEVICE_COOKIE), &device))
        return false;
    secret_hash(&device, out);
    return true;
}

static void prepare_device(struct request *r, struct entry *entry)
{
    struct device_record *d = &entry->device;
    *d = (struct device_record){.author_row = entry->author_row,
                                .now = entry->now,
                                .expires_at = entry->now + DEVICE_LIFE_MS,
                                .expired_before = expiry_floor_ms()};
    secret_generate(&visit_of(r)->device);
    secret_hash(&visit_of(r)->device, d->hash);
    d->has_before = enter_device_hash(r, d->before);
}

void enter_prepare(struct request *r, int64_t author_row, struct entry *out)
{
    struct visit *v = visit_of(r);
    *out = (struct entry){.author_row = author_row, .now = expiry_now_ms()};
    secret_generate(&v->entering);
    secret_hash(&v->entering, out->hash);
    prepare_device(r, out);
    if (v->viewer.author_row && !v->by_proxy) {
        out->has_before = true;
        memcpy(out->before, v->session_hash, sizeof out->before);
    }
}

enum err enter_check(struct store *store, const struct entry *entry, const char *checked)
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

enum err enter_write(struct store *store, const struct entry *entry)
{
    enum err e = entry->has_before ? store_delete_session(store, entry->before) : OK;
    if (e == OK)
        e = store_purge_sessions(store, expiry_floor_ms());
    if (e == OK)
        e = store_insert_session(store, entry->hash, entry->author_row, entry->now,
                                 entry->now + SESSION_LIFE_MS);
    return e ? e : store_put_device(store, &entry->device, DEVICES_MAX);
}

void enter_done(struct request *r)
{
    site_set_session_cookie(r, &visit_of(r)->entering);
    site_set_cookie(r, SITE_DEVICE_COOKIE, secret_text(&r->arena, &visit_of(r)->device),
                    DEVICE_LIFE_MS / SECOND_MS);
}
