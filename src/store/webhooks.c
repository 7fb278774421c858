/* Implements webhooks.h with the tables webhook_endpoints, webhook_attempts, webhook_requests and apps. */
#include "store/webhooks.h"

#include "store/handle.h"
#include "store/row_read.h"
#include "store/rows.h"

#include <string.h>

/* Reads the columns of SQL_WEBHOOK from a result row. */
static bool row_webhook(struct sql_statement *q, struct webhook_endpoint *out)
{
    const int64_t state = sql_i64(q, 10);
    *out = (struct webhook_endpoint){
        .row = sql_i64(q, 0),
        .author_row = sql_i64(q, 2),
        .app_row = sql_i64_or(q, 3, 0),
        .url = sql_text(q, 4),
        .types = sql_i64(q, 5),
        .secret = sql_text(q, 6),
        .old_secret = sql_text(q, 7),
        .old_secret_until = sql_i64_or(q, 8, TIME_NONE),
        .created_at = sql_i64(q, 9),
        .state = (enum webhook_state)state,
        .state_at = sql_i64(q, 11),
        .position = sql_i64(q, 12),
        .failures = sql_i64(q, 13),
        .next_attempt_at = sql_i64_or(q, 14, TIME_NONE),
        .attempts = sql_i64(q, 15),
        .plan_active = sql_i64(q, 17) != 0,
        .last_event_id = sql_i64(q, 18),
        .app_name = sql_text(q, 19),
        .app_client_id = sql_text(q, 20),
        .is_connected = sql_i64(q, 21) != 0,
    };
    return state >= WEBHOOK_ACTIVE && state <= WEBHOOK_GONE && sql_bytes(q, 1, out->id.b, sizeof out->id.b) &&
           sql_bytes(q, 16, out->author_id.b, sizeof out->author_id.b);
}

static void copy_texts(struct arena *a, struct webhook_endpoint *e)
{
    e->url = row_copy_text(a, e->url);
    e->secret = row_copy_text(a, e->secret);
    e->old_secret = row_copy_text(a, e->old_secret);
    e->app_name = row_copy_text(a, e->app_name);
    e->app_client_id = row_copy_text(a, e->app_client_id);
}

/* Runs a statement that returns at most one endpoint. */
static enum err read_one(struct store *s, struct sql_statement *q, struct arena *a,
                         struct webhook_endpoint *out)
{
    enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    if (row_webhook(q, out))
        copy_texts(a, out);
    else
        err = sql_report_damage(s->sql, "webhook");
    sql_reset(q);
    return err;
}

struct webhooks_read {
    store_webhook_fn fn;
    void *ctx;
};

static bool on_webhook_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct webhooks_read *r = ctx;
    struct webhook_endpoint endpoint;
    if (row_webhook(q, &endpoint))
        return r->fn(r->ctx, &endpoint);
    *err = sql_report_damage(s->sql, "webhook");
    return false;
}

static const struct row_reader list_reader = {.row = on_webhook_row};

static enum err read_list(struct store *s, struct sql_statement *q, store_webhook_fn fn, void *ctx)
{
    struct webhooks_read r = {.fn = fn, .ctx = ctx};
    return row_read_pass(s, s->sql, q, &list_reader, &r);
}

/* --- endpoints --- */

enum err store_insert_webhook(struct store *s, struct webhook_endpoint *e)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOK_INSERT);
    sql_bind_uuid(q, 1, &e->id);
    sql_bind_i64(q, 2, e->author_row);
    sql_bind_i64_or_null(q, 3, e->app_row, 0);
    sql_bind_text(q, 4, e->url);
    sql_bind_i64(q, 5, e->types);
    sql_bind_bytes(q, 6, e->secret);
    sql_bind_i64(q, 7, e->created_at);
    sql_bind_i64(q, 8, e->position);
    return sql_insert(s->sql, q, &e->row);
}

static enum err run_for_row(struct store *s, enum query query, int64_t row)
{
    struct sql_statement *q = sql_use(s->sql, query);
    sql_bind_i64(q, 1, row);
    return sql_write(s->sql, q);
}

