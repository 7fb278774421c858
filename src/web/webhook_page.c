/* /webhooks/{id}: GET shows an endpoint with its newest attempts, POST changes it. The form field "action"
 * names the change. */
#include "base/clock.h"
#include "web/form_field.h"
#include "web/humanize.h"
#include "web/page.h"
#include "web/webhook_jobs.h"
#include "web/webhook_text.h"
#include "store/writer_call.h"

#include <sodium.h>

enum { LAG_SHOWN_MAX = 1000 };

static const char *const action_names[WEBHOOK_ACTIONS] = {
    [WEBHOOK_TEST] = "test",     [WEBHOOK_RESEND] = "resend", [WEBHOOK_HISTORY] = "history",
    [WEBHOOK_PAUSE] = "pause",   [WEBHOOK_RESUME] = "resume", [WEBHOOK_ROTATE] = "rotate",
    [WEBHOOK_DELETE] = "delete",
};

struct webhook_view {
    struct uuid id;
    struct webhook_endpoint endpoint;
    int waiting; /* number of events after the endpoint's position */
    int attempts;
    int64_t now;
};

static struct webhook_view *view_of(const struct request *r)
{
    return page_context_of(r)->state;
}

/* ---- list of attempts ---- */

static void write_event_name(struct buf *b, const struct webhook_attempt *a)
{
    if (a->event_id)
        buf_printf(b, "<code>evt_%lld</code>", (long long)a->event_id);
    else
        HTML(b, "Test");
    if (a->is_manual && a->event_id)
        HTML(b, " (resent)");
}

static void write_result(struct buf *b, const struct webhook_attempt *a)
{
    if (!a->error.p) {
        buf_printf(b, "<span class=\"badge good\">Delivered</span> status %d", a->status);
        return;
    }
    HTML(b, "<span class=\"badge bad\">Failed</span> ");
    html_text(b, a->error);
}

static void write_resend(struct request *r, const struct webhook_attempt *a)
{
    struct buf *b = &r->res.body;
    page_write_form(r, webhook_path(r, &view_of(r)->id));
    form_field_write_hidden(b, "event", arena_printf(&r->arena, "%lld", (long long)a->event_id));
    HTML(b, "<button class=\"quiet\" name=\"action\" value=\"resend\">Resend");
    buf_printf(b, "<span class=\"sr\"> evt_%lld</span></button></form>", (long long)a->event_id);
}

static bool on_attempt(void *ctx, const struct webhook_attempt *a)
{
    struct request *r = ctx;
    struct webhook_view *v = view_of(r);
    struct buf *b = &r->res.body;
    if (!v->attempts++)
        HTML(b, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Deliveries\"><table>"
                "<thead><tr><th scope=\"col\">Event</th><th scope=\"col\">Sent</th><th scope=\"col\">Result"
                "</th><th scope=\"col\">Duration</th><th scope=\"col\"><span class=\"sr\">Action</span></th>"
                "</tr></thead><tbody>\n");
    HTML(b, "<tr><td>");
    write_event_name(b, a);
    HTML(b, "</td><td>");
    html_time_ago(b, a->at, v->now);
    HTML(b, "</td><td>");
    write_result(b, a);
    buf_printf(b, "</td><td>%lld ms</td><td>", (long long)a->took_ms);
    if (a->event_id && v->endpoint.state != WEBHOOK_GONE)
        write_resend(r, a);
    HTML(b, "</td></tr>\n");
    return true;
}

static void write_button(struct buf *b, enum webhook_action action, const char *style, const char *text)
{
    HTML(b, "<button");
    if (*style)
        html_attr(b, "class", str_from_cstr(style));
    HTML(b, " name=\"action\"");
    html_attr(b, "value", str_from_cstr(action_names[action]));
    HTML(b, ">");
    html_text(b, str_from_cstr(text));
    HTML(b, "</button>");
}

