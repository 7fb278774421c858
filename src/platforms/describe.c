/* Formats outcomes and items. */
#include "platforms/describe.h"

static const char *const states[] = {"pending", "ok", "no_data", "missing", "permanent", "retry", "denied"};
static const char *const scopes[] = {"call", "account", "app"};

void describe_text(struct buf *b, const char *name, struct str text)
{
    if (text.len)
        buf_printf(b, " %s=%.*s", name, (int)text.len, text.p);
}

void describe_number(struct buf *b, const char *name, int64_t n)
{
    if (n)
        buf_printf(b, " %s=%lld", name, (long long)n);
}

void describe_outcome(struct buf *b, const struct outcome *o)
{
    static const char *const combined[] = {"", " combined_works", " combined_fails"};
    buf_printf(b, "%s %s %.*s", outcome_kind_name(o->kind), scopes[o->scope], (int)o->code.len, o->code.p);
    describe_number(b, "wait", o->wait_ms);
    describe_number(b, "usage", o->usage_percent);
    describe_text(b, "dropped", o->dropped);
    describe_text(b, "unknown", o->unknown_code);
    buf_printf(b, "%s%s%s%s%s", o->these_posts_only ? " these_posts_only" : "",
               o->with_account ? " with_account" : "", o->too_large ? " too_large" : "",
               o->no_insights ? " no_insights" : "", combined[o->combined]);
}

void describe_item(struct buf *b, const struct platform_item *item)
{
    buf_printf(b, "item %.*s %s", (int)item->id.len, item->id.p, states[item->state]);
    for (int k = 0; item->state == ITEM_OK && !item->resolved.p && k < COUNT_KINDS; k++) {
        if (item->counts[k] == COUNT_NONE)
            buf_printf(b, " -");
        else
            buf_printf(b, " %lld", (long long)item->counts[k]);
    }
    describe_number(b, "source", item->views_source);
    describe_text(b, "resolved", item->resolved);
}
