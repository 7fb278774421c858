/* Exports in the input of an import: stages their lines, then applies each export in one transaction, so that
 * an export with a bad line changes nothing. */
#include "base/check.h"
#include "import/export_apply.h"
#include "import/import_batch.h"

#include <stdio.h>

enum { PROGRESS_LINES = 1000 };

static void reject_export(struct import *im, uint64_t line, struct str reason)
{
    im->summary->rejected_exports++;
    import_report_bad_line(im, line, reason);
}

/* ---- staging the lines of exports ---- */

static void abandon(struct import *im)
{
    const bool is_reported = im->sections.is_broken;
    export_section_abandon(&im->sections);
    if (!is_reported)
        reject_export(
            im, im->sections.open.first_line,
            STR("the last line of this export, {\"type\":\"end\",…}, is missing, so nothing of it was "
                "imported: was the file truncated?"));
}

static void begin(struct import *im, uint64_t input_line)
{
    if (im->sections.is_open)
        abandon(im);
    export_section_begin(&im->sections, input_line);
    if (im->options->accepts_exports)
        return;
    im->sections.is_broken = true;
    reject_export(
        im, input_line,
        STR("an export of an author cannot be imported here: import the file with viewtally import"));
}

bool import_stage_export_line(struct import *im, uint64_t input_line, struct str line, enum err *err)
{
    *err = OK;
    if (export_section_is_first_line(line))
        begin(im, input_line);
    if (!im->sections.is_open)
        return false;
    im->summary->lines++;
    *err = export_section_add(&im->sections, input_line, line);
    if (*err)
        *err = import_fail_temp(im, *err);
    return true;
}

void import_break_export(struct import *im)
{
    if (im->sections.is_open && !im->sections.is_broken) {
        im->sections.is_broken = true;
        im->summary->rejected_exports++;
    }
}

void import_end_file(struct import *im)
{
    if (im->sections.is_open)
        abandon(im);
}

/* ---- applying staged exports ---- */

/* Rejects the export, because another author has an event with the same id. Reports the line of this
 * event. */
static enum err reject_shared_id(struct import *im, const struct export_section *section, int64_t id)
{
    struct staged_line_reader reader;
    char begin[64], reason[256];
    uint64_t input_line = section->first_line;
    struct str line;
    bool has = true, found = false;
    (void)snprintf(begin, sizeof begin, "{\"type\":\"event\",\"id\":\"evt_%lld\"", (long long)id);
    (void)snprintf(reason, sizeof reason,
                   "another author of this database has an event with the id evt_%lld: import with "
                   "--new-event-ids (clients then receive the author's events once more)",
                   (long long)id);
    enum err err = export_section_open_reader(&im->sections, section, &reader);
    while (!err && has && !found) {
        err = staged_line_next(&reader, &input_line, &line, &has);
        found = !err && has && str_starts_with(line, str_from_cstr(begin));
    }
    staged_line_reader_close(&reader);
    if (err)
        return import_fail_temp(im, err);
    reject_export(im, found ? input_line : section->first_line, str_from_cstr(reason));
    return OK;
}

static enum err finish(struct import *im, struct export_apply *apply, const struct export_section *section,
                       uint64_t last_line, bool *rejected)
{
    struct str reason;
    int64_t shared_id;
    enum err err = export_apply_finish(apply, &reason, &shared_id);
    if (err)
        return import_fail_store(im, err);
    *rejected = reason.p || shared_id;
    if (reason.p)
        reject_export(im, last_line, reason);
    return shared_id ? reject_shared_id(im, section, shared_id) : OK;
}

/* Applies the lines in the open transaction. Sets `*rejected` after reporting the first bad line. */
static enum err apply_lines(struct import *im, struct export_apply *apply,
                            const struct export_section *section, struct staged_line_reader *reader,
                            bool *rejected)
{
    uint64_t input_line = section->first_line;
    struct str line, reason;
    bool has = true;
    enum err err = OK;
    export_apply_begin(apply);
    while (!err && !*rejected) {
        err = staged_line_next(reader, &input_line, &line, &has);
        if (err)
            return import_fail_temp(im, err);
        if (!has)
            return finish(im, apply, section, input_line, rejected);
        err = export_apply_line(apply, line, &reason);
        if (err)
            return import_fail_store(im, err);
        *rejected = reason.p != NULL;
        if (*rejected)
            reject_export(im, input_line, reason);
        if (export_apply_summary(apply)->lines % PROGRESS_LINES == 0)
            import_show_progress(im, IMPORT_ENTITIES, export_apply_summary(apply)->lines, 0);
    }
    return err;
}

static void count_export(struct import_summary *to, const struct export_summary *export)
{
    to->exports++;
    to->upserts[RECORD_AUTHOR].created++;
    to->upserts[RECORD_BOOK].created += export->books;
    to->upserts[RECORD_VIDEO].created += export->videos;
}

static enum err apply_section(struct import *im, struct export_apply *apply,
                              const struct export_section *section)
{
    struct staged_line_reader reader;
    bool rejected = false;
    enum err err = export_section_open_reader(&im->sections, section, &reader);
    if (err)
        return import_fail_temp(im, err);
    err = import_batch_begin(im);
    if (!err) {
        err = apply_lines(im, apply, section, &reader, &rejected);
        if (rejected)
            transaction_rollback(&im->scope);
        else
            err = import_batch_end(im, err);
    }
    staged_line_reader_close(&reader);
    if (!err && !rejected)
        count_export(im->summary, export_apply_summary(apply));
    return err;
}

enum err import_apply_exports(struct import *im)
{
    const struct export_apply_options options = {.store = im->store,
                                                 .now = im->now,
                                                 .by = &im->options->by,
                                                 .allows_erased = im->options->allows_erased,
                                                 .new_event_ids = im->options->new_event_ids};
    enum err err = OK;
    if (!im->sections.complete.count)
        return OK;
    struct export_apply *apply = export_apply_new(&options);
    for (size_t i = 0; i < im->sections.complete.count && !err; i++)
        err = apply_section(im, apply, &im->sections.complete.items[i]);
    export_apply_free(apply);
    return err;
}
