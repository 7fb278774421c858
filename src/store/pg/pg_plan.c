/* EXPLAIN (GENERIC_PLAN) exists only from PostgreSQL 16 on. So the statement is prepared and explained with
 * plan_cache_mode = force_generic_plan, which works with every supported version. */
#include "store/pg/pg_plan.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/log.h"
#include "pg/pg_link.h"
#include "store/pg/pg_translate.h"
#include "store/slow_query.h"

enum { TEXT_MAX = 64 * 1024 };

/* If a lock has made the statement slow, it may be held for minutes. The lock_timeout keeps EXPLAIN from
 * waiting for the same lock. */
#define SETTINGS                                                                                             \
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('lock_timeout', '100', "   \
    "true)"

/* Runs the statement in `text`, and empties `text`. Sets `*out` on OK. */
static enum err run(struct pg_sql *db, struct buf *text, const struct pg_result **out)
{
    struct pg_params none;
    pg_params_init(&none);
    buf_append_char(text, '\0');
    CHECK(!text->failed);
    const enum err err = pg_sql_read(db, "plan", text->p, &none, PG_ANSWER_MS, out);
    buf_reset(text, TEXT_MAX);
    return err;
}

static enum err run_without_result(struct pg_sql *db, struct buf *text)
{
    const struct pg_result *result = NULL;
    const enum err err = run(db, text, &result);
    pg_result_free(result);
    return err;
}

static void append_explain(struct buf *text, unsigned number, int param_count)
{
    buf_printf(text, "EXPLAIN EXECUTE vt_plan_%u", number);
    for (int i = 0; i < param_count; i++)
        buf_append(text, i ? STR(", NULL") : STR("(NULL"));
    if (param_count)
        buf_append_char(text, ')');
}

/* Prepared statements outlive a transaction that is rolled back. So each call uses another name: a failed
 * call may have left its statement prepared. */
static enum err explain(struct pg_sql *db, const struct pg_translated *t, struct buf *text,
                        const struct pg_result **plan)
{
    static _Atomic unsigned last_number;
    const unsigned number = ++last_number;
    buf_append(text, STR(SETTINGS));
    enum err err = run_without_result(db, text);
    if (err)
        return err;
    buf_printf(text, "PREPARE vt_plan_%u AS %s", number, t->text);
    err = run_without_result(db, text);
    if (err)
        return err;
    append_explain(text, number, t->param_count);
    err = run(db, text, plan);
    if (err)
        return err;
    buf_printf(text, "DEALLOCATE vt_plan_%u", number);
    return run_without_result(db, text);
}

static void log_plan(enum query query, const struct pg_result *plan)
{
    struct pg_row row = {.result = plan};
    log_warn("slow query: generic plan of %s:", sql_queries[query].name);
    for (; row.row < pg_result_rows(plan); row.row++) {
        const struct str line = pg_row_bytes(&row, 0);
        log_warn("slow query: | %.*s", (int)line.len, line.p);
    }
}

void pg_plan_log_slow(struct pg_sql *db)
{
    enum query query;
    const struct pg_result *plan = NULL;
    struct buf text;
    if (!slow_query_take_request(&query) || pg_sql_begin_snapshot(db))
        return;
    buf_init(&text, TEXT_MAX);
    /* pg_sql_read() logs an error. There is no second attempt, because the plan is not worth it. */
    if (!explain(db, pg_translate(query), &text, &plan))
        log_plan(query, plan);
    pg_sql_rollback(db);
    pg_result_free(plan);
    buf_fini(&text);
}
