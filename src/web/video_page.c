/* GET /videos/{id}: one video day by day. The response to a request for another author's video is a 404. */
#include "base/clock.h"
#include "web/chart.h"
#include "web/humanize.h"
#include "web/page.h"
#include "web/components.h"

struct video_view {
    int64_t now;
};

/* ---- current counts ---- */

static int64_t sum_known_counts(const struct video *v, enum count_kind kind)
{
    int64_t sum = COUNT_NONE;
    for (size_t i = 0; i < v->post_count; i++)
        if (v->posts[i].counts[kind] != COUNT_NONE)
            sum = count_add_saturating(sum == COUNT_NONE ? 0 : sum, v->posts[i].counts[kind]);
    return sum;
}

static void write_count(struct buf *b, int64_t count)
{
    if (count == COUNT_NONE)
        HTML(b, "<span aria-hidden=\"true\">–</span><span class=\"sr\">unknown</span>");
    else
        html_number(b, count);
}

static void write_figure(struct buf *b, const char *name, int64_t count)
{
    buf_printf(b, "<div><dt>%s</dt><dd class=\"big\">", name);
    write_count(b, count);
    HTML(b, "</dd></div>");
}

static void write_figures(struct buf *b, const struct video *v)
{
    HTML(b, "<dl class=\"figures five\">");
    write_figure(b, "Views", v->first_reading_at == TIME_NONE ? COUNT_NONE : v->views);
    write_figure(b, "Likes", sum_known_counts(v, COUNT_LIKES));
    write_figure(b, "Comments", sum_known_counts(v, COUNT_COMMENTS));
    write_figure(b, "Shares", sum_known_counts(v, COUNT_SHARES));
    write_figure(b, "Saves", sum_known_counts(v, COUNT_SAVES));
    HTML(b, "</dl>");
}

static bool is_final(const struct video *v, int64_t now)
{
    return now > v->posted_at + VIDEO_LIFE_DAYS * DAY_MS;
}

static void write_head(struct request *r, const struct video *v, const struct book_ref *book, int64_t now)
{
    struct buf *b = &r->res.body;
    const struct video_ref ref = video_ref_of(v);
    HTML(b, "<div class=\"hero\">");
    component_thumbnail(r, &ref, component_video_title(v->title, book));
    HTML(b, "<div class=\"video-text\"><h1>");
    html_isolated_text(b, component_video_title(v->title, book));
    HTML(b, "</h1><p>Posted ");
    html_date(b, date_of(v->posted_at));
    HTML(b, " on ");
    component_platform_list(b, v);
    if (book->title.p) {
        HTML(b, ", for ");
        html_isolated_text(b, book->title);
    }
    HTML(b, ".</p><p class=\"muted\">");
    if (v->updated_at == TIME_NONE && is_final(v, now)) {
        HTML(b, "It was never read, and it is older than 30 days, so it has no numbers.");
    } else if (v->updated_at == TIME_NONE) {
        HTML(b, "Not read yet: the first numbers arrive with the next hourly refresh.");
    } else {
        HTML(b, "Last read ");
        html_time_ago(b, v->updated_at, now);
        if (is_final(v, now))
            HTML(b, ". It is older than 30 days, so its numbers are final.");
        else
            HTML(b, ". It is read every hour until it is 30 days old.");
    }
    HTML(b, "</p></div></div>");
}

/* ---- whether and when the video went viral ---- */

static void write_went_viral(struct buf *b, const struct video *v)
{
    HTML(b, "<p><span class=\"badge viral\">Viral</span> ");
    html_date(b, date_of(v->went_viral_at));
    HTML(b, ", ");
    component_viral_summary(b, v);
    HTML(b, ".</p>");
}

static void write_not_viral(struct buf *b, const struct video *v, int64_t now)
{
    buf_append(b, is_final(v, now) ? STR("<p>It did not go viral. The threshold was ")
                                   : STR("<p>Not viral yet. It goes viral at "));
    html_quantity(b, v->viral.threshold, "view", "views");
    HTML(b, ".</p>");
    if (v->first_reading_at != TIME_NONE && v->viral.threshold > 0) {
        chart_write_meter(b, "", v->views < v->viral.threshold ? v->views : v->viral.threshold,
                          v->viral.threshold);
        HTML(b, "<p class=\"small muted\">");
        format_percentage(b, v->views, v->viral.threshold);
        HTML(b, " of the way.</p>");
    }
}

