/* GET /apps: the apps that an author has connected, each with a key of its own.
 *
 * Steps: the keys -> where they stand in the feed of events (Redis, when there is one) -> the page. */
#include "base/clock.h"
#include "limit/poll_positions.h"
#include "web/humanize.h"
#include "web/page.h"
#include "store/author_keys.h"

enum { NOT_KNOWN = -1 };

struct app {
    struct uuid key_id;
    struct str name, home_url;
    int64_t connected_at, read_at; /* read_at TIME_NONE: never */
    int behind;                    /* events; NOT_KNOWN */
};

struct apps {
    int count, counted;
    struct app list[AUTHOR_KEYS_MAX];
    struct poll_positions_call cursors;
};

static struct apps *apps_of(const struct request *r)
{
    return page_context_of(r)->state;
}

/* ---- the page ---- */

static void write_actions(struct request *r, const struct app *app)
{
    struct buf *b = &r->res.body;
    char id[UUID_TEXT_LEN];
    uuid_format(&app->key_id, id);
    HTML(b, "<p class=\"row\"><a class=\"button danger\"");
    page_link(r, "href", arena_printf(&r->arena, "/apps/%.*s", UUID_TEXT_LEN, id));
    HTML(b, ">Disconnect<span class=\"sr\"> ");
    html_name(b, app->name);
    HTML(b, "</span></a>");
    if (app->home_url.p && html_link_is_safe(app->home_url)) {
        HTML(b, "<a rel=\"noreferrer\"");
        html_link(b, "href", app->home_url);
        HTML(b, ">Its home page</a>");
    }
    HTML(b, "</p>");
}

static void write_behind(struct buf *b, int behind)
{
    HTML(b, "<dt>Events it has not dealt with</dt><dd>");
    if (behind == 0)
        HTML(b, "none");
    else if (behind > LAG_MAX)
        HTML(b, "more than 1,000");
    else
        html_number(b, behind);
    HTML(b, "</dd>");
}

static void write_app(struct request *r, const struct app *app, int64_t now)
{
    struct buf *b = &r->res.body;
    HTML(b, "<section class=\"card\"><h2>");
    html_name(b, app->name);
    HTML(b, "</h2><dl class=\"facts\"><dt>Connected</dt><dd>");
    html_time_ago(b, app->connected_at, now);
    HTML(b, "</dd><dt>Last read</dt><dd>");
    if (app->read_at == TIME_NONE)
        HTML(b, "never");
    else
        html_time_ago(b, app->read_at, now);
    HTML(b, "</dd>");
    if (app->behind != NOT_KNOWN)
        write_behind(b, app->behind);
    HTML(b, "</dl>\n");
    write_actions(r, app);
    HTML(b, "</section>\n");
}

static enum next show(struct request *r)
{
    const struct apps *apps = apps_of(r);
    int64_t now = clock_wall_ms();
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("Connected apps"), .current = "/apps"});
    HTML(b, "<p>These apps may read your numbers, because you allowed it. None of them can change "
            "anything.</p>\n");
    for (int i = 0; i < apps->count; i++)
        write_app(r, &apps->list[i], now);
    if (!apps->count)
        HTML(b,
             "<p class=\"empty\">No app is connected. An app that works with this service has a button that "
             "brings you here to allow it.</p>");
    return page_end(r);
}

/* ---- where each stands ---- */

static enum next count_step(struct request *r);

/* The next one whose position is known; a count at a time, each at most LAG_MAX rows. */
static enum next count_next(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct apps *apps = page->state;
    for (; apps->counted < apps->cursors.count; apps->counted++) {
        struct poll_position cursor = poll_positions_get(&apps->cursors, apps->counted);
        struct app *app = &apps->list[apps->counted];
        if (!cursor.known)
            continue;
        if (cursor.at_ms > app->read_at)
            app->read_at = cursor.at_ms;
        r->step = count_step;
        return store_count_events(&page->read, page->viewer.author_row, cursor.after, LAG_MAX + 1,
                                  &app->behind);
    }
    return show(r);
}

static enum next count_step(struct request *r)
{
    struct apps *apps = apps_of(r);
    if (page_context_of(r)->read.err)
        return page_store_error(r, page_context_of(r)->read.err);
    apps->counted++;
    return count_next(r);
}

static enum next ask_cursors(struct request *r)
{
    const struct site *site = page_context_of(r)->site;
    struct apps *apps = apps_of(r);
    struct uuid ids[POLL_POSITIONS_MAX];
    int count = apps->count < POLL_POSITIONS_MAX ? apps->count : POLL_POSITIONS_MAX;
    if (!count || !site->cursors)
        return show(r);
    for (int i = 0; i < count; i++)
        ids[i] = apps->list[i].key_id;
    r->step = count_next;
    return poll_positions_load(site->cursors, ids, count, &r->wait, &apps->cursors);
}

/* ---- the keys ---- */

static bool on_key(void *ctx, const struct author_key *key)
{
    struct request *r = ctx;
    struct apps *apps = apps_of(r);
    struct str home = key->app_home_url;
    if (!key->is_app)
        return true;
    apps->list[apps->count++] = (struct app){
        .key_id = key->key.id,
        .name = arena_copy(&r->arena, key->app_name),
        .home_url = home.p ? arena_copy(&r->arena, home) : home,
        .connected_at = key->key.created_at,
        .read_at = key->key.last_used_at,
        .behind = NOT_KNOWN,
    };
    return apps->count < AUTHOR_KEYS_MAX;
}

static enum next listed_step(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    return page->read.err ? page_store_error(r, page->read.err) : ask_cursors(r);
}

static enum next apps_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    page->state = arena_alloc(&r->arena, sizeof(struct apps));
    r->step = listed_step;
    return store_list_author_keys(&page->read, page->viewer.author_row, KEYS_LIVE, AUTHOR_KEYS_MAX, on_key,
                                  r);
}

const struct route apps_page = {.path = "/apps", .methods = ROUTE_GET, .start = apps_step};
