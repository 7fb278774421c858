/* GET /apps: the apps that the author has connected. Each has its own API key.
 *
 * Steps: list the keys -> load their poll positions from Redis, if available -> count each app's lag -> write
 * the page. */
#include "base/clock.h"
#include "limit/poll_positions.h"
#include "web/humanize.h"
#include "web/page.h"
#include "store/author_keys.h"

enum { LAG_UNKNOWN = -1 };

struct connected_app {
    struct uuid key_id;
    struct str name, home_url;
    int64_t connected_at, read_at; /* read_at is TIME_NONE if the app has never used its key */
    int lag;                       /* number of events that the app has not read yet, or LAG_UNKNOWN */
};

struct apps_list {
    int count, counted; /* number of apps; number of apps whose lag has been determined */
    struct connected_app apps[AUTHOR_KEYS_MAX];
    struct poll_positions_call positions;
};

static struct apps_list *apps_of(const struct request *r)
{
    return page_context_of(r)->state;
}

/* ---- the page ---- */

static void write_actions(struct request *r, const struct connected_app *app)
{
    struct buf *b = &r->res.body;
    char id[UUID_TEXT_LEN];
    uuid_format(&app->key_id, id);
    HTML(b, "<p class=\"row\"><a class=\"button danger\"");
    page_write_link(r, "href", arena_printf(&r->arena, "/apps/%.*s", UUID_TEXT_LEN, id));
    HTML(b, ">Disconnect<span class=\"sr\"> ");
    html_isolated_text(b, app->name);
    HTML(b, "</span></a>");
    if (app->home_url.p && html_link_is_safe(app->home_url)) {
        HTML(b, "<a rel=\"noreferrer\"");
        html_link(b, "href", app->home_url);
        HTML(b, ">Home page</a>");
    }
    HTML(b, "</p>");
}

static void write_lag(struct buf *b, int lag)
{
    HTML(b, "<dt>Events not read yet</dt><dd>");
    if (lag == 0)
        HTML(b, "none");
    else if (lag > LAG_MAX)
        HTML(b, "more than 1,000");
    else
        html_number(b, lag);
    HTML(b, "</dd>");
}

static void write_app(struct request *r, const struct connected_app *app, int64_t now)
{
    struct buf *b = &r->res.body;
    HTML(b, "<section class=\"card\"><h2>");
    html_isolated_text(b, app->name);
    HTML(b, "</h2><dl class=\"facts\"><dt>Connected</dt><dd>");
    html_time_ago(b, app->connected_at, now);
    HTML(b, "</dd><dt>Last read</dt><dd>");
    if (app->read_at == TIME_NONE)
        HTML(b, "never");
    else
        html_time_ago(b, app->read_at, now);
    HTML(b, "</dd>");
    if (app->lag != LAG_UNKNOWN)
        write_lag(b, app->lag);
    HTML(b, "</dl>\n");
    write_actions(r, app);
    HTML(b, "</section>\n");
}

static enum next show(struct request *r)
{
    const struct apps_list *apps = apps_of(r);
    int64_t now = clock_wall_ms();
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("Connected apps"), .current = "/apps"});
    HTML(b, "<p>You allowed these apps to read your numbers. They cannot change anything.</p>\n");
    for (int i = 0; i < apps->count; i++)
        write_app(r, &apps->apps[i], now);
    if (!apps->count)
        HTML(b, "<p class=\"empty\">No app is connected. Apps that work with this service have a button that "
                "brings you here to allow access.</p>");
    return page_end(r);
}

/* ---- poll positions ---- */

static enum next count_step(struct request *r);

/* Counts the lag of the next app whose poll position is known. If no such app is left, writes the page. Each
 * step makes one query, which reads at most LAG_MAX + 1 rows. */
static enum next count_next(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct apps_list *apps = page->state;
    for (; apps->counted < apps->positions.count; apps->counted++) {
        struct poll_position position = poll_positions_get(&apps->positions, apps->counted);
        struct connected_app *app = &apps->apps[apps->counted];
        if (!position.known)
            continue;
        if (position.at_ms > app->read_at)
            app->read_at = position.at_ms;
        r->step = count_step;
        return store_count_events(&page->read, page->viewer.author_row, position.after, LAG_MAX + 1,
                                  &app->lag);
    }
    return show(r);
}

static enum next count_step(struct request *r)
{
    struct apps_list *apps = apps_of(r);
    if (page_context_of(r)->read.err)
        return page_store_error(r, page_context_of(r)->read.err);
    apps->counted++;
    return count_next(r);
}

/* ---- the keys ---- */

static bool on_key(void *ctx, const struct author_key *key)
{
    struct request *r = ctx;
    struct apps_list *apps = apps_of(r);
    struct str home = key->app_home_url;
    if (!key->is_app)
        return true;
    apps->apps[apps->count++] = (struct connected_app){
        .key_id = key->key.id,
        .name = arena_copy(&r->arena, key->app_name),
        .home_url = home.p ? arena_copy(&r->arena, home) : home,
        .connected_at = key->key.created_at,
        .read_at = key->key.last_used_at,
        .lag = LAG_UNKNOWN,
    };
    return apps->count < AUTHOR_KEYS_MAX;
}

static enum next listed_step(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    struct poll_positions *positions = page->web->positions;
    struct apps_list *apps = apps_of(r);
    struct uuid ids[POLL_POSITIONS_MAX];
    const int count = apps->count < POLL_POSITIONS_MAX ? apps->count : POLL_POSITIONS_MAX;
    if (page->read.err)
        return page_store_error(r, page->read.err);
    if (!count || !positions)
        return show(r);
    for (int i = 0; i < count; i++)
        ids[i] = apps->apps[i].key_id;
    r->step = count_next;
    return poll_positions_load(positions, ids, count, &r->wait, &apps->positions);
}

static enum next apps_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    page->state = arena_alloc(&r->arena, sizeof(struct apps_list));
    r->step = listed_step;
    return store_list_author_keys(&page->read, page->viewer.author_row, KEYS_LIVE, AUTHOR_KEYS_MAX, on_key,
                                  r);
}

const struct route apps_page = {.path = "/apps", .methods = ROUTE_GET, .start = apps_step};
