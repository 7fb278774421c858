/* Delays statements. The index of the failed command in a batch shows which delayed statement has failed. */
#include "store/pg/pg_later.h"

#include "base/check.h"

void pg_later_init(struct pg_later *l)
{
    l->count = 0;
    l->failed = NULL;
    pg_bulk_init(&l->bulk);
}

void pg_later_fini(struct pg_later *l)
{
    pg_bulk_fini(&l->bulk);
}

void pg_later_clear(struct pg_later *l)
{
    l->count = 0;
    l->failed = NULL;
    pg_bulk_clear(&l->bulk);
}

/* One place stays free for the statement that saves the collected rows (pg_bulk.h). */
bool pg_later_is_full(const struct pg_later *l)
{
    return l->count >= PG_LATER_MAX - 1;
}

static void append(struct pg_later *l, struct pg_session *s, enum query query, const char *name,
                   const struct pg_params *params)
{
    CHECK(l->count < PG_LATER_MAX);
    pg_session_add(s, name, NULL, params);
    l->queries[l->count++] = query;
}

void pg_later_add(struct pg_later *l, struct pg_session *s, enum query query, const struct pg_params *params)
{
    CHECK(!pg_later_is_full(l));
    append(l, s, query, sql_queries[query].name, params);
}

void pg_later_append_bulk(struct pg_later *l, struct pg_session *s)
{
    struct pg_params params;
    if (!l->bulk.count)
        return;
    pg_bulk_take(&l->bulk, &params);
    append(l, s, QUERY_SAVE_COUNTS, pg_bulk_name, &params);
    pg_params_fini(&params);
}

enum err pg_later_end_batch(struct pg_later *l, const struct pg_session *s, enum err err)
{
    const bool is_later = err && pg_session_is_open(s) && s->has_error && s->failed_at < l->count;
    l->failed = is_later ? sql_queries[l->queries[s->failed_at]].name : NULL;
    l->count = 0;
    return is_later && (err == ERR_EXISTS || err == ERR_INVALID) ? ERR_INTERNAL : err;
}
