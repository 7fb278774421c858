/* Histograms, and the text format: https://prometheus.io/docs/instrumenting/exposition_formats/ */
#include "base/metrics.h"
#include "base/number.h"

const uint32_t metrics_bounds_us[METRICS_BOUNDS] = {100,     250,     500,     1000,     2500,     5000,
                                                    10000,   25000,   50000,   100000,   250000,   500000,
                                                    1000000, 2500000, 5000000, 10000000, 30000000, 60000000};

static const uint32_t size_bounds[METRICS_SIZE_BOUNDS] = {0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};

/* ---- counting observations ---- */

static size_t bucket_of(const uint32_t *bounds, size_t count, uint32_t v)
{
    size_t bucket = 0;
    while (bucket < count && v > bounds[bucket])
        bucket++;
    return bucket;
}

static uint32_t clamp(int64_t v)
{
    return v < 0 ? 0 : v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

void metrics_observe(struct metrics_duration_histogram *t, int64_t us)
{
    uint64_t v = us < 0 ? 0 : (uint64_t)us;
    t->counts[bucket_of(metrics_bounds_us, METRICS_BOUNDS, clamp(us))]++;
    t->sum_us += v;
    t->max_us = v > t->max_us ? v : t->max_us;
}

void metrics_observe_size(struct metrics_size_histogram *s, int64_t n)
{
    s->counts[bucket_of(size_bounds, METRICS_SIZE_BOUNDS, clamp(n))]++;
    s->sum += n < 0 ? 0 : (uint64_t)n;
}

/* ---- text format of Prometheus ---- */

void metrics_write_family(struct buf *b, const char *name, enum metrics_type type, const char *help)
{
    static const char *const words[] = {
        [METRICS_COUNTER] = "counter", [METRICS_GAUGE] = "gauge", [METRICS_HISTOGRAM] = "histogram"};
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, words[type]);
}

static void append_label_value(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == '\n') {
            buf_append(b, STR("\\n"));
            continue;
        }
        if (s.p[i] == '\\' || s.p[i] == '"')
            buf_append_char(b, '\\');
        buf_append_char(b, s.p[i]);
    }
}

/* Appends the beginning of a sample: the name, the suffix, the labels and a space. Adds the label `le` unless
 * it is NULL. */
static void begin_sample(struct buf *b, const char *name, const char *suffix,
                         const struct metrics_label *labels, const char *le)
{
    char separator = '{';
    buf_printf(b, "%s%s", name, suffix);
    for (; labels && labels->name; labels++) {
        buf_printf(b, "%c%s=\"", separator, labels->name);
        append_label_value(b, labels->value);
        buf_append_char(b, '"');
        separator = ',';
    }
    if (le) {
        buf_printf(b, "%cle=\"%s\"", separator, le);
        separator = ',';
    }
    if (separator == ',')
        buf_append_char(b, '}');
    buf_append_char(b, ' ');
}

void metrics_write_value(struct buf *b, const char *name, const struct metrics_label *labels, int64_t v)
{
    begin_sample(b, name, "", labels, NULL);
    buf_append_i64(b, v);
    buf_append_char(b, '\n');
}

static void append_seconds(struct buf *b, int64_t us)
{
    uint64_t v = us < 0 ? -(uint64_t)us : (uint64_t)us;
    buf_printf(b, "%s%llu.%06llu", us < 0 ? "-" : "", (unsigned long long)(v / 1000000),
               (unsigned long long)(v % 1000000));
}

void metrics_write_seconds(struct buf *b, const char *name, const struct metrics_label *labels, int64_t us)
{
    begin_sample(b, name, "", labels, NULL);
    append_seconds(b, us);
    buf_append_char(b, '\n');
}

/* Formats a bound in seconds without trailing zeros: 0.0001, 0.025, 1, 2.5, 60. */
static const char *bound_text(struct buf *text, uint32_t us)
{
    buf_reset(text, text->cap);
    append_seconds(text, us);
    while (text->p[text->len - 1] == '0')
        text->len--;
    if (text->p[text->len - 1] == '.')
        text->len--;
    buf_append_char(text, '\0');
    return text->p;
}

void metrics_write_duration_histogram(struct buf *b, const char *name, const struct metrics_label *labels,
                                      const struct metrics_duration_histogram *t)
{
    struct buf text;
    uint64_t total = 0;
    buf_init(&text, 64);
    for (size_t i = 0; i <= METRICS_BOUNDS; i++) {
        total += t->counts[i];
        begin_sample(b, name, "_bucket", labels,
                     i < METRICS_BOUNDS ? bound_text(&text, metrics_bounds_us[i]) : "+Inf");
        buf_printf(b, "%llu\n", (unsigned long long)total);
    }
    buf_fini(&text);
    begin_sample(b, name, "_sum", labels, NULL);
    append_seconds(b, (int64_t)t->sum_us);
    buf_append_char(b, '\n');
    begin_sample(b, name, "_count", labels, NULL);
    buf_printf(b, "%llu\n", (unsigned long long)total);
}

void metrics_write_size_histogram(struct buf *b, const char *name, const struct metrics_label *labels,
                                  const struct metrics_size_histogram *s)
{
    uint64_t total = 0;
    for (size_t i = 0; i <= METRICS_SIZE_BOUNDS; i++) {
        char le[I64_TEXT_MAX + 1] = "+Inf";
        total += s->counts[i];
        if (i < METRICS_SIZE_BOUNDS)
            le[i64_format(size_bounds[i], le)] = '\0';
        begin_sample(b, name, "_bucket", labels, le);
        buf_printf(b, "%llu\n", (unsigned long long)total);
    }
    begin_sample(b, name, "_sum", labels, NULL);
    buf_printf(b, "%llu\n", (unsigned long long)s->sum);
    begin_sample(b, name, "_count", labels, NULL);
    buf_printf(b, "%llu\n", (unsigned long long)total);
}

void metrics_write_counter(struct buf *b, const char *name, const char *help, uint64_t v)
{
    metrics_write_family(b, name, METRICS_COUNTER, help);
    metrics_write_value(b, name, NULL, (int64_t)v);
}

void metrics_write_gauge(struct buf *b, const char *name, const char *help, int64_t v)
{
    metrics_write_family(b, name, METRICS_GAUGE, help);
    metrics_write_value(b, name, NULL, v);
}
