/* GET /apps: the apps that an author has connected, each with a key of its own. */
#include "base/clock.h"
#include "settings/numbers.h"
#include "settings/page.h"
#include "store/author_keys.h"

struct apps {
    int64_t now;
    int shown;
};

static void write_actions(struct request *r, const struct author_key *key)
{
    struct buf *b = &r->res.body;
    char id[UUID_TEXT_LEN];
    uuid_format(&key->key.id, id);
    HTML(b, "<p class=\"row\"><a class=\"button danger\"");
    page_link(r, "href", arena_printf(&r->arena, "/apps/%.*s", UUID_TEXT_LEN, id));
    HTML(b, ">Disconnect<span class=\"sr\"> ");
    html_name(b, key->app_name);
    HTML(b, "</span></a>");
    if (key->app_home_url.p && html_link_is_safe(key->app_home_url)) {
        HTML(b, "<a rel=\"noreferrer\"");
        html_link(b, "href", key->app_home_url);
        HTML(b, ">Its home page</a>");
    }
    HTML(b, "</p>");
}

static bool on_key(void *ctx, const struct author_key *key)
{
    struct request *r = ctx;
    struct apps *apps = visit_of(r)->state;
    struct buf *b = &r->res.body;
    if (!key->is_app)
        return true;
    apps->shown++;
    HTML(b, "<section class=\"card\"><h2>");
    html_name(b, key->app_name);
    HTML(b, "</h2><dl class=\"facts\"><dt>Connected</dt><dd>");
    time_ago_html(b, key->key.created_at, apps->now);
    HTML(b, "</dd><dt>Last read</dt><dd>");
    if (key->key.last_used_at == TIME_NONE)
        HTML(b, "never");
    else
        time_ago_html(b, key->key.last_used_at, apps->now);
    HTML(b, "</dd></dl>\n");
    write_actions(r, key);
    HTML(b, "</section>\n");
    return true;
}

static enum next listed_step(struct request *r)
{
    const struct visit *v = visit_of(r);
    const struct apps *apps = v->state;
    if (v->read.err)
        return page_store_error(r, v->read.err);
    if (!apps->shown)
        HTML(&r->res.body,
             "<p class=\"empty\">No app is connected. An app that works with this service has a "
             "button that brings you here to allow it.</p>");
    return page_end(r);
}

static enum next apps_step(struct request *r)
{
    struct visit *v = visit_of(r);
    struct apps *apps = arena_alloc(&r->arena, sizeof *apps);
    v->state = apps;
    apps->now = clock_wall_ms();
    struct buf *b = page_begin(r, &(struct page){.title = STR("Connected apps"), .current = "/apps"});
    HTML(b, "<p>These apps may read your numbers, because you allowed it. None of them can change "
            "anything.</p>\n");
    r->step = listed_step;
    return store_list_author_keys(&v->read, v->viewer.author_row, KEYS_LIVE, AUTHOR_KEYS_MAX, on_key, r);
}

const struct site_page apps_page = {.path = "/apps", .methods = SITE_GET, .start = apps_step};
