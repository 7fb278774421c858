/* GET /dashboard: totals of all videos, the last 30 days, the newest videos and the latest events.
 *
 * Steps: read the author → count the failed webhooks → compute the summary in several reads, or use the
 * cached one → write figures and chart → videos → events. */
#include "base/clock.h"
#include "web/chart.h"
#include "web/humanize.h"
#include "web/page.h"
#include "store/webhooks.h"
#include "web/components.h"
#include "web/summary.h"

enum { WEBHOOKS_READ_MAX = 200 };
enum { CHART_DAYS = 30, EVENTS_SHOWN = 8, VIDEOS_SHOWN = 8 };
#define STALE_MS (3 * HOUR_MS) /* numbers older than this are out of date; the refresh runs every hour */

struct dashboard {
    int64_t now, slice_start_us;
    struct author author;
    struct summary_work work;
    struct events_query events;
    struct events_progress progress;
    int failed_webhooks;
    struct videos_query videos;
    int shown; /* number of items written to the current list */
};

static struct dashboard *dashboard_of(const struct request *r)
{
    return page_context_of(r)->state;
}

/* ---- freshness ---- */

static void write_freshness(struct buf *b, const struct dashboard *d)
{
    const struct summary *sum = &d->work.sum;
    int64_t at = d->author.views_refreshed_at;
    if (at == TIME_NONE)
        return;
    if (sum->open_videos && d->now - at > STALE_MS) {
        HTML(b, "<p class=\"notice\">These numbers are out of date: the last refresh was ");
        html_time_ago(b, at, d->now);
        HTML(b, ". They are normally refreshed every hour. Nothing is lost: the next refresh reads "
                "the current numbers.</p>");
        return;
    }
    HTML(b, "<p class=\"muted\">Last refreshed ");
    html_time_ago(b, at, d->now);
    HTML(b, ". ");
    if (!sum->open_videos)
        HTML(b, "All your videos are older than 30 days, so their numbers are final. ");
    HTML(b, "Days are in UTC.</p>");
}

/* ---- sums and their changes ---- */

static int64_t sum_days(const struct summary *sum, int from, int to)
{
    int64_t total = 0;
    for (int i = from; i < to; i++)
        total = count_add_saturating(total, sum->gained[i]);
    return total;
}

static void write_change(struct buf *b, int64_t now, int64_t before)
{
    if (before == 0) {
        HTML(b, "the previous 30 days had none");
        return;
    }
    buf_printf(b, "<span class=\"%s\">", now > before ? "up" : now < before ? "down" : "same");
    format_change(b, now, before);
    HTML(b, "</span> the previous 30 days");
}

static void write_figures(struct buf *b, const struct summary *sum)
{
    int64_t last = sum_days(sum, SUMMARY_DAYS - CHART_DAYS, SUMMARY_DAYS);
    int64_t before = sum_days(sum, SUMMARY_DAYS - 2 * CHART_DAYS, SUMMARY_DAYS - CHART_DAYS);
    HTML(b, "<dl class=\"figures\"><div><dt>Total views</dt><dd class=\"big\">");
    html_number(b, sum->views);
    HTML(b, "</dd></div><div><dt>Views in the last 30 days</dt><dd class=\"big\">");
    html_number(b, last);
    HTML(b, "</dd><dd class=\"aside\">");
    write_change(b, last, before);
    HTML(b, "</dd></div><div><dt>Videos</dt><dd class=\"big\">");
    html_number(b, sum->videos);
    HTML(b, "</dd><dd class=\"aside\">");
    html_number(b, sum->open_videos);
    HTML(b, " less than 30 days old</dd></div><div><dt>Went viral</dt><dd class=\"big\">");
    html_number(b, sum->viral_videos);
    HTML(b, "</dd><dd class=\"aside\">");
    if (sum->viral_videos) {
        format_percentage(b, sum->viral_videos, sum->videos);
        HTML(b, " of your videos");
    } else {
        HTML(b, "none so far");
    }
    HTML(b, "</dd></div></dl>");
}

/* ---- chart and platforms ---- */

static void write_chart(struct buf *b, const struct summary *sum)
{
    struct chart_day days[CHART_DAYS];
    int64_t total = sum->views;
    for (int i = CHART_DAYS - 1; i >= 0; i--) {
        int at = SUMMARY_DAYS - CHART_DAYS + i;
        days[i] = (struct chart_day){.date = sum->today - (CHART_DAYS - 1) + i,
                                     .views = sum->gained[at],
                                     .total = total,
                                     .viral = sum->viral[at]};
        total = total > sum->gained[at] ? total - sum->gained[at] : 0;
    }
    struct chart chart = {
        .id = "days", .title = STR("Views per day in the last 30 days"), .days = days, .count = CHART_DAYS};
    HTML(b, "<section class=\"card\" aria-labelledby=\"days-h\"><h2 id=\"days-h\">Last 30 days</h2>");
    if (sum->read_videos)
        chart_write(b, &chart);
    else
        HTML(b,
             "<p class=\"empty\">Your videos have not been read yet. The first numbers arrive with the next "
             "hourly refresh; from then on, each day has a bar here.</p>");
    HTML(b, "</section>");
}

