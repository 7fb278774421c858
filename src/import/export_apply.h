/* Writes the author of an export to a database that lacks the author. Call export_apply_begin(), then
 * export_apply_line() for each line, then export_apply_finish(), all in one transaction. Roll back the
 * transaction if a call returns an error, sets the reason why the export is rejected, or sets the id of an
 * event that another author has, too. */
#ifndef VT_IMPORT_EXPORT_APPLY_H
#define VT_IMPORT_EXPORT_APPLY_H

#include "import/author_export.h"
#include "import/export_record.h"

struct export_apply;

struct export_apply_options {
    struct store *store;
    int64_t now;            /* wall-clock time */
    const struct actor *by; /* for the audit log; borrowed */
    bool allows_erased;     /* also accept an author that was erased */
    bool new_event_ids;     /* give the events new ids */
};

struct export_apply *export_apply_new(const struct export_apply_options *options);
void export_apply_free(struct export_apply *a);

/* Begins an export. One struct can apply several exports, one after another. */
void export_apply_begin(struct export_apply *a);

/* Applies the next line. If the line is rejected, returns OK and sets `*reason`, which is valid until the
 * next call. Otherwise reason->p is NULL. */
MUST_USE enum err export_apply_line(struct export_apply *a, struct str line, struct str *reason);

/* Compares the database with the export. Precondition: the last line has been applied. If an event id also
 * belongs to another author, sets `*shared_event_id` to this id, otherwise to 0. If an export of the written
 * rows would differ, sets `*reason`, otherwise reason->p is NULL. With options.new_event_ids, compares
 * nothing, because the written events differ from the export. */
MUST_USE enum err export_apply_finish(struct export_apply *a, struct str *reason, int64_t *shared_event_id);

/* Returns the numbers of lines, books and so on that have been applied. */
const struct export_summary *export_apply_summary(const struct export_apply *a);

#endif
