/* Writes, lists and purges the entries of the audit log. */
#include "store/audit.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/expiry_floor.h"
#include "store/handle.h"
#include "store/row_read.h"
#include "store/rows.h"

#include <string.h>

enum { PURGED_AT_ONCE = 100 };

static const char *const actor_names[ACTOR_KINDS] = {
    [ACTOR_OPERATOR] = "operator", [ACTOR_AUTHOR] = "author",   [ACTOR_APP] = "app",
    [ACTOR_KEY] = "key",           [ACTOR_REFRESH] = "refresh",
};

const char *audit_action_name(enum audit_action action)
{
    static const char *const names[AUDIT_ACTIONS] = {
        [AUDIT_KEY_CREATED] = "key.created",
        [AUDIT_KEY_FIRST_USED] = "key.first_used",
        [AUDIT_KEY_REVOKED] = "key.revoked",
        [AUDIT_APP_CONNECTED] = "app.connected",
        [AUDIT_APP_DISCONNECTED] = "app.disconnected",
        [AUDIT_SIGNED_IN] = "author.signed_in",
        [AUDIT_PASSWORD_SET] = "author.password_set",
        [AUDIT_PLAN_CHANGED] = "plan.changed",
        [AUDIT_VIDEO_REMOVED] = "video.removed",
        [AUDIT_BOOK_REMOVED] = "book.removed",
        [AUDIT_READING_CORRECTED] = "reading.corrected",
        [AUDIT_WEBHOOK_CREATED] = "webhook.created",
        [AUDIT_WEBHOOK_PAUSED] = "webhook.paused",
        [AUDIT_WEBHOOK_RESUMED] = "webhook.resumed",
        [AUDIT_WEBHOOK_SECRET_ROTATED] = "webhook.secret_rotated",
        [AUDIT_WEBHOOK_URL_CHANGED] = "webhook.url_changed",
        [AUDIT_WEBHOOK_DELETED] = "webhook.deleted",
        [AUDIT_AUTHOR_EXPORTED] = "author.exported",
        [AUDIT_AUTHOR_IMPORTED] = "author.imported",
    };
    return names[action];
}

/* Copies the text and truncates it to `size` bytes. Truncates before continuation bytes, so that no UTF-8
 * sequence is cut. */
static void copy_cut(char *to, size_t size, struct str text)
{
    size_t len = text.len < size ? text.len : size - 1;
    while (len && len < text.len && ((unsigned char)text.p[len] & 0xC0) == 0x80)
        len--;
    if (len)
        memcpy(to, text.p, len);
    to[len] = '\0';
}

struct actor actor_make(enum actor_kind kind, struct str name, struct str address)
{
    struct actor actor = {.kind = kind};
    copy_cut(actor.name, sizeof actor.name, name);
    copy_cut(actor.address, sizeof actor.address, address);
    return actor;
}

static struct str text_or_none(const char *text)
{
    return *text ? str_from_cstr(text) : (struct str){NULL, 0};
}

/* --- writing and pruning entries --- */

/* Finds old entries by their time, and deletes each by its key, which begins with the author. */
static enum err purge(struct store *s, int64_t before)
{
    struct {
        int64_t author_row, id;
    } old[PURGED_AT_ONCE];
    size_t count = 0;
    enum err err;
    struct sql_statement *q = sql_use(s->sql, QUERY_AUDIT_OLD);
    sql_bind_i64(q, 1, before);
    sql_bind_i64(q, 2, PURGED_AT_ONCE);
    while (sql_row(s->sql, q, &err)) {
        CHECK(count < PURGED_AT_ONCE);
        old[count].author_row = sql_i64(q, 0);
        old[count++].id = sql_i64(q, 1);
    }
    for (size_t i = 0; !err && i < count; i++) {
        q = sql_use(s->sql, QUERY_AUDIT_DELETE);
        sql_bind_i64(q, 1, old[i].author_row);
        sql_bind_i64(q, 2, old[i].id);
        err = sql_write(s->sql, q);
    }
    return err;
}

/* Returns true for sign-ins, new passwords, exports and changes of webhooks, which a client can repeat
 * without limit. The actions on keys are limited by the number of keys (author_keys.h). */
static bool is_limited_per_day(enum audit_action action)
{
    static const bool limited[AUDIT_ACTIONS] = {
        [AUDIT_SIGNED_IN] = true,           [AUDIT_PASSWORD_SET] = true,
        [AUDIT_WEBHOOK_CREATED] = true,     [AUDIT_WEBHOOK_PAUSED] = true,
        [AUDIT_WEBHOOK_RESUMED] = true,     [AUDIT_WEBHOOK_SECRET_ROTATED] = true,
        [AUDIT_WEBHOOK_URL_CHANGED] = true, [AUDIT_WEBHOOK_DELETED] = true,
        [AUDIT_AUTHOR_EXPORTED] = true,
    };
    return limited[action];
}

