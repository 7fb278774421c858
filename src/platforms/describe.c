/* The words for outcomes and items. */
#include "platforms/describe.h"

static const char *const states[] = {"pending", "ok", "no_data", "missing", "permanent", "retry"};
static const char *const scopes[] = {"call", "account", "app"};

void text_describe(struct buf *b, const char *name, struct str text)
{
    if (text.len)
        buf_printf(b, " %s=%.*s", name, (int)text.len, text.p);
}

void number_describe(struct buf *b, const char *name, int64_t n)
{
    if (n)
        buf_printf(b, " %s=%lld", name, (long long)n);
}

void outcome_describe(struct buf *b, const struct outcome *o)
{
    static const char *const combined[] = {"", " combined_works", " combined_fails"};
    buf_printf(b, "%s %s %.*s", verdict_name(o->verdict), scopes[o->scope], (int)o->code.len, o->code.p);
    number_describe(b, "wait", o->wait_ms);
    number_describe(b, "usage", o->usage_percent);
    text_describe(b, "dropped", o->dropped);
    text_describe(b, "unknown", o->unknown_code);
    buf_printf(b, "%s%s%s%s%s", o->of_the_posts ? " of_the_posts" : "",
               o->with_account ? " with_account" : "", o->too_large ? " too_large" : "",
               o->no_insights ? " no_insights" : "", combined[o->combined]);
}

void item_describe(struct buf *b, const struct platform_item *item)
{
    buf_printf(b, "item %.*s %s", (int)item->id.len, item->id.p, states[item->state]);
    for (int k = 0; item->state == ITEM_OK && !item->resolved.p && k < COUNT_KINDS; k++) {
        if (item->counts[k] == COUNT_NONE)
            buf_printf(b, " -");
        else
            buf_printf(b, " %lld", (long long)item->counts[k]);
    }
    number_describe(b, "source", item->views_source);
    text_describe(b, "resolved", item->resolved);
}
