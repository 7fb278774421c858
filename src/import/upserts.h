/* Upserts authors, books and videos from import lines. An upsert inserts the row or changes the fields that
 * the line contains. A rejected line changes nothing. */
#ifndef VT_IMPORT_UPSERTS_H
#define VT_IMPORT_UPSERTS_H

#include "base/arena.h"
#include "import/record.h"
#include "rules/rule_settings.h"
#include "store/write.h"

struct upsert_counts {
    int64_t created, changed, unchanged;
};

enum { COMPARISONS_CACHED = 256 };

struct upserts {
    struct store *store;
    struct step_rules rules;
    int64_t now;            /* creation time of new rows */
    const struct actor *by; /* for the audit log; borrowed */
    struct arena arena;
    struct upsert_counts counts[RECORD_KINDS]; /* by enum record_kind */
    int64_t touched_author; /* the author whose revision was incremented last in this transaction */
    struct {
        int64_t author_row;
        struct viral_comparison viral;
    } comparisons[COMPARISONS_CACHED]; /* comparisons for new videos, cached for one transaction */
};

void upserts_init(struct upserts *u, struct store *store, const struct step_rules *rules, int64_t now_ms,
                  const struct actor *by);
void upserts_fini(struct upserts *u);

/* Clears the cached data. Call at the start of each transaction. */
void upserts_begin(struct upserts *u);

/* Applies one author, book or video in the open transaction. If the line is rejected, returns OK and sets
 * `*reason`, which is valid until the next call. Otherwise reason->p is NULL. */
MUST_USE enum err upserts_apply(struct upserts *u, const struct record *record, struct str *reason);

#endif
