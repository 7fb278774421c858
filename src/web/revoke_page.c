/* /keys/{id} and /apps/{id}: GET asks for confirmation, POST revokes the key with this id. Authors can open
 * only their own keys: keys of connected apps under /apps, all others under /keys. */
#include "base/clock.h"
#include "web/humanize.h"
#include "web/page.h"
#include "store/author_keys.h"
#include "store/write.h"
#include "store/writer_call.h"

struct revoke_write {
    int64_t author_row, now;
    struct actor by;
    struct uuid id;
    bool is_app;
    int64_t key_row; /* 0 if the author has no such key */
    bool was_revoked;
};

struct revoke {
    struct revoke_write write;
    enum err result;
    bool found;
};

static bool is_app_page(const struct request *r)
{
    return r->route == &app_page;
}

static struct str list_path(const struct request *r)
{
    return is_app_page(r) ? STR("/apps") : STR("/keys");
}

/* ---- confirmation ---- */

static void write_app(struct buf *b, const struct author_key *key)
{
    HTML(b, "<p>Disconnect <strong>");
    html_isolated_text(b, key->app_name);
    HTML(b, "</strong>? The app can then no longer read your numbers, but it keeps what it has already read. "
            "You can connect it again from the app.</p>\n");
}

static void write_key(struct request *r, const struct author_key *key, int64_t now)
{
    struct buf *b = &r->res.body;
    HTML(b, "<p>Revoke the key <strong>");
    html_isolated_text(b, key->key.name);
    HTML(b, "</strong> (<code>");
    html_text(b, str_from_cstr(page_context_of(r)->web->config->keys.prefix));
    HTML(b, "…");
    html_text(b, str_make(key->key.suffix, KEY_SUFFIX_LEN));
    HTML(b, "</code>)? Programs that use it stop working immediately. This cannot be undone.</p>\n<p>");
    if (key->key.last_used_at == TIME_NONE) {
        HTML(b, "It has never been used.");
    } else {
        HTML(b, "It was last used ");
        html_time_ago(b, key->key.last_used_at, now);
        HTML(b, ".");
    }
    HTML(b, "</p>\n");
}

static bool on_key(void *ctx, const struct author_key *key)
{
    struct request *r = ctx;
    struct revoke *revoke = page_context_of(r)->state;
    if (key->is_app != is_app_page(r) || key->key.revoked_at != TIME_NONE)
        return true;
    revoke->found = true;
    (void)page_begin(
        r, &(struct page_frame){.title = is_app_page(r) ? STR("Disconnect an app") : STR("Revoke a key"),
                                .current = list_path(r).p,
                                .narrow = true});
    if (is_app_page(r))
        write_app(&r->res.body, key);
    else
        write_key(r, key, revoke->write.now);
    return true;
}

static enum next confirm_step(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    const struct revoke *revoke = page->state;
    struct buf *b = &r->res.body;
    if (page->read.err && page->read.err != ERR_NOT_FOUND)
        return page_store_error(r, page->read.err);
    if (!revoke->found)
        return page_not_found(r);
    page_write_form(r, arena_printf(&r->arena, "%s/%.*s", list_path(r).p, (int)r->path_parameter.len,
                                    r->path_parameter.p));
    HTML(b, "<div class=\"row\"><button class=\"danger\">");
    html_text(b, is_app_page(r) ? STR("Disconnect it") : STR("Revoke it"));
    HTML(b, "</button><a class=\"button quiet\"");
    page_write_link(r, "href", list_path(r));
    HTML(b, ">Keep it</a></div></form>");
    return page_end(r);
}

/* ---- revocation ---- */

static bool on_key_to_revoke(void *ctx, const struct author_key *key)
{
    struct revoke_write *w = ctx;
    if (key->is_app == w->is_app) {
        w->key_row = key->key.row;
        w->was_revoked = key->key.revoked_at != TIME_NONE;
    }
    return true;
}

static enum err write_revocation(struct store *store, void *data)
{
    struct revoke_write *w = data;
    enum err err = store_get_author_key(store, w->author_row, &w->id, on_key_to_revoke, w);
    if (err)
        return err;
    if (!w->key_row)
        return ERR_NOT_FOUND;
    return w->was_revoked ? OK : store_revoke_key(store, w->key_row, w->now, &w->by);
}

static enum next revoked_step(struct request *r)
{
    const struct revoke *revoke = page_context_of(r)->state;
    if (revoke->result)
        return page_store_error(r, revoke->result);
    page_set_note(r, is_app_page(r) ? NOTE_APP_DISCONNECTED : NOTE_KEY_REVOKED);
    return page_redirect(r, list_path(r));
}

static enum next revoke_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct revoke *revoke = arena_alloc(&r->arena, sizeof *revoke);
    page->state = revoke;
    revoke->write = (struct revoke_write){.author_row = page->viewer.author_row,
                                          .now = clock_wall_ms(),
                                          .by = page_actor(r),
                                          .is_app = is_app_page(r)};
    if (!uuid_parse(r->path_parameter, &revoke->write.id))
        return page_not_found(r);
    if (r->method != METHOD_POST) {
        r->step = confirm_step;
        return store_read_author_key(&page->read, page->viewer.author_row, &revoke->write.id, on_key, r);
    }
    r->step = revoked_step;
    return writer_call(page->web->writer, &r->wait, &revoke->result, write_revocation, &revoke->write,
                       sizeof revoke->write);
}

const struct route key_page = {.path = "/keys/{id}", .methods = ROUTE_GET | ROUTE_POST, .start = revoke_step};
const struct route app_page = {.path = "/apps/{id}", .methods = ROUTE_GET | ROUTE_POST, .start = revoke_step};