static void write_viral(struct buf *b, const struct video *v, int64_t now)
{
    HTML(b, "<section class=\"card\" aria-labelledby=\"viral-h\"><h2 id=\"viral-h\">Going viral</h2>");
    if (v->went_viral_at != TIME_NONE)
        write_went_viral(b, v);
    else
        write_not_viral(b, v, now);
    HTML(b, "<p class=\"small muted\">");
    if (v->viral.median != COUNT_NONE) {
        buf_append(b, v->went_viral_at != TIME_NONE ? STR("Your typical video had ")
                                                    : STR("Your typical video has "));
        html_quantity(b, v->viral.median, "view", "views");
        HTML(b, ": the median of ");
        html_number(b, v->viral.compared);
        buf_append(b, v->went_viral_at != TIME_NONE ? STR(" of your other videos at that time.")
                                                    : STR(" of your other videos."));
    } else {
        HTML(b, "You do not have enough other videos yet to know what is typical for you.");
    }
    HTML(b, "</p></section>");
}

/* ---- chart of daily views ---- */

/* The last date on which the video can have readings. If an import has moved posted_at to an earlier time,
 * the first reading or a gain can be later than that. */
static int32_t last_date(const struct video_days *row)
{
    int32_t last = date_of(row->video->posted_at + VIDEO_LIFE_DAYS * DAY_MS);
    const int32_t first_reading = date_of(row->video->first_reading_at);
    if (last < first_reading)
        last = first_reading;
    if (row->day_count && last < row->days[row->day_count - 1].date)
        last = row->days[row->day_count - 1].date;
    return last;
}

/* Sets `days` to the days from the first reading to last_date() or today, whichever is earlier; but at most
 * to the last CHART_DAYS_MAX of these days. A day without a gain has 0 views. Returns the number of days. */
static size_t fill_days(const struct video_days *row, int64_t now, struct chart_day days[CHART_DAYS_MAX])
{
    const struct video *v = row->video;
    if (v->first_reading_at == TIME_NONE)
        return 0;
    int32_t first = date_of(v->first_reading_at), last = last_date(row);
    int32_t viral = v->went_viral_at == TIME_NONE ? INT32_MIN : date_of(v->went_viral_at);
    int64_t total = v->baseline;
    size_t count = 0, next = 0;
    if (last > date_of(now))
        last = date_of(now);
    if (first < last - (CHART_DAYS_MAX - 1))
        first = last - (CHART_DAYS_MAX - 1);
    for (int32_t date = first; date <= last; date++) {
        int64_t gained = 0;
        for (; next < row->day_count && row->days[next].date <= date; next++) {
            total = v->baseline + row->days[next].gained_total;
            gained = row->days[next].date == date ? row->days[next].gained : 0;
        }
        days[count++] =
            (struct chart_day){.date = date, .views = gained, .total = total, .viral = date == viral};
    }
    return count;
}

static void write_chart(struct buf *b, const struct video_days *row, int64_t now)
{
    struct chart_day days[CHART_DAYS_MAX];
    struct chart chart = {.id = "days",
                          .title = STR("Views of this video per day"),
                          .one_video = true,
                          .days = days,
                          .count = fill_days(row, now, days)};
    HTML(b, "<section class=\"card\" aria-labelledby=\"days-h\"><h2 id=\"days-h\">Day by day</h2>");
    chart_write(b, &chart);
    if (chart.count && row->video->baseline > 0) {
        HTML(b, "<p class=\"small muted\">It already had ");
        html_quantity(b, row->video->baseline, "view", "views");
        HTML(b, " when daily counting began.</p>");
    }
    HTML(b, "</section>");
}

/* ---- posts on the platforms ---- */

