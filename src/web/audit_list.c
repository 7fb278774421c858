/* Writes entries of the audit log in plain words. Omits the operator's name, which is for operators only. */
#include "web/audit_list.h"

#include "base/clock.h"
#include "web/humanize.h"
#include "web/page.h"
#include "store/audit.h"

enum { ENTRIES_SHOWN = 50 };

struct audit_list {
    int64_t now;
    int shown;
};

static const struct {
    const char *name, *words;
} actions[] = {
    {"key.created", "Key created:"},
    {"key.first_used", "Key used for the first time:"},
    {"key.revoked", "Key revoked:"},
    {"app.connected", "App connected:"},
    {"app.disconnected", "App disconnected:"},
    {"author.signed_in", "Signed in"},
    {"author.password_set", "New password set"},
    {"plan.changed", "Plan changed:"},
    {"video.removed", "Video removed:"},
    {"book.removed", "Book removed:"},
    {"reading.corrected", "Views corrected:"},
    {"webhook.created", "Webhook created:"},
    {"webhook.paused", "Webhook paused:"},
    {"webhook.resumed", "Webhook resumed:"},
    {"webhook.secret_rotated", "Secret of a webhook rotated:"},
    {"webhook.url_changed", "Webhook address changed:"},
    {"webhook.deleted", "Webhook deleted:"},
    {"author.exported", "Data exported"},
    {"author.imported", "Account imported"},
};

static const struct {
    const char *name, *words;
} actors[] = {
    {"operator", "by the operator"},
    {"author", "by you"},
    {"app", "by the app"},
    {"refresh", "by the operator"},
};

/* Writes the action in plain words. If the action is not in the table `actions`, because a newer release has
 * recorded it, writes its name. */
static void write_action(struct buf *b, const struct audit_entry *e)
{
    struct str words = e->action;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (str_eq(e->action, str_from_cstr(actions[i].name)))
            words = str_from_cstr(actions[i].words);
    HTML(b, "<strong>");
    html_text(b, words);
    HTML(b, "</strong>");
    if (!e->details.p)
        return;
    HTML(b, " ");
    html_isolated_text(b, e->details);
}

static void write_origin(struct buf *b, const struct audit_entry *e, int64_t now)
{
    HTML(b, "<span class=\"muted small\">");
    html_time_ago(b, e->at, now);
    for (size_t i = 0; i < sizeof actors / sizeof *actors; i++)
        if (str_eq(e->actor, str_from_cstr(actors[i].name))) {
            HTML(b, ", ");
            html_text(b, str_from_cstr(actors[i].words));
        }
    if (e->address.p) {
        HTML(b, ", from ");
        html_text(b, e->address);
    }
    HTML(b, "</span>");
}

static bool on_entry(void *ctx, const struct audit_entry *e)
{
    struct request *r = ctx;
    struct audit_list *list = page_context_of(r)->state;
    struct buf *b = &r->res.body;
    if (list->shown++ == 0)
        HTML(b, "<ul class=\"keys\">\n");
    HTML(b, "<li><div>");
    write_action(b, e);
    write_origin(b, e, list->now);
    HTML(b, "</div></li>\n");
    return true;
}

static enum next listed_step(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    const struct audit_list *list = page->state;
    struct buf *b = &r->res.body;
    if (page->read.err)
        return page_store_error(r, page->read.err);
    if (list->shown)
        HTML(b, "</ul></section>\n");
    else
        HTML(b, "<p class=\"empty\">There was no activity.</p></section>\n");
    return page_end(r);
}

enum next audit_list_append_and_end_page(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct audit_list *list = arena_alloc(&r->arena, sizeof *list);
    *list = (struct audit_list){.now = clock_wall_ms()};
    page->state = list;
    HTML(&r->res.body,
         "<section class=\"card\"><h2>Recent activity</h2>\n<p>Keys, apps, webhooks, sign-ins, your plan and "
         "changes by the operator: the newest 50 entries of the last 12 months.");
    if (!page->by_proxy)
        HTML(&r->res.body, " If you do not recognize a sign-in, change your password, which also signs out "
                           "every other device.");
    HTML(&r->res.body, "</p>\n");
    r->step = listed_step;
    return store_read_audit(&page->read, page->viewer.author_row, list->now - AUDIT_DAYS * (int64_t)DAY_MS,
                            ENTRIES_SHOWN, on_entry, r);
}
