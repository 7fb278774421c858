/* Helpers that connectors share to parse responses. */
#include "platforms/response_reader.h"

#include "base/clock.h"
#include "net/retry_after.h"

enum { CODE_MAX = 40 };

struct str response_header(const struct http_response *r, struct str name)
{
    for (size_t i = 0; i < r->header_count; i++)
        if (str_eq_nocase(r->headers[i].name, name))
            return str_trim(r->headers[i].value);
    return (struct str){NULL, 0};
}

/* ---- the field Retry-After ---- */

int64_t response_retry_after_ms(const struct http_response *r, int64_t now_ms)
{
    const int64_t wait = http_retry_after_ms(r, now_ms);
    return wait < DAY_MS ? wait : DAY_MS;
}

/* ---- outcomes from status and error codes ---- */

struct outcome outcome_make(enum outcome_kind kind, enum outcome_scope scope, struct str code)
{
    return (struct outcome){.kind = kind, .scope = scope, .code = code};
}

static bool is_code_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

struct str outcome_clean_code(struct arena *a, struct str word)
{
    if (word.len == 0 || word.len > CODE_MAX)
        return STR("other");
    for (size_t i = 0; i < word.len; i++)
        if (!is_code_char(word.p[i]))
            return STR("other");
    return arena_copy(a, word);
}

const struct error_row *error_row_find(const struct error_row *rows, struct str code, int status)
{
    for (; rows->code; rows++)
        if ((rows->status == 0 || rows->status == status) && str_eq(code, str_from_cstr(rows->code)))
            return rows;
    return NULL;
}

static bool is_temporary(int status)
{
    return status == 429 || status >= 500 || status == 408;
}

struct outcome outcome_unreadable(struct arena *a, const struct http_response *r, int64_t now_ms)
{
    struct outcome o = outcome_make(is_temporary(r->status) ? OUTCOME_RETRY : OUTCOME_MALFORMED, SCOPE_CALL,
                                    arena_printf(a, "http.%d", r->status));
    o.wait_ms = response_retry_after_ms(r, now_ms);
    if (r->status == 429)
        o.scope = SCOPE_ACCOUNT;
    return o;
}

struct outcome outcome_from_status(struct arena *a, struct str code, const struct http_response *r,
                                   int64_t now_ms)
{
    struct outcome o = outcome_unreadable(a, r, now_ms);
    o.code = outcome_clean_code(a, code);
    /* A 403 with an undocumented code stays OUTCOME_MALFORMED, because it must not make the account
     * "reconnect required". */
    if (r->status == 401)
        o.kind = OUTCOME_TOKEN_REJECTED;
    else if (r->status >= 400 && r->status != 403 && !is_temporary(r->status))
        o.kind = OUTCOME_BAD_REQUEST;
    return o;
}

struct outcome outcome_from_error(struct arena *a, const struct error_row *rows, struct str code,
                                  const struct http_response *r, int64_t now_ms)
{
    const struct error_row *row = error_row_find(rows, code, r->status);
    if (!row) {
        struct outcome o = outcome_from_status(a, code, r, now_ms);
        if (r->status < 500) /* a 5xx status shows that the service failed, whatever the body is */
            o.unknown_code = o.code;
        return o;
    }
    struct outcome o = outcome_make(row->outcome, row->scope, str_from_cstr(row->code));
    o.wait_ms = response_retry_after_ms(r, now_ms);
    if (!o.wait_ms)
        o.wait_ms = row->wait_ms;
    return o;
}

/* ---- items of a call ---- */

void items_reset(struct platform_call *call)
{
    for (size_t i = 0; i < call->item_count; i++) {
        call->items[i].state = ITEM_PENDING;
        call->items[i].resolved = (struct str){NULL, 0};
        for (int k = 0; k < COUNT_KINDS; k++)
            call->items[i].counts[k] = COUNT_NONE;
    }
}

struct str items_join_ids(struct arena *a, const struct platform_call *call)
{
    size_t size = 0, n = 0;
    for (size_t i = 0; i < call->item_count; i++)
        size += call->items[i].id.len + 1;
    char *p = arena_alloc(a, size + 1);
    for (size_t i = 0; i < call->item_count; i++) {
        if (i)
            p[n++] = ',';
        if (call->items[i].id.len)
            memcpy(p + n, call->items[i].id.p, call->items[i].id.len);
        n += call->items[i].id.len;
    }
    return str_make(p, n);
}

struct platform_item *item_find_pending(struct platform_call *call, struct str id)
{
    for (size_t i = 0; i < call->item_count; i++)
        if (call->items[i].state == ITEM_PENDING && str_eq(call->items[i].id, id))
            return &call->items[i];
    return NULL;
}

void item_set_state(struct platform_item *item)
{
    item->state = ITEM_NO_DATA;
    for (int k = 0; k < COUNT_KINDS; k++)
        if (item->counts[k] != COUNT_NONE)
            item->state = ITEM_OK;
}