enum err store_delete_webhook(struct store *s, int64_t row)
{
    enum err err = run_for_row(s, QUERY_WEBHOOK_REQUESTS_DELETE, row);
    if (!err)
        err = run_for_row(s, QUERY_WEBHOOK_ATTEMPTS_DELETE, row);
    return err ? err : run_for_row(s, QUERY_WEBHOOK_DELETE, row);
}

static struct str origin_of(struct str url)
{
    static const char SCHEME[] = "https://";
    size_t len = sizeof SCHEME - 1;
    while (len < url.len && !memchr("/?#", url.p[len], 3))
        len++;
    return str_make(url.p, len < url.len ? len : url.len);
}

enum err store_note_webhook(struct store *s, const struct webhook_endpoint *e, int64_t at,
                            enum audit_action action, const struct actor *by)
{
    char id[UUID_TEXT_LEN];
    uuid_format(&e->id, id);
    const struct audit_note note = {.author_row = e->author_row,
                                    .at = at,
                                    .action = action,
                                    .subject = str_make(id, sizeof id),
                                    .details = origin_of(e->url)};
    return store_insert_audit(s, &note, by);
}

enum err store_find_app_webhook(struct store *s, struct arena *a, int64_t app_row, int64_t author_row,
                                struct webhook_endpoint *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOK_OF_APP);
    sql_bind_i64(q, 1, app_row);
    sql_bind_i64(q, 2, author_row);
    return read_one(s, q, a, out);
}

enum err store_find_webhook(struct store *s, struct arena *a, const struct uuid *id,
                            struct webhook_endpoint *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOK_BY_UUID);
    sql_bind_uuid(q, 1, id);
    return read_one(s, q, a, out);
}

enum err store_get_webhook(struct store *s, struct arena *a, int64_t row, struct webhook_endpoint *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOK_BY_ROW);
    sql_bind_i64(q, 1, row);
    return read_one(s, q, a, out);
}

enum err store_list_webhooks(struct store *s, int64_t after, int limit, store_webhook_fn fn, void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOKS);
    sql_bind_i64(q, 1, after);
    sql_bind_i64(q, 2, limit);
    return read_list(s, q, fn, ctx);
}

enum err store_list_due_webhooks(struct store *s, int64_t after, int64_t now, int limit, store_webhook_fn fn,
                                 void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOKS_DUE);
    sql_bind_i64(q, 1, after);
    sql_bind_i64(q, 2, now);
    sql_bind_i64(q, 3, limit);
    return read_list(s, q, fn, ctx);
}

enum err store_next_webhook_attempt(struct store *s, int64_t now, int64_t *at)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOK_NEXT_ATTEMPT);
    sql_bind_i64(q, 1, now);
    const enum err err = sql_one_i64(s->sql, q, at);
    if (err == ERR_NOT_FOUND)
        *at = INT64_MAX;
    return err == ERR_NOT_FOUND ? OK : err;
}

enum next store_read_webhooks(struct store_read *read, int64_t author_row, int limit, store_webhook_fn fn,
                              void *ctx)
{
    struct webhooks_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = row_read_use(read, QUERY_WEBHOOKS_OF_AUTHOR);
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, limit);
    return row_read_run(read, q, &list_reader, &r, sizeof r);
}

struct webhook_read {
    struct arena *arena;
    int64_t author_row;
    struct webhook_endpoint *out;
};

static bool on_webhook_of_author(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct webhook_read *r = ctx;
    if (!row_webhook(q, r->out))
        *err = sql_report_damage(s->sql, "webhook");
    else if (r->out->author_row != r->author_row)
        *err = ERR_NOT_FOUND;
    copy_texts(r->arena, r->out);
    return false;
}

enum next store_read_webhook(struct store_read *read, struct arena *a, int64_t author_row,
                             const struct uuid *id, struct webhook_endpoint *out)
{
    static const struct row_reader reader = {.row = on_webhook_of_author, .needs_row = true};
    struct webhook_read r = {.arena = a, .author_row = author_row, .out = out};
    struct sql_statement *q = row_read_use(read, QUERY_WEBHOOK_BY_UUID);
    sql_bind_uuid(q, 1, id);
    return row_read_run(read, q, &reader, &r, sizeof r);
}