static void write_post(struct buf *b, const struct post *post)
{
    HTML(b, "<tr><th scope=\"row\">");
    buf_append(b, platform_title(post->platform));
    if (html_link_is_safe(post->url) && post->url.p[0] != '/') {
        HTML(b, "<br><a class=\"small\" rel=\"noopener noreferrer nofollow\"");
        html_link(b, "href", post->url);
        HTML(b, ">Open <span class=\"sr\">on ");
        buf_append(b, platform_title(post->platform));
        HTML(b, "</span></a>");
    }
    HTML(b, "</th>");
    for (int kind = 0; kind < COUNT_KINDS; kind++) {
        HTML(b, "<td class=\"num\">");
        write_count(b, post->counts[kind]);
        HTML(b, "</td>");
    }
    HTML(b, "<td class=\"num\">");
    html_date(b, date_of(post->posted_at));
    HTML(b, "</td></tr>");
}

static void write_posts(struct buf *b, const struct video *v)
{
    HTML(b, "<section class=\"card\" aria-labelledby=\"posts-h\"><h2 id=\"posts-h\">By platform</h2>"
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Counts by "
            "platform\"><table><thead>"
            "<tr><th scope=\"col\">Platform</th><th scope=\"col\" class=\"num\">Views</th>"
            "<th scope=\"col\" class=\"num\">Likes</th><th scope=\"col\" class=\"num\">Comments</th>"
            "<th scope=\"col\" class=\"num\">Shares</th><th scope=\"col\" class=\"num\">Saves</th>"
            "<th scope=\"col\" class=\"num\">Posted</th></tr></thead><tbody>");
    for (size_t i = 0; i < v->post_count; i++)
        write_post(b, &v->posts[i]);
    HTML(b, "</tbody></table></div></section>");
}

/* ---- milestones ---- */

static void write_milestones(struct buf *b, const struct video *v)
{
    HTML(b, "<section class=\"card\" aria-labelledby=\"milestones-h\"><h2 id=\"milestones-h\">Milestones"
            "</h2>");
    if (!v->milestone_count) {
        HTML(b, "<p class=\"empty\">The first milestone is 1,000 views.</p></section>");
        return;
    }
    HTML(b, "<ol class=\"events\" reversed>");
    for (size_t i = v->milestone_count; i-- > 0;) {
        HTML(b, "<li>");
        html_quantity(b, v->milestones[i].value, "view", "views");
        HTML(b, "<span class=\"when\">");
        html_date(b, date_of(v->milestones[i].reached_at));
        HTML(b, "</span></li>");
    }
    HTML(b, "</ol></section>");
}

/* ---- the page ---- */

static bool on_video(void *ctx, const struct video_days *row)
{
    struct request *r = ctx;
    const struct video_view *view = page_context_of(r)->state;
    struct str title = component_video_title(row->video->title, &row->book);
    struct buf *b =
        page_begin(r, &(struct page_frame){.title = title, .current = "/videos", .own_heading = true});
    write_head(r, row->video, &row->book, view->now);
    write_figures(b, row->video);
    write_chart(b, row, view->now);
    HTML(b, "<div class=\"columns\">");
    write_viral(b, row->video, view->now);
    write_milestones(b, row->video);
    HTML(b, "</div>");
    write_posts(b, row->video);
    return true;
}

static enum next video_done_step(struct request *r)
{
    enum err err = page_context_of(r)->read.err;
    if (err == ERR_NOT_FOUND)
        return page_not_found(r);
    return err ? page_store_error(r, err) : page_end(r);
}

static enum next video_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct video_view *view = arena_alloc(&r->arena, sizeof *view);
    struct uuid id;
    if (!uuid_parse(r->path_parameter, &id))
        return page_not_found(r);
    view->now = clock_wall_ms();
    page->state = view;
    r->step = video_done_step;
    return store_read_video_days(&page->read, page->viewer.author_row, &id, INT32_MIN / 2, INT32_MAX / 2,
                                 on_video, r);
}

const struct route video_page = {.path = "/videos/{id}", .methods = ROUTE_GET, .start = video_step};
