/* Writes the chart. Vertical positions are percentages of the SVG's height. Bars lie between PLOT_TOP and
 * PLOT_BOTTOM. The stars of viral days are above the bars, the dates below. */
#include "web/chart.h"

#include "base/check.h"
#include "base/plural.h"
#include "web/html.h"
#include "web/humanize.h"

static const double PLOT_TOP = 14, PLOT_BOTTOM = 88;
static const double BAR_HEIGHT_MIN = 0.6; /* minimum height, so that the bar of a single view is visible */
enum { GRID_LINES_MAX = 4 };

int64_t chart_grid_step(int64_t max)
{
    static const int factors[] = {2, 5, 10};
    int64_t power = 1, step = 1;
    for (size_t i = 0; max > step * GRID_LINES_MAX; i++) {
        step = power * factors[i % 3];
        if (i % 3 == 2)
            power *= 10;
    }
    return step;
}

struct plot {
    const struct chart *chart;
    int64_t max, step, top; /* numbers of views: `max` of the highest bar, `step` between grid lines, `top` of
                               the highest grid line */
    int viral_days;
};

static struct plot plot_of(const struct chart *c)
{
    struct plot p = {.chart = c};
    for (size_t i = 0; i < c->count; i++) {
        if (c->days[i].views > p.max)
            p.max = c->days[i].views;
        p.viral_days += c->days[i].viral > 0;
    }
    p.step = chart_grid_step(p.max);
    p.top = p.max ? (p.max + p.step - 1) / p.step * p.step : p.step;
    return p;
}

static double y_of(const struct plot *p, int64_t views)
{
    return PLOT_BOTTOM - (PLOT_BOTTOM - PLOT_TOP) * (double)views / (double)p->top;
}

/* ---- axis: a separate SVG beside the plot, so that its text never covers a bar ---- */

static void write_axis(struct buf *b, const struct plot *p)
{
    HTML(b, "<svg class=\"chart-axis\" aria-hidden=\"true\" focusable=\"false\">");
    for (int64_t v = 0; v <= p->top; v += p->step) {
        buf_printf(b, "<text x=\"100%%\" y=\"%.2f%%\" dy=\"4\" text-anchor=\"end\">", y_of(p, v));
        format_number_short(b, v);
        HTML(b, "</text>");
    }
    HTML(b, "</svg>");
}

static void write_grid(struct buf *b, const struct plot *p)
{
    for (int64_t v = 0; v <= p->top; v += p->step) {
        double y = y_of(p, v);
        buf_printf(b, "<line class=\"%s\" x1=\"0\" x2=\"100%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/>",
                   v ? "chart-line" : "chart-floor", y, y);
    }
}

/* ---- bars and dates ---- */

static void write_viral_note(struct buf *b, const struct chart *c, int32_t viral)
{
    if (c->one_video)
        HTML(b, "went viral");
    else
        buf_printf(b, "%d video%s went viral", (int)viral, plural(viral, "", "s"));
}

static void write_star(struct buf *b, double x, double y)
{
    buf_printf(b,
               "<svg class=\"chart-star\" x=\"%.2f%%\" y=\"%.2f%%\" overflow=\"visible\"><path "
               "d=\"M0-7 2-2.3 7-2.1 3.1 1 4.4 6 0 3.2-4.4 6-3.1 1-7-2.1-2-2.3z\"/></svg>",
               x, y);
}

static void write_day(struct buf *b, const struct plot *p, size_t i)
{
    const struct chart_day *day = &p->chart->days[i];
    double slot = 100.0 / (double)p->chart->count, x = slot * (double)i, y = y_of(p, day->views);
    double width = slot > 12 ? 8 : slot * 0.72;
    HTML(b, "<g><title>");
    format_date(b, day->date);
    HTML(b, ": ");
    format_number(b, day->views);
    buf_append(b, day->views == 1 ? STR(" view") : STR(" views"));
    if (day->viral) {
        HTML(b, ", ");
        write_viral_note(b, p->chart, day->viral);
    }
    buf_printf(b,
               "</title><rect class=\"chart-slot\" x=\"%.2f%%\" y=\"0\" width=\"%.2f%%\" height=\"%.2f%%\"/>",
               x, slot, PLOT_BOTTOM);
    if (day->views > 0) {
        if (PLOT_BOTTOM - y < BAR_HEIGHT_MIN)
            y = PLOT_BOTTOM - BAR_HEIGHT_MIN;
        buf_printf(b,
                   "<rect class=\"chart-bar\" x=\"%.2f%%\" y=\"%.2f%%\" width=\"%.2f%%\" height=\"%.2f%%\" "
                   "rx=\"2\"",
                   x + (slot - width) / 2, y, width, PLOT_BOTTOM - y);
        if (day->viral)
            buf_printf(b, " fill=\"url(#%s-hatch)\"", p->chart->id);
        HTML(b, "/>");
    }
    if (day->viral)
        write_star(b, x + slot / 2, y - 5 < 5 ? 5 : y - 5);
    HTML(b, "</g>");
}

static void write_date(struct buf *b, const struct plot *p, size_t i, const char *anchor)
{
    size_t n = p->chart->count;
    double slot = 100.0 / (double)n, x = slot * (double)i + slot / 2;
    if (anchor[0] == 's')
        x = slot * (double)i;
    else if (anchor[0] == 'e')
        x = slot * (double)(i + 1);
    buf_printf(b, "<text x=\"%.2f%%\" y=\"98%%\" text-anchor=\"%s\">", x, anchor);
    format_date_short(b, p->chart->days[i].date);
    HTML(b, "</text>");
}

