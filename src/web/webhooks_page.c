/* /webhooks: GET lists the author's endpoints, POST creates one. /webhooks/{id} is in webhook_page.c.
 *
 * The signing secret is shown once, in the response to the form that creates the endpoint. The id and the
 * secret are derived from a ticket in the form and from the browser's secret, like those of API keys
 * (keys_page.c). So a form that is sent twice creates one endpoint. */
#include "base/clock.h"
#include "web/form_field.h"
#include "web/page.h"
#include "web/webhook_jobs.h"
#include "web/webhook_text.h"
#include "webhook/webhook_url.h"
#include "store/writer_call.h"

#include <sodium.h>

enum { SHOWN_MAX = 200 };

static const char PATH[] = "/webhooks";

struct webhooks_list {
    const char *url_error;   /* may be NULL */
    const char *types_error; /* may be NULL */
    struct str url;          /* the value of the URL field */
    int64_t types;           /* the checked event types, see chosen_types() */
    int shown;
};

/* ---- list of webhooks ---- */

static bool on_webhook(void *ctx, const struct webhook_endpoint *e)
{
    struct request *r = ctx;
    struct webhooks_list *list = page_context_of(r)->state;
    struct buf *b = &r->res.body;
    if (!e->is_connected) /* omit the endpoint of an app that the author has disconnected */
        return true;
    if (!list->shown++)
        HTML(b, "<section class=\"card\"><h2>Your webhooks</h2>\n<ul class=\"keys\">\n");
    HTML(b, "<li><div><strong>");
    html_isolated_text(b, e->url);
    HTML(b, "</strong> ");
    webhook_text_badge(b, e);
    HTML(b, "<span class=\"muted small\">");
    if (e->app_name.p) {
        HTML(b, "Belongs to the app ");
        html_isolated_text(b, e->app_name);
    } else {
        webhook_text_types(b, e);
    }
    HTML(b, "</span></div><a class=\"button quiet\"");
    page_write_link(r, "href", webhook_path(r, &e->id));
    HTML(b, ">Details<span class=\"sr\"> of ");
    html_isolated_text(b, e->url);
    HTML(b, "</span></a></li>\n");
    return true;
}

static void write_types(struct buf *b, const struct webhooks_list *list)
{
    HTML(b, "<fieldset class=\"field\"");
    if (list->types_error)
        HTML(b, " aria-describedby=\"types-error\"");
    HTML(b, "><legend>Events</legend>\n");
    for (int i = 0; i < WEBHOOK_TYPES; i++) {
        HTML(b, "<label class=\"check\"><input type=\"checkbox\" value=\"1\"");
        if (!list->types || (list->types > 0 && list->types >> i & 1))
            HTML(b, " checked");
        html_attr(b, "name", str_from_cstr(webhook_type_texts[i].field));
        HTML(b, "> ");
        webhook_text_type(b, (enum event_type)i);
        HTML(b, "</label>\n");
    }
    if (list->types_error) {
        HTML(b, "<span class=\"error\" id=\"types-error\">");
        html_text(b, str_from_cstr(list->types_error));
        HTML(b, "</span>\n");
    }
    HTML(b, "</fieldset>\n");
}

static void write_form(struct request *r, const struct webhooks_list *list)
{
    struct buf *b = &r->res.body;
    struct secret ticket;
    secret_generate(&ticket);
    HTML(b, "<section class=\"card\"><h2>New webhook</h2>\n");
    page_write_form(r, str_from_cstr(PATH));
    form_field_write_hidden(b, "ticket", secret_format(&r->arena, &ticket));
    form_field_write(b, &(struct form_field){.id = "url",
                                             .label = "URL",
                                             .hint = "An https address on the internet that accepts POST.",
                                             .error = list->url_error,
                                             .value = list->url,
                                             .max_chars = WEBHOOK_URL_MAX});
    write_types(b, list);
    HTML(b, "<button>Create webhook</button></form></section>\n");
}

static void write_missing_key_notice(struct request *r)
{
    struct buf *b = &r->res.body;
    HTML(b,
         "<p class=\"notice\">Webhooks cannot be created yet, because this service has no key to encrypt "
         "their secrets. The people who run it can change that: <code>viewtally secrets init FILE</code> "
         "creates a key file, which <code>[secrets] key_file</code> of the configuration then names.</p>\n");
}

static enum next listed_step(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    const struct webhooks_list *list = page->state;
    if (page->read.err)
        return page_store_error(r, page->read.err);
    if (list->shown)
        HTML(&r->res.body, "</ul></section>\n");
    return page_end(r);
}

