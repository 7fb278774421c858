/* Prints the counters of an import. */
#include "cli/import_report.h"

#include "base/json.h"
#include "base/plural.h"
#include "cli/output.h"
#include "import/staging.h"

enum { REPORT_MAX = 64 * 1024 };

static int64_t older_readings(const struct import_summary *s)
{
    return s->rejected[REJECTION_STALE];
}

static int64_t rejected_readings(const struct import_summary *s)
{
    return import_rejected_readings(s) - older_readings(s);
}

static int64_t applied_readings(const struct import_summary *s)
{
    return s->readings - import_rejected_readings(s) - s->steps.unchanged;
}

static int64_t unchanged_lines(const struct import_summary *s)
{
    int64_t sum = s->steps.unchanged;
    for (int k = RECORD_AUTHOR; k <= RECORD_VIDEO; k++)
        sum += s->upserts[k].unchanged;
    return sum;
}

bool import_report_has_errors(const struct import_summary *s)
{
    return s->bad_lines || rejected_readings(s);
}

/* ---- text output ---- */

static int64_t went_viral(const struct import_summary *s)
{
    return s->steps.went_viral + s->finalized_viral;
}

/* Finalizing only looks at videos with a baseline. */
static int64_t viral_by_baseline(const struct import_summary *s)
{
    return s->steps.viral_by_baseline + s->finalized_viral;
}

static void append_upserts(struct buf *b, const char *name, const struct upsert_counts *c)
{
    buf_printf(b, "%-10s %lld new, %lld changed, %lld unchanged\n", name, (long long)c->created,
               (long long)c->changed, (long long)c->unchanged);
}

static void append_readings(struct buf *b, const struct import_summary *s)
{
    buf_printf(b, "%-10s %lld applied, %lld unchanged, %lld older, %lld rejected\n", "readings",
               (long long)applied_readings(s), (long long)s->steps.unchanged, (long long)older_readings(s),
               (long long)rejected_readings(s));
    for (int i = 0; i < REJECTION_KINDS; i++) {
        const struct str text = rejection_text((enum rejection)i);
        if (s->rejected[i] && i != REJECTION_STALE)
            buf_printf(b, "%-10s   %lld: %.*s\n", "", (long long)s->rejected[i], (int)text.len, text.p);
    }
}

static void append_text(struct buf *b, const struct import_summary *s, const char *const *files, bool dry_run)
{
    if (dry_run)
        buf_append(b, STR("Dry run: nothing was changed. The import would do this:\n"));
    if (s->exports || s->rejected_exports)
        buf_printf(b, "%-10s %lld imported, %lld rejected\n", "exports", (long long)s->exports,
                   (long long)s->rejected_exports);
    append_upserts(b, "authors", &s->upserts[RECORD_AUTHOR]);
    append_upserts(b, "books", &s->upserts[RECORD_BOOK]);
    append_upserts(b, "videos", &s->upserts[RECORD_VIDEO]);
    append_readings(b, s);
    buf_printf(b, "%-10s %lld gained, %lld as baseline\n", "views", (long long)s->steps.gained,
               (long long)s->steps.baseline);
    buf_printf(b, "%-10s %lld went viral, %lld of them by their baseline\n", "viral",
               (long long)went_viral(s), (long long)viral_by_baseline(s));
    if (s->finalizing_left)
        buf_printf(b, "%-10s   the other import that is running finalizes the remaining videos\n", "");
    buf_printf(b, "%-10s %lld viral, %lld milestone%s\n", "events", (long long)s->steps.viral_events,
               (long long)s->steps.milestone_events, plural(s->steps.milestone_events, "", "s"));
    if (s->unknown_field_lines)
        buf_printf(b, "%-10s ignored in %lld line%s, first in %s:%lld: %s\n", "fields",
                   (long long)s->unknown_field_lines, plural(s->unknown_field_lines, "", "s"),
                   files[input_line_file(s->first_unknown_line)],
                   (long long)input_line_number(s->first_unknown_line), s->first_unknown_field);
    buf_printf(b, "%-10s %lld read, %lld unchanged, %lld older, %lld rejected\n", "lines",
               (long long)s->lines, (long long)unchanged_lines(s), (long long)older_readings(s),
               (long long)(s->bad_lines + rejected_readings(s)));
}

/* ---- JSON output ---- */

static void json_upserts(struct buf *b, struct str name, const struct upsert_counts *c)
{
    json_key(b, name);
    json_open(b, '{');
    JSON_I64(b, "new", c->created);
    JSON_I64(b, "changed", c->changed);
    JSON_I64(b, "unchanged", c->unchanged);
    json_close(b, '}');
}

static void json_readings(struct buf *b, const struct import_summary *s)
{
    JSON_KEY(b, "readings");
    json_open(b, '{');
    JSON_I64(b, "applied", applied_readings(s));
    JSON_I64(b, "unchanged", s->steps.unchanged);
    JSON_I64(b, "older", older_readings(s));
    JSON_I64(b, "rejected", rejected_readings(s));
    json_close(b, '}');
}

static void json_lines(struct buf *b, const struct import_summary *s)
{
    JSON_KEY(b, "lines");
    json_open(b, '{');
    JSON_I64(b, "read", s->lines);
    JSON_I64(b, "unchanged", unchanged_lines(s));
    JSON_I64(b, "older", older_readings(s));
    JSON_I64(b, "rejected", s->bad_lines + rejected_readings(s));
    JSON_I64(b, "with_unknown_fields", s->unknown_field_lines);
    json_close(b, '}');
}

static void append_json(struct buf *b, const struct import_summary *s, bool dry_run)
{
    json_open(b, '{');
    JSON_BOOL(b, "dry_run", dry_run);
    JSON_KEY(b, "exports");
    json_open(b, '{');
    JSON_I64(b, "imported", s->exports);
    JSON_I64(b, "rejected", s->rejected_exports);
    json_close(b, '}');
    json_upserts(b, STR("authors"), &s->upserts[RECORD_AUTHOR]);
    json_upserts(b, STR("books"), &s->upserts[RECORD_BOOK]);
    json_upserts(b, STR("videos"), &s->upserts[RECORD_VIDEO]);
    json_readings(b, s);
    JSON_I64(b, "views_gained", s->steps.gained);
    JSON_I64(b, "views_as_baseline", s->steps.baseline);
    JSON_I64(b, "went_viral", went_viral(s));
    JSON_I64(b, "went_viral_by_baseline", viral_by_baseline(s));
    JSON_I64(b, "viral_events", s->steps.viral_events);
    JSON_I64(b, "milestone_events", s->steps.milestone_events);
    json_lines(b, s);
    json_close(b, '}');
    buf_append_char(b, '\n');
}

enum cli_exit import_report_print(const struct import_summary *summary, const char *const *files,
                                  bool dry_run, bool is_json)
{
    struct buf out;
    buf_init(&out, REPORT_MAX);
    if (is_json)
        append_json(&out, summary, dry_run);
    else
        append_text(&out, summary, files, dry_run);
    return cli_print(&out);
}