enum err store_count_webhooks(struct store *s, int64_t author_row, int64_t *count)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOK_COUNT);
    sql_bind_i64(q, 1, author_row);
    return sql_one_i64(s->sql, q, count);
}

enum err store_save_webhook(struct store *s, const struct webhook_endpoint *e)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOK_SAVE);
    sql_bind_i64(q, 1, e->row);
    sql_bind_i64(q, 2, e->state);
    sql_bind_i64(q, 3, e->state_at);
    sql_bind_i64(q, 4, e->position);
    sql_bind_i64(q, 5, e->failures);
    sql_bind_i64_or_null(q, 6, e->next_attempt_at, TIME_NONE);
    sql_bind_i64(q, 7, e->attempts);
    return sql_update(s->sql, q);
}

static enum err write_secrets(struct store *s, enum query query, int64_t row, struct str secret,
                              struct str old_secret, int64_t old_secret_until)
{
    struct sql_statement *q = sql_use(s->sql, query);
    sql_bind_i64(q, 1, row);
    sql_bind_bytes(q, 2, secret);
    sql_bind_bytes(q, 3, old_secret);
    sql_bind_i64_or_null(q, 4, old_secret_until, TIME_NONE);
    return sql_update(s->sql, q);
}

enum err store_set_webhook_secret(struct store *s, int64_t row, struct str secret, struct str old_secret,
                                  int64_t old_secret_until)
{
    return write_secrets(s, QUERY_WEBHOOK_SET_SECRET, row, secret, old_secret, old_secret_until);
}

/* --- webhooks of apps --- */

enum err store_set_app_webhook(struct store *s, int64_t app_row, const struct app_webhook *w)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_APP_SET_WEBHOOK);
    sql_bind_i64(q, 1, app_row);
    sql_bind_bytes(q, 2, w->secret);
    sql_bind_bytes(q, 3, w->old_secret);
    sql_bind_i64_or_null(q, 4, w->old_secret_until, TIME_NONE);
    sql_bind_text(q, 5, w->url);
    return sql_update(s->sql, q);
}

enum err store_get_app_webhook(struct store *s, struct arena *a, int64_t app_row, struct app_webhook *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_APP_WEBHOOK);
    sql_bind_i64(q, 1, app_row);
    const enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    *out = (struct app_webhook){.url = row_copy_text(a, sql_text(q, 0)),
                                .secret = row_copy_text(a, sql_text(q, 1)),
                                .old_secret = row_copy_text(a, sql_text(q, 2)),
                                .old_secret_until = sql_i64_or(q, 3, TIME_NONE)};
    sql_reset(q);
    return OK;
}

/* --- sealed secrets --- */

enum err store_list_webhook_secrets(struct store *s, bool of_apps, int64_t after, int limit,
                                    store_webhook_secrets_fn fn, void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, of_apps ? QUERY_APP_SECRETS : QUERY_WEBHOOK_SECRETS);
    enum err err = OK;
    sql_bind_i64(q, 1, after);
    sql_bind_i64(q, 2, limit);
    while (sql_row(s->sql, q, &err)) {
        const struct webhook_secrets secrets = {.row = sql_i64(q, 0),
                                                .of_app = of_apps,
                                                .author_row = sql_i64(q, 1),
                                                .name = sql_text(q, 2),
                                                .secret = sql_text(q, 3),
                                                .old_secret = sql_text(q, 4)};
        if (fn(ctx, &secrets))
            continue;
        sql_reset(q);
        break;
    }
    return err;
}

enum err store_reseal_webhook(struct store *s, const struct webhook_secrets *w)
{
    struct sql_statement *q = sql_use(s->sql, w->of_app ? QUERY_APP_RESEAL : QUERY_WEBHOOK_RESEAL);
    sql_bind_i64(q, 1, w->row);
    sql_bind_bytes(q, 2, w->secret);
    sql_bind_bytes(q, 3, w->old_secret);
    return sql_update(s->sql, q);
}

/* --- attempts to deliver --- */

