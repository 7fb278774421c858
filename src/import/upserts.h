/* Upserts of authors, books and videos as import lines say them (decision 9). An upsert changes what it
 * names; a line with a fault changes nothing at all. */
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
    int64_t now; /* the import's: creation times and the line of new videos */
    struct arena arena;
    struct upsert_counts counts[RECORD_KINDS]; /* by enum record_kind */
    int64_t touched_author;                    /* whose revision was raised last in this transaction */
    struct {
        int64_t author_row;
        struct viral_comparison viral;
    } comparisons[COMPARISONS_CACHED]; /* of new videos; a cache for one transaction */
};

void upserts_init(struct upserts *e, struct store *store, const struct step_rules *rules, int64_t now_ms);
void upserts_fini(struct upserts *e);

/* After each store_begin(): what was known of the database may be old. */
void upserts_begin(struct upserts *e);

/* Applies one author, book or video in the open transaction. `refused->p` is NULL, or the line was refused
 * and
 * `*refused` says why (until the next call). */
MUST_USE enum err upserts_apply(struct upserts *e, const struct record *record, struct str *refused);

#endif
