/* Writes the states and event types of endpoints, and the page that shows a new secret. */
#include "web/webhook_text.h"

#include "web/humanize.h"
#include "web/page.h"
#include "webhook/webhook_rules.h"
#include "webhook/webhook_signature.h"

#include <sodium.h>

const struct webhook_type_text webhook_type_texts[WEBHOOK_TYPES] = {
    [EVENT_WENT_VIRAL] = {"video.went_viral", "went_viral", "A video goes viral"},
    [EVENT_MILESTONE_REACHED] = {"video.milestone_reached", "milestone_reached",
                                 "A video reaches a milestone"},
};

static void write_badge(struct buf *b, const char *kind, const char *text)
{
    buf_printf(b, "<span class=\"badge %s\">%s</span>", kind, text);
}

void webhook_text_badge(struct buf *b, const struct webhook_endpoint *e)
{
    switch (e->state) {
    case WEBHOOK_PAUSED: write_badge(b, "off", "Paused"); return;
    case WEBHOOK_FAILED: write_badge(b, "bad", "Paused after failures"); return;
    case WEBHOOK_GONE: write_badge(b, "off", "Ended"); return;
    case WEBHOOK_ACTIVE: break;
    }
    if (!e->is_connected)
        write_badge(b, "off", "Disconnected");
    else if (!e->plan_active)
        write_badge(b, "off", "Waiting for your plan");
    else if (e->failures)
        write_badge(b, "bad", "Retrying");
    else
        write_badge(b, "good", "Active");
}

static void write_retry(struct buf *b, const struct webhook_endpoint *e, int64_t now)
{
    if (e->failures == 1)
        HTML(b, "<p>The last attempt to deliver an event failed. ");
    else
        buf_printf(b, "<p>The last %lld attempts to deliver an event failed. ", (long long)e->failures);
    if (e->next_attempt_at != TIME_NONE && e->next_attempt_at > now) {
        HTML(b, "The next attempt is at ");
        format_date_time(b, e->next_attempt_at);
        HTML(b, ". ");
    }
    HTML(b, "Later events wait, so that they arrive in order.</p>\n");
}

void webhook_text_state(struct buf *b, const struct webhook_endpoint *e, int64_t now)
{
    switch (e->state) {
    case WEBHOOK_PAUSED:
        HTML(b,
             "<p>No events are sent while the webhook is paused. They are sent after you resume it.</p>\n");
        return;
    case WEBHOOK_FAILED:
        buf_printf(b, "<p>All %d attempts to deliver an event failed, so the webhook was ", WEBHOOK_TRIES);
        HTML(b, "paused ");
        html_time_ago(b, e->state_at, now);
        HTML(b, ". No event is lost: when the receiver works again, send a test, then resume the "
                "webhook.</p>\n");
        return;
    case WEBHOOK_GONE:
        HTML(b, "<p>The receiver responded with status 410 (Gone), which ends a webhook. ");
        buf_append(b, e->app_row ? STR("Connect the app again to send it events.</p>\n")
                                 : STR("Create a new one to receive events again.</p>\n"));
        return;
    case WEBHOOK_ACTIVE: break;
    }
    if (!e->is_connected)
        HTML(b, "<p>You have disconnected the app, or its webhook address has changed. Connect the app again "
                "to send it events.</p>\n");
    else if (!e->plan_active)
        HTML(b, "<p>Events wait until your plan is active again.</p>\n");
    else if (e->failures)
        write_retry(b, e, now);
}

void webhook_text_type(struct buf *b, enum event_type type)
{
    html_text(b, str_from_cstr(webhook_type_texts[type].label));
    HTML(b, " <code>");
    html_text(b, str_from_cstr(webhook_type_texts[type].name));
    HTML(b, "</code>");
}

void webhook_text_types(struct buf *b, const struct webhook_endpoint *e)
{
    bool any = false;
    for (int i = 0; i < WEBHOOK_TYPES; i++) {
        if (!webhook_is_subscribed(e, (enum event_type)i))
            continue;
        if (any)
            HTML(b, ", ");
        webhook_text_type(b, (enum event_type)i);
        any = true;
    }
    if (!any)
        HTML(b, "none");
}

struct str webhook_path(struct request *r, const struct uuid *id)
{
    char text[UUID_TEXT_LEN];
    uuid_format(id, text);
    return arena_printf(&r->arena, "/webhooks/%.*s", UUID_TEXT_LEN, text);
}

enum next webhook_show_secret(struct request *r, const struct uuid *id, const char *words,
                              const uint8_t secret[WEBHOOK_SECRET_LEN])
{
    char text[WEBHOOK_SECRET_TEXT_ROOM];
    page_context_of(r)->has_script = true;
    struct buf *b =
        page_begin(r, &(struct page_frame){.title = STR("Your signing secret"), .current = "/webhooks"});
    webhook_secret_format(secret, text);
    HTML(b, "<div class=\"notice good\" role=\"status\"><p>");
    html_text(b, str_from_cstr(words));
    HTML(b,
         " <strong>Copy the signing secret now: it is shown only once.</strong></p></div>\n<div "
         "class=\"field\"><label for=\"secret\">Signing secret</label><input class=\"secret\" id=\"secret\" "
         "readonly autocomplete=\"off\" spellcheck=\"false\"");
    html_attr(b, "value", str_from_cstr(text));
    HTML(b, "></div>\n<p class=\"muted\">Your receiver uses the secret to verify that a message comes "
            "from this service and was not changed. Any library for <q>Standard Webhooks</q> can verify "
            "messages.</p>\n<p><a class=\"button\"");
    page_write_link(r, "href", webhook_path(r, id));
    HTML(b, ">I have copied it</a></p>");
    sodium_memzero(text, sizeof text);
    return page_end(r);
}