static enum next show_list(struct request *r, const struct webhooks_list *content)
{
    struct page_context *page = page_context_of(r);
    const struct config *config = page->web->config;
    struct webhooks_list *list = arena_alloc(&r->arena, sizeof *list);
    *list = *content;
    page->state = list;
    if (list->url_error || list->types_error)
        r->res.status = 422;
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("Webhooks"), .current = PATH});
    HTML(b, "<p>A webhook sends each of your events to a program of yours as soon as it happens, so that the "
            "program does not have to ask for them.</p>\n");
    if (!config->webhooks.enabled)
        HTML(b, "<p class=\"notice\">The people who run this service have switched off the delivery of "
                "webhooks. Your events are sent after they switch it on again.</p>\n");
    if (*config->secrets.key_file)
        write_form(r, list);
    else
        write_missing_key_notice(r);
    r->step = listed_step;
    return store_read_webhooks(&page->read, page->viewer.author_row, SHOWN_MAX, on_webhook, r);
}

/* ---- creating a webhook ---- */

struct webhook_creating {
    struct webhook_creation write;
    enum err result;
};

static enum next created_step(struct request *r)
{
    struct webhook_creating *c = page_context_of(r)->state;
    if (c->result)
        return page_store_error(r, c->result);
    if (c->write.is_full)
        return page_error(r, 422, "You have %d webhooks, which is the limit. Delete one first.",
                          WEBHOOKS_PER_AUTHOR);
    if (c->write.existed && !c->write.show_again)
        return page_error(
            r, 422,
            "This form was already sent, and its secret was shown then. If you did not save the "
            "secret, rotate it on the page of the webhook.");
    const enum next next = webhook_show_secret(r, &c->write.id, "The webhook was created.", c->write.secret);
    sodium_memzero(c->write.secret, sizeof c->write.secret);
    return next;
}

/* Returns the set of the chosen event types, one bit per type. Returns 0 if all types are chosen, or -1 if
 * none is. */
static int64_t chosen_types(const struct form *form)
{
    int64_t types = 0;
    for (int i = 0; i < WEBHOOK_TYPES; i++)
        if (form_get(form, str_from_cstr(webhook_type_texts[i].field)).p)
            types |= INT64_C(1) << i;
    return types == 0 ? -1 : types == (1 << WEBHOOK_TYPES) - 1 ? 0 : types;
}

static enum next create(struct request *r)
{
    struct page_context *page = page_context_of(r);
    const struct config *config = page->web->config;
    const struct str url = str_trim(form_get(&page->form, STR("url"))),
                     ticket = form_get(&page->form, STR("ticket"));
    const int64_t types = chosen_types(&page->form);
    struct secret random;
    struct address_policy policy;
    uint8_t bytes[SECRET_LEN];
    if (!secret_parse(ticket, &random))
        return page_error(r, 400, "The form is incomplete. Go back, reload the page and try again.");
    struct webhooks_list list = {.url = url, .types = types};
    if (!*config->secrets.key_file)
        return show_list(r, &list);
    const char *why = address_policy_init(&policy, str_from_cstr(config->webhooks.allowed_networks))
                          ? webhook_url_check(url, &policy)
                          : "cannot be checked";
    if (why)
        list.url_error = arena_printf(&r->arena, "The URL %s.", why).p;
    if (types < 0)
        list.types_error = "Choose at least one kind of event.";
    if (list.url_error || list.types_error)
        return show_list(r, &list);
    struct webhook_creating *c = arena_alloc(&r->arena, sizeof *c);
    page->state = c;
    c->write = (struct webhook_creation){.config = config,
                                         .author_row = page->viewer.author_row,
                                         .now = clock_wall_ms(),
                                         .types = types,
                                         .url_len = url.len,
                                         .by = page_actor(r)};
    memcpy(c->write.url, url.p, url.len);
    secret_derive(&page->secret, STR("webhook"), ticket, c->write.secret);
    secret_derive(&page->secret, STR("webhook id"), ticket, bytes);
    c->write.id = uuid_from_random(bytes);
    r->step = created_step;
    return writer_call(page->web->writer, &r->wait, &c->result, webhook_create, &c->write, sizeof c->write);
}

static enum next webhooks_step(struct request *r)
{
    return r->method == METHOD_POST ? create(r) : show_list(r, &(struct webhooks_list){.url = STR("")});
}

const struct route webhooks_page = {.path = PATH, .methods = ROUTE_GET | ROUTE_POST, .start = webhooks_step};