/* Writes the first, the middle and the last date. A phone has no room for more. */
static void write_dates(struct buf *b, const struct plot *p)
{
    size_t n = p->chart->count;
    if (n == 1) {
        write_date(b, p, 0, "middle");
        return;
    }
    write_date(b, p, 0, "start");
    if (n >= 5)
        write_date(b, p, n / 2, "middle");
    write_date(b, p, n - 1, "end");
}

/* ---- description, legend and table ---- */

static void write_description(struct buf *b, const struct plot *p)
{
    const struct chart *c = p->chart;
    size_t best = 0;
    int64_t sum = 0;
    for (size_t i = 0; i < c->count; i++) {
        sum = count_add_saturating(sum, c->days[i].views);
        best = c->days[i].views > c->days[best].views ? i : best;
    }
    HTML(b, "From ");
    format_date(b, c->days[0].date);
    HTML(b, " to ");
    format_date(b, c->days[c->count - 1].date);
    HTML(b, ": ");
    format_number(b, sum);
    buf_append(b, sum == 1 ? STR(" view.") : STR(" views."));
    if (p->max) {
        HTML(b, " Highest on ");
        format_date(b, c->days[best].date);
        HTML(b, ": ");
        format_number(b, p->max);
        HTML(b, ".");
    }
    if (p->viral_days) {
        buf_printf(b, " %d day%s marked because ", p->viral_days, plural(p->viral_days, " is", "s are"));
        buf_append(b, c->one_video ? STR("the video went viral.") : STR("a video went viral."));
    }
}

static void write_svg(struct buf *b, const struct plot *p)
{
    const char *id = p->chart->id;
    HTML(b, "<div class=\"chart\">");
    write_axis(b, p);
    buf_printf(b,
               "<svg class=\"chart-plot\" role=\"img\" focusable=\"false\" aria-labelledby=\"%s-title\" "
               "aria-describedby=\"%s-desc\"><title id=\"%s-title\">",
               id, id, id);
    html_text(b, p->chart->title);
    buf_printf(b, "</title><desc id=\"%s-desc\">", id);
    write_description(b, p);
    HTML(b, "</desc><defs>");
    buf_printf(b,
               "<pattern id=\"%s-hatch\" class=\"chart-hatch\" width=\"6\" height=\"6\" "
               "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"6\" "
               "height=\"6\"/><line y2=\"6\"/></pattern></defs>",
               id);
    write_grid(b, p);
    for (size_t i = 0; i < p->chart->count; i++)
        write_day(b, p, i);
    write_dates(b, p);
    HTML(b, "</svg></div>");
}

static void write_legend(struct buf *b, const struct plot *p)
{
    HTML(b,
         "<p class=\"legend\"><svg class=\"chart-star\" viewBox=\"-8 -8 16 16\" width=\"16\" height=\"16\" "
         "aria-hidden=\"true\" focusable=\"false\"><path d=\"M0-7 2-2.3 7-2.1 3.1 1 4.4 6 0 3.2-4.4 6-3.1 "
         "1-7-2.1-2-2.3z\"/></svg> ");
    buf_append(b, p->chart->one_video ? STR("The day on which the video went viral")
                                      : STR("A day on which a video went viral"));
    HTML(b, "</p>");
}

static void write_row(struct buf *b, const struct plot *p, const struct chart_day *day)
{
    HTML(b, "<tr><th scope=\"row\">");
    html_date(b, day->date);
    HTML(b, "</th><td class=\"num\">");
    format_number(b, day->views);
    HTML(b, "</td><td class=\"num\">");
    format_number(b, day->total);
    HTML(b, "</td>");
    if (p->viral_days) {
        HTML(b, "<td class=\"num\">");
        if (day->viral)
            write_viral_note(b, p->chart, day->viral);
        HTML(b, "</td>");
    }
    HTML(b, "</tr>");
}

static void write_table(struct buf *b, const struct plot *p)
{
    HTML(b, "<details class=\"numbers\"><summary>Show the numbers as a table</summary><div class=\"scroll\" "
            "role=\"region\" tabindex=\"0\" aria-label=\"Numbers for each day\"><table><caption "
            "class=\"sr\">");
    html_text(b, p->chart->title);
    HTML(b, "</caption><thead><tr><th scope=\"col\">Day</th><th scope=\"col\" class=\"num\">Views</th>"
            "<th scope=\"col\" class=\"num\">Total</th>");
    if (p->viral_days)
        HTML(b, "<th scope=\"col\" class=\"num\">Went viral</th>");
    HTML(b, "</tr></thead><tbody>");
    for (size_t i = p->chart->count; i-- > 0;)
        write_row(b, p, &p->chart->days[i]);
    HTML(b, "</tbody></table></div></details>");
}

void chart_write(struct buf *b, const struct chart *c)
{
    CHECK(c->count <= CHART_DAYS_MAX);
    if (c->count == 0) {
        HTML(b, "<p class=\"empty\">There are no numbers to show yet.</p>");
        return;
    }
    struct plot p = plot_of(c);
    write_svg(b, &p);
    if (p.viral_days)
        write_legend(b, &p);
    write_table(b, &p);
}

void chart_write_meter(struct buf *b, const char *class, int64_t part, int64_t whole)
{
    double width = whole > 0 ? 100.0 * (double)part / (double)whole : 0;
    buf_printf(b,
               "<svg class=\"meter %s\" aria-hidden=\"true\" focusable=\"false\"><rect class=\"meter-rail\" "
               "width=\"100%%\" height=\"100%%\" rx=\"4\"/><rect class=\"meter-fill\" width=\"%.2f%%\" "
               "height=\"100%%\" rx=\"4\"/></svg>",
               class, width);
}