/* Hides rare and destructive actions in a <details> element. */
static void write_more(struct request *r)
{
    struct buf *b = &r->res.body;
    const struct webhook_view *v = view_of(r);
    struct secret ticket;
    secret_generate(&ticket);
    if (v->endpoint.app_row)
        return;
    HTML(b, "<details class=\"card\"><summary>Secret, history, deletion</summary>\n");
    page_write_form(r, webhook_path(r, &v->id));
    form_field_write_hidden(b, "ticket", secret_format(&r->arena, &ticket));
    HTML(b,
         "<p>A new secret is shown once. For one day, messages are signed with the old secret too, so that "
         "you can change your receiver without losing a message.</p>\n");
    write_button(b, WEBHOOK_ROTATE, "quiet", "Rotate the secret");
    HTML(b, "<p>Events from before the webhook was created can be sent as well. Events that were already "
            "delivered are sent again, in order.</p>\n");
    write_button(b, WEBHOOK_HISTORY, "quiet", "Send all events");
    HTML(b, "<p>A deleted webhook receives nothing any more. Its list of deliveries is deleted too.</p>\n");
    write_button(b, WEBHOOK_DELETE, "danger", "Delete the webhook");
    HTML(b, "</form></details>\n");
}

static enum next attempts_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    const struct webhook_view *v = page->state;
    struct buf *b = &r->res.body;
    if (page->read.err)
        return page_store_error(r, page->read.err);
    if (v->attempts)
        HTML(b, "</tbody></table></div>\n");
    else
        HTML(b, "<p class=\"empty\">Nothing was sent yet.</p>\n");
    HTML(b, "</section>\n");
    write_more(r);
    return page_end(r);
}

/* ---- state of the webhook ---- */

static void write_facts(struct buf *b, const struct webhook_view *v)
{
    const struct webhook_endpoint *e = &v->endpoint;
    HTML(b, "<dl class=\"facts\"><dt>URL</dt><dd>");
    html_isolated_text(b, e->url);
    HTML(b, "</dd>");
    if (e->app_name.p) {
        HTML(b, "<dt>App</dt><dd>");
        html_isolated_text(b, e->app_name);
        HTML(b, "</dd>");
    }
    HTML(b, "<dt>Events</dt><dd>");
    webhook_text_types(b, e);
    HTML(b, "</dd><dt>Created</dt><dd>");
    html_time_ago(b, e->created_at, v->now);
    HTML(b, "</dd>");
    if (e->state != WEBHOOK_GONE && e->is_connected) {
        HTML(b, "<dt>Events waiting</dt><dd>");
        if (v->waiting > LAG_SHOWN_MAX)
            HTML(b, "more than 1,000");
        else
            buf_append_i64(b, v->waiting);
        HTML(b, "</dd>");
    }
    if (e->old_secret.p && e->old_secret_until != TIME_NONE && e->old_secret_until > v->now) {
        HTML(b, "<dt>Old secret valid until</dt><dd>");
        format_date_time(b, e->old_secret_until);
        HTML(b, "</dd>");
    }
    HTML(b, "</dl>\n");
}

static void write_actions(struct request *r)
{
    struct buf *b = &r->res.body;
    const struct webhook_endpoint *e = &view_of(r)->endpoint;
    if (e->state == WEBHOOK_GONE)
        return;
    page_write_form(r, webhook_path(r, &view_of(r)->id));
    HTML(b, "<div class=\"row\">");
    write_button(b, WEBHOOK_TEST, "", "Send a test");
    if (e->state == WEBHOOK_ACTIVE)
        write_button(b, WEBHOOK_PAUSE, "quiet", "Pause");
    else
        write_button(b, WEBHOOK_RESUME, "quiet", "Resume");
    HTML(b, "</div></form>\n");
}

static enum next counted_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct webhook_view *v = page->state;
    if (page->read.err)
        return page_store_error(r, page->read.err);
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("Webhook"), .current = "/webhooks"});
    HTML(b, "<section class=\"card\"><p>");
    webhook_text_badge(b, &v->endpoint);
    HTML(b, "</p>\n");
    webhook_text_state(b, &v->endpoint, v->now);
    write_facts(b, v);
    write_actions(r);
    HTML(b, "</section>\n<section class=\"card\"><h2>Latest attempts</h2>\n");
    r->step = attempts_step;
    return store_read_webhook_attempts(&page->read, v->endpoint.row, WEBHOOK_ATTEMPTS_KEPT, on_attempt, r);
}