static void write_platform(struct buf *b, const struct summary *sum, enum platform p, int64_t whole)
{
    HTML(b, "<li><div class=\"row\"><span>");
    buf_append(b, platform_title(p));
    HTML(b, " <span class=\"small muted\">");
    html_quantity(b, sum->platform_videos[p], "video", "videos");
    HTML(b, "</span></span><span><strong>");
    html_quantity(b, sum->platform_views[p], "view", "views");
    HTML(b, "</strong> <span class=\"muted\">· ");
    format_percentage(b, sum->platform_views[p], whole);
    HTML(b, "</span></span></div>");
    chart_write_meter(b, "", sum->platform_views[p], whole);
    HTML(b, "</li>");
}

/* Writes the platforms in descending order of views. */
static void write_platforms(struct buf *b, const struct summary *sum)
{
    bool done[PLATFORM_COUNT] = {false};
    int64_t whole = 0;
    for (int p = 0; p < PLATFORM_COUNT; p++)
        whole = count_add_saturating(whole, sum->platform_views[p]);
    HTML(b, "<section class=\"card\" aria-labelledby=\"platforms-h\"><h2 id=\"platforms-h\">Views by "
            "platform</h2><ul class=\"platforms\">");
    for (int n = 0; n < PLATFORM_COUNT; n++) {
        int best = -1;
        for (int p = 0; p < PLATFORM_COUNT; p++)
            if (!done[p] && (best < 0 || sum->platform_views[p] > sum->platform_views[best]))
                best = p;
        done[best] = true;
        if (sum->platform_videos[best])
            write_platform(b, sum, (enum platform)best, whole);
    }
    HTML(b, "</ul></section>");
}

/* ---- events ---- */

static bool on_event(void *ctx, const struct event *e, const struct video_ref *v, const struct book_ref *book)
{
    struct request *r = ctx;
    struct dashboard *d = dashboard_of(r);
    if (!d->shown++)
        HTML(&r->res.body, "<ul class=\"events\">");
    component_event_item(r, e, v, book, d->now);
    return true;
}

static enum next events_done_step(struct request *r)
{
    struct dashboard *d = dashboard_of(r);
    struct buf *b = &r->res.body;
    if (page_context_of(r)->read.err)
        return page_store_error(r, page_context_of(r)->read.err);
    buf_append(b, d->shown ? STR("</ul>")
                           : STR("<p class=\"empty\">Nothing yet. When a video passes 1,000 views or goes "
                                 "viral, it is listed here.</p>"));
    HTML(b, "</section></div></div>");
    return page_end(r);
}

static enum next list_events(struct request *r)
{
    struct dashboard *d = dashboard_of(r);
    d->shown = 0;
    d->events = (struct events_query){.author_row = d->author.row,
                                      .bound = INT64_MAX,
                                      .descending = true,
                                      .occurred_after = INT64_MIN,
                                      .limit = EVENTS_SHOWN,
                                      .scan_limit = EVENTS_SHOWN};
    HTML(&r->res.body, "<section class=\"card\" aria-labelledby=\"events-h\"><h2 id=\"events-h\">Latest "
                       "events</h2>");
    r->step = events_done_step;
    return store_list_events(&page_context_of(r)->read, &d->events, on_event, r, &d->progress);
}

/* ---- videos ---- */

static bool on_video(void *ctx, const struct video *v, const struct book_ref *book)
{
    struct request *r = ctx;
    if (dashboard_of(r)->shown++ < VIDEOS_SHOWN)
        component_video_item(r, v, book);
    return true;
}

static enum next videos_done_step(struct request *r)
{
    struct dashboard *d = dashboard_of(r);
    struct buf *b = &r->res.body;
    if (page_context_of(r)->read.err)
        return page_store_error(r, page_context_of(r)->read.err);
    HTML(b, "</ul>");
    if (d->shown > VIDEOS_SHOWN) {
        HTML(b, "<p class=\"pager\"><a class=\"button quiet\"");
        page_write_link(r, "href", STR("/videos"));
        HTML(b, ">All ");
        html_number(b, d->work.sum.videos);
        HTML(b, " videos</a></p>");
    }
    HTML(b, "</section><div>");
    write_platforms(b, &d->work.sum);
    return list_events(r);
}

