/* Histograms, and the Prometheus text format (version 0.0.4). The caller owns the memory of its metrics; a
 * counter or gauge is a plain integer. */
#ifndef VT_BASE_METRICS_H
#define VT_BASE_METRICS_H

#include "base/buf.h"

/* Upper bounds of the buckets of a duration histogram, in microseconds: 100, 250, 500, 1000 … 60,000,000. One
 * more bucket counts longer durations. */
enum { METRICS_BOUNDS = 18 };
extern const uint32_t metrics_bounds_us[METRICS_BOUNDS];

struct metrics_duration_histogram {
    uint64_t counts[METRICS_BOUNDS + 1];
    uint64_t sum_us, max_us;
};

/* Adds a duration to the histogram. A negative duration counts as 0. */
void metrics_observe(struct metrics_duration_histogram *t, int64_t us);

/* A histogram of small numbers, such as queue lengths, with the upper bounds 0, 1, 2, 5 … 1000. */
enum { METRICS_SIZE_BOUNDS = 11 };
struct metrics_size_histogram {
    uint64_t counts[METRICS_SIZE_BOUNDS + 1];
    uint64_t sum;
};
/* Adds a number to the histogram. */
void metrics_observe_size(struct metrics_size_histogram *s, int64_t n);

enum metrics_type { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM };

/* A label. `name` must be a valid label name; `value` may be any text. In the last label of a list, `name` is
 * NULL. */
struct metrics_label {
    const char *name;
    struct str value;
};
#define METRICS_LABELS(...) ((const struct metrics_label[]){__VA_ARGS__, {NULL, {NULL, 0}}})

/* Appends the HELP and TYPE lines. Call once for each metric, before its samples. */
void metrics_write_family(struct buf *b, const char *name, enum metrics_type type, const char *help);

/* Each of these appends one sample. metrics_write_seconds() converts microseconds to seconds. `labels` may be
 * NULL. */
void metrics_write_value(struct buf *b, const char *name, const struct metrics_label *labels, int64_t v);
void metrics_write_seconds(struct buf *b, const char *name, const struct metrics_label *labels, int64_t us);

/* Each of these appends all samples of a histogram: buckets, sum and count. */
void metrics_write_duration_histogram(struct buf *b, const char *name, const struct metrics_label *labels,
                                      const struct metrics_duration_histogram *t);
void metrics_write_size_histogram(struct buf *b, const char *name, const struct metrics_label *labels,
                                  const struct metrics_size_histogram *s);

/* Each of these appends a whole metric that has no labels: HELP, TYPE and one sample. */
void metrics_write_counter(struct buf *b, const char *name, const char *help, uint64_t v);
void metrics_write_gauge(struct buf *b, const char *name, const char *help, int64_t v);

#endif