/* Sets `*is_over` to whether the entry exceeds AUDIT_REPEATS_A_DAY. Without this limit, a client that has the
 * author's password could fill the database. */
static enum err is_over_limit(struct store *s, const struct audit_note *note, bool *is_over)
{
    int64_t count;
    *is_over = false;
    if (!is_limited_per_day(note->action))
        return OK;
    const int32_t day = date_of(note->at);
    struct sql_statement *q = sql_use(s->sql, QUERY_AUDIT_COUNT_OF_DAY);
    sql_bind_i64(q, 1, note->author_row);
    sql_bind_i64(q, 2, date_start_ms(day));
    sql_bind_i64(q, 3, date_start_ms(day + 1));
    sql_bind_text(q, 4, str_from_cstr(audit_action_name(note->action)));
    enum err err = sql_one_i64(s->sql, q, &count);
    *is_over = !err && count >= AUDIT_REPEATS_A_DAY;
    return err;
}

/* Returns the time before which entries are deleted. A wall clock that is far ahead must not delete entries,
 * so this is a year before the expiry floor, or before `now` if that is earlier. */
static int64_t oldest_kept(int64_t now)
{
    const int64_t floor = expiry_floor_ms();
    return (floor < now ? floor : now) - AUDIT_DAYS * (int64_t)DAY_MS;
}

enum err store_insert_audit(struct store *s, const struct audit_note *note, const struct actor *by)
{
    bool is_over;
    enum err err = is_over_limit(s, note, &is_over);
    if (err || is_over)
        return err;
    struct sql_statement *q = sql_use(s->sql, QUERY_AUDIT_INSERT);
    sql_bind_i64(q, 1, note->author_row);
    sql_bind_i64(q, 2, note->at);
    sql_bind_text(q, 3, str_from_cstr(audit_action_name(note->action)));
    sql_bind_text(q, 4, str_from_cstr(actor_names[by->kind]));
    sql_bind_text(q, 5, text_or_none(by->name));
    sql_bind_text(q, 6, text_or_none(by->address));
    sql_bind_text(q, 7, note->subject);
    sql_bind_text(q, 8, note->details);
    err = sql_write(s->sql, q);
    return err ? err : purge(s, oldest_kept(note->at));
}

/* --- reading entries --- */

struct audit_read {
    store_audit_fn fn;
    void *ctx;
};

static bool on_audit_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct audit_read *r = ctx;
    struct audit_entry entry = {
        .id = sql_i64(q, 1),
        .at = sql_i64(q, 2),
        .action = sql_text(q, 3),
        .actor = sql_text(q, 4),
        .actor_name = sql_text(q, 5),
        .address = sql_text(q, 6),
        .subject = sql_text(q, 7),
        .details = sql_text(q, 8),
    };
    if (sql_bytes(q, 9, entry.author.b, sizeof entry.author.b))
        return r->fn(r->ctx, &entry);
    *err = sql_report_damage(s->sql, "audit");
    return false;
}

static const struct row_reader audit_reader = {.row = on_audit_row};

static void bind_list(struct sql_statement *q, int64_t author_row, int64_t since, int limit)
{
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, since);
    sql_bind_i64(q, 3, limit);
}

enum err store_list_audit(struct store *s, int64_t author_row, int64_t since, int limit, store_audit_fn fn,
                          void *ctx)
{
    struct audit_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = sql_use(s->sql, QUERY_AUDIT);
    bind_list(q, author_row, since, limit);
    return row_read_pass(s, s->sql, q, &audit_reader, &r);
}

enum err store_list_all_audit(struct store *s, int64_t since, int limit, store_audit_fn fn, void *ctx)
{
    struct audit_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = sql_use(s->sql, QUERY_AUDIT_ALL);
    sql_bind_i64(q, 1, since);
    sql_bind_i64(q, 2, limit);
    return row_read_pass(s, s->sql, q, &audit_reader, &r);
}

enum next store_read_audit(struct store_read *read, int64_t author_row, int64_t since, int limit,
                           store_audit_fn fn, void *ctx)
{
    struct audit_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = row_read_use(read, QUERY_AUDIT);
    bind_list(q, author_row, since, limit);
    return row_read_run(read, q, &audit_reader, &r, sizeof r);
}