static enum next list_videos(struct request *r)
{
    struct dashboard *d = dashboard_of(r);
    d->shown = 0;
    d->videos = (struct videos_query){.author_row = d->author.row,
                                      .posted_from = INT64_MIN,
                                      .posted_to = INT64_MAX,
                                      .viral = VIRAL_ANY,
                                      .limit = VIDEOS_SHOWN + 1};
    HTML(&r->res.body, "<section class=\"card\" aria-labelledby=\"videos-h\"><h2 id=\"videos-h\">Newest "
                       "videos</h2><ul class=\"videos\">");
    r->step = videos_done_step;
    return store_list_videos(&page_context_of(r)->read, &d->videos, on_video, r);
}

/* ---- the page ---- */

static enum next write_empty(struct request *r)
{
    struct buf *b = &r->res.body;
    HTML(b,
         "<section class=\"card\"><h2>No videos yet</h2><p class=\"empty\">Your first video appears here as "
         "soon as the people who run this service have added it. Its views on each platform and a bar for "
         "each day follow with the next hourly refresh.</p></section>");
    return page_end(r);
}

static void write_failed_webhooks(struct request *r)
{
    struct buf *b = &r->res.body;
    const int count = dashboard_of(r)->failed_webhooks;
    if (!count)
        return;
    HTML(b, "<p class=\"notice bad\">");
    if (count == 1)
        HTML(b, "A webhook was paused");
    else
        buf_printf(b, "%d webhooks were paused", count);
    HTML(b, " because deliveries failed for three days. No event is lost. <a");
    page_write_link(r, "href", STR("/webhooks"));
    HTML(b, ">Go to your webhooks</a></p>");
}

static enum next write_page(struct request *r)
{
    const struct dashboard *d = dashboard_of(r);
    const struct summary *sum = &d->work.sum;
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("Dashboard"), .current = "/dashboard"});
    if (!d->author.plan_active)
        HTML(b, "<p class=\"notice bad\">Your plan is not active. You still see your numbers here, but API "
                "keys and connected apps cannot read them until it is active again.</p>");
    write_failed_webhooks(r);
    if (!sum->videos)
        return write_empty(r);
    write_freshness(b, d);
    write_figures(b, sum);
    write_chart(b, sum);
    HTML(b, "<div class=\"columns wide\">");
    return list_videos(r);
}

static enum next batch_step(struct request *r);

static enum next batch_done_step(struct request *r)
{
    struct dashboard *d = dashboard_of(r);
    switch (summary_finish_batch(&d->work, page_context_of(r)->web->summaries)) {
    case SUMMARY_FAILED: return page_store_error(r, page_context_of(r)->read.err);
    case SUMMARY_READY: return write_page(r);
    case SUMMARY_MORE: break;
    }
    r->step = batch_step;
    if (!request_time_slice_ended(d->slice_start_us))
        return NEXT_MORE;
    return NEXT_YIELD;
}

static enum next batch_step(struct request *r)
{
    struct dashboard *d = dashboard_of(r);
    if (request_time_slice_ended(d->slice_start_us))
        d->slice_start_us = clock_work_us();
    r->step = batch_done_step;
    return summary_read_batch(&d->work);
}

static enum next webhooks_step(struct request *r)
{
    struct dashboard *d = dashboard_of(r);
    struct store_read *read = &page_context_of(r)->read;
    if (read->err)
        return page_store_error(r, read->err);
    if (summary_begin(&d->work, page_context_of(r)->web->summaries, read, d->author.row, d->author.rev,
                      d->now))
        return write_page(r);
    d->slice_start_us = clock_work_us();
    return batch_step(r);
}

static bool on_webhook(void *ctx, const struct webhook_endpoint *e)
{
    struct dashboard *d = ctx;
    d->failed_webhooks += e->state == WEBHOOK_FAILED && e->is_connected;
    return true;
}

static enum next author_step(struct request *r)
{
    struct dashboard *d = dashboard_of(r);
    struct store_read *read = &page_context_of(r)->read;
    if (read->err)
        return page_store_error(r, read->err);
    r->step = webhooks_step;
    return store_read_webhooks(read, d->author.row, WEBHOOKS_READ_MAX, on_webhook, d);
}

static enum next dashboard_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct dashboard *d = arena_alloc(&r->arena, sizeof *d);
    page->state = d;
    d->now = clock_wall_ms();
    r->step = author_step;
    return store_read_author(&page->read, &r->arena, page->viewer.author_row, &d->author);
}

const struct route dashboard_page = {.path = "/dashboard", .methods = ROUTE_GET, .start = dashboard_step};