enum err store_insert_webhook_attempt(struct store *s, int64_t endpoint_row, const struct webhook_attempt *a)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOK_ATTEMPT_INSERT);
    sql_bind_i64(q, 1, endpoint_row);
    sql_bind_i64(q, 2, a->number);
    sql_bind_i64(q, 3, a->event_id);
    sql_bind_i64(q, 4, a->at);
    sql_bind_i64(q, 5, a->took_ms);
    sql_bind_i64(q, 6, a->status);
    sql_bind_text(q, 7, a->error);
    sql_bind_i64(q, 8, a->is_manual);
    const enum err err = sql_write(s->sql, q);
    if (err)
        return err;
    q = sql_use(s->sql, QUERY_WEBHOOK_ATTEMPTS_PRUNE);
    sql_bind_i64(q, 1, endpoint_row);
    sql_bind_i64(q, 2, a->number - WEBHOOK_ATTEMPTS_KEPT);
    return sql_write(s->sql, q);
}

struct attempts_read {
    store_webhook_attempt_fn fn;
    void *ctx;
};

static bool on_attempt_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct attempts_read *r = ctx;
    const struct webhook_attempt attempt = {.number = sql_i64(q, 0),
                                            .event_id = sql_i64(q, 1),
                                            .at = sql_i64(q, 2),
                                            .took_ms = sql_i64(q, 3),
                                            .status = (int)sql_i64(q, 4),
                                            .error = sql_text(q, 5),
                                            .is_manual = sql_i64(q, 6) != 0};
    (void)s;
    (void)err;
    return r->fn(r->ctx, &attempt);
}

enum next store_read_webhook_attempts(struct store_read *read, int64_t endpoint_row, int limit,
                                      store_webhook_attempt_fn fn, void *ctx)
{
    static const struct row_reader reader = {.row = on_attempt_row};
    struct attempts_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = row_read_use(read, QUERY_WEBHOOK_ATTEMPTS);
    sql_bind_i64(q, 1, endpoint_row);
    sql_bind_i64(q, 2, limit);
    return row_read_run(read, q, &reader, &r, sizeof r);
}

/* --- requests to send one event --- */

/* The limit counts only requests for other events, so that requesting an event again never fails with
 * ERR_FULL. */
enum err store_request_webhook(struct store *s, int64_t endpoint_row, int64_t event_id, int64_t now)
{
    int64_t count;
    struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOK_REQUEST_COUNT);
    sql_bind_i64(q, 1, endpoint_row);
    sql_bind_i64(q, 2, event_id);
    const enum err err = sql_one_i64(s->sql, q, &count);
    if (err)
        return err;
    if (count >= WEBHOOK_REQUESTS_MAX)
        return ERR_FULL;
    q = sql_use(s->sql, QUERY_WEBHOOK_REQUEST_PUT);
    sql_bind_i64(q, 1, endpoint_row);
    sql_bind_i64(q, 2, event_id);
    sql_bind_i64(q, 3, now);
    return sql_write(s->sql, q);
}

enum err store_delete_webhook_request(struct store *s, int64_t endpoint_row, int64_t event_id)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOK_REQUEST_DELETE);
    sql_bind_i64(q, 1, endpoint_row);
    sql_bind_i64(q, 2, event_id);
    return sql_write(s->sql, q);
}

enum err store_list_webhook_requests(struct store *s, int64_t after, int limit, store_webhook_request_fn fn,
                                     void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOK_REQUESTS);
    enum err err = OK;
    sql_bind_i64(q, 1, after);
    sql_bind_i64(q, 2, limit);
    while (sql_row(s->sql, q, &err)) {
        if (fn(ctx, sql_i64(q, 0), sql_i64(q, 1)))
            continue;
        sql_reset(q);
        break;
    }
    return err;
}

/* --- counts for metrics --- */

enum err store_count_webhook_states(struct store *s, struct webhook_counts *out)
{
    *out = (struct webhook_counts){.failing = 0};
    for (int state = WEBHOOK_ACTIVE; state <= WEBHOOK_GONE; state++) {
        struct sql_statement *q = sql_use(s->sql, QUERY_WEBHOOKS_COUNT_STATE);
        sql_bind_i64(q, 1, state);
        const enum err err = sql_one(s->sql, q);
        if (err)
            return err;
        out->by_state[state] = sql_i64(q, 0);
        if (state == WEBHOOK_ACTIVE)
            out->failing = sql_i64(q, 1);
        sql_reset(q);
    }
    return OK;
}