static enum next found_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct webhook_view *v = page->state;
    if (page->read.err)
        return page_store_error(r, page->read.err);
    r->step = counted_step;
    return store_count_events(&page->read, page->viewer.author_row, v->endpoint.position, LAG_SHOWN_MAX + 1,
                              &v->waiting);
}

/* ---- pausing, resuming, deleting and resending ---- */

struct webhook_changing {
    struct webhook_change write;
    enum err result;
};

static enum next changed_step(struct request *r)
{
    static const enum page_note notes[WEBHOOK_ACTIONS] = {
        [WEBHOOK_TEST] = NOTE_WEBHOOK_REQUESTED,  [WEBHOOK_RESEND] = NOTE_WEBHOOK_REQUESTED,
        [WEBHOOK_HISTORY] = NOTE_WEBHOOK_HISTORY, [WEBHOOK_PAUSE] = NOTE_WEBHOOK_PAUSED,
        [WEBHOOK_RESUME] = NOTE_WEBHOOK_RESUMED,  [WEBHOOK_DELETE] = NOTE_WEBHOOK_DELETED,
    };
    struct webhook_changing *c = page_context_of(r)->state;
    const enum webhook_action action = c->write.action;
    if (c->result == ERR_NOT_FOUND && action == WEBHOOK_DELETE)
        c->result = OK; /* the form was sent twice */
    if (c->result)
        return page_store_error(r, c->result);
    if (c->write.refused)
        return page_error(r, 422, "%s", c->write.refused);
    if (action == WEBHOOK_ROTATE) {
        const enum next next =
            webhook_show_secret(r, &c->write.id, "The secret was rotated.", c->write.secret);
        sodium_memzero(c->write.secret, sizeof c->write.secret);
        return next;
    }
    page_set_note(r, notes[action]);
    return page_redirect(r, action == WEBHOOK_DELETE ? STR("/webhooks") : webhook_path(r, &c->write.id));
}

static bool parse_action(struct str name, enum webhook_action *out)
{
    for (int i = 0; i < WEBHOOK_ACTIONS; i++)
        if (str_eq(name, str_from_cstr(action_names[i]))) {
            *out = (enum webhook_action)i;
            return true;
        }
    return false;
}

static enum next change(struct request *r, const struct uuid *id)
{
    struct page_context *page = page_context_of(r);
    struct webhook_changing *c = arena_alloc(&r->arena, sizeof *c);
    const struct str ticket = form_get(&page->form, STR("ticket"));
    struct secret random;
    unsigned long long event = 0;
    page->state = c;
    c->write = (struct webhook_change){.config = page->web->config,
                                       .author_row = page->viewer.author_row,
                                       .now = clock_wall_ms(),
                                       .id = *id,
                                       .by = page_actor(r)};
    if (!parse_action(form_get(&page->form, STR("action")), &c->write.action) ||
        (c->write.action == WEBHOOK_ROTATE && !secret_parse(ticket, &random)) ||
        (c->write.action == WEBHOOK_RESEND &&
         (!str_to_u64(form_get(&page->form, STR("event")), INT64_MAX, &event) || !event)))
        return page_error(r, 400, "The form is incomplete. Go back, reload the page and try again.");
    c->write.event_id = (int64_t)event;
    if (c->write.action == WEBHOOK_ROTATE)
        secret_derive(&page->secret, STR("webhook secret"), ticket, c->write.secret);
    r->step = changed_step;
    return writer_call(page->web->writer, &r->wait, &c->result, webhook_change_job, &c->write,
                       sizeof c->write);
}

static enum next webhook_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct uuid id;
    if (!uuid_parse(r->path_parameter, &id))
        return page_not_found(r);
    if (r->method == METHOD_POST)
        return change(r, &id);
    struct webhook_view *v = arena_alloc(&r->arena, sizeof *v);
    page->state = v;
    v->id = id;
    v->now = clock_wall_ms();
    r->step = found_step;
    return store_read_webhook(&page->read, &r->arena, page->viewer.author_row, &id, &v->endpoint);
}

const struct route webhook_page = {
    .path = "/webhooks/{id}", .methods = ROUTE_GET | ROUTE_POST, .start = webhook_step};
