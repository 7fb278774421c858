/* /platforms/callback/{platform}: the redirect URL of the OAuth flow at a platform.
 *
 * Steps: consume the pending linking -> read the platform's error or code from the query -> exchange the
 * code, call by call, until the accounts are known -> save them -> redirect to the list with a message. The
 * platform is called only after the check that the linking belongs to this session. */
#include "base/clock.h"
#include "base/log.h"
#include "base/plural.h"
#include "net/http_client.h"
#include "web/linking.h"
#include "web/linking_request.h"
#include "web/page.h"
#include "web/platform_text.h"
#include "store/writer_call.h"

#include <inttypes.h>

enum { CODE_MAX_BYTES = 4000, CALLS_MAX = 20 };

struct callback {
    const struct platform_desc *desc;
    struct linking_consume consume;
    enum err result;
    struct platform_options options;
    struct platform_link link;
    struct outcome outcome;
    int calls;
    struct http_call *call;
    struct linking_save *save;
};

static struct callback *callback_of(const struct request *r)
{
    return page_context_of(r)->state;
}

/* ---- responses ---- */

/* Sends a page with `sentence`, in which `%s` is replaced with the name of the platform. `status` depends on
 * who caused the failure: for example 400 for the browser's request, 502 for the platform. */
static enum next not_connected(struct request *r, int status, const char *sentence)
{
    response_reset(r);
    r->res.status = status;
    struct buf *b = page_begin(
        r, &(struct page_frame){.title = STR("Not connected"), .current = "/platforms", .narrow = true});
    HTML(b, "<p>");
    platform_text_write(b, sentence, callback_of(r)->desc->title);
    HTML(b, "</p>\n<p>Nothing was changed.</p>\n<p><a class=\"button\"");
    page_write_link(r, "href", STR("/platforms"));
    HTML(b, ">Back to your platforms</a></p>\n");
    page_write_request_id(r);
    return page_end(r);
}

static void write_result(struct buf *b, const struct linked_account *account, enum linking_result result)
{
    HTML(b, "<li><strong>");
    html_isolated_text(b, account->name.len ? account->name : account->id);
    HTML(b, "</strong>, ");
    html_text(b, str_from_cstr(platform_desc(account->api)->title));
    if (result == LINKING_OWNED_BY_OTHER)
        HTML(b,
             ": already connected by another author of this service, who has to disconnect it first.</li>");
    else
        HTML(b, ": connected.</li>");
}

static enum next show_results(struct request *r)
{
    const struct callback *c = callback_of(r);
    r->res.status = 409;
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("Some accounts were not connected"),
                                                       .current = "/platforms",
                                                       .narrow = true});
    HTML(b, "<ul>");
    for (size_t i = 0; i < c->save->count; i++)
        write_result(b, &c->link.accounts[i], c->save->accounts[i].result);
    HTML(b, "</ul>\n<p><a class=\"button\"");
    page_write_link(r, "href", STR("/platforms"));
    HTML(b, ">Go to your platforms</a></p>");
    return page_end(r);
}

/* ---- saving the accounts ---- */

static enum next saved_step(struct request *r)
{
    struct callback *c = callback_of(r);
    size_t others = 0;
    for (size_t i = 0; i < c->save->count; i++) {
        account_record_wipe(&c->save->accounts[i].record);
        others += c->save->accounts[i].result == LINKING_OWNED_BY_OTHER;
    }
    if (c->result == ERR_UNKNOWN_OUTCOME)
        return page_store_error(r, c->result);
    if (c->result)
        return not_connected(r, 503,
                             "%s gave access, but this service cannot save it right now. "
                             "Please try again in a few minutes.");
    const size_t connected = c->save->count - others;
    log_info("linking: author %" PRId64 " connected %zu account%s of %s", c->consume.key.author_row,
             connected, plural((int64_t)connected, "", "s"), c->desc->name);
    if (others)
        return show_results(r);
    page_set_note(r, NOTE_PLATFORM_CONNECTED);
    return page_redirect(r, STR("/platforms"));
}

static enum next save(struct request *r)
{
    struct callback *c = callback_of(r);
    const size_t count = c->link.account_count;
    const size_t size = sizeof *c->save + count * sizeof c->save->accounts[0];
    if (!count)
        return not_connected(r, 400,
                             "You signed in to %s, but there is no account that this service can read: no "
                             "channel, no page, or "
                             "none that you allowed it to see.");
    c->save = arena_alloc(&r->arena, size);
    c->save->config = page_context_of(r)->web->config;
    c->save->count = count;
    /* Uses the wall clock, although the rest of the linking uses the expiry clock (base/expiry_floor.h),
     * because the refresh compares the times of tokens with the wall clock. */
    const int64_t now = clock_wall_ms();
    for (size_t i = 0; i < count; i++) {
        struct error error;
        if (account_record_init(&c->save->accounts[i].record, c->consume.key.author_row, &c->link.accounts[i],
                                now, &error)) {
            log_warn("linking: %s: %s", c->desc->name, error.text);
            c->outcome = (struct outcome){.kind = OUTCOME_MALFORMED};
            return not_connected(r, 502, platform_text_of_link_failure(&c->outcome));
        }
    }
    r->step = saved_step;
    return writer_call(page_context_of(r)->web->writer, &r->wait, &c->result, linking_save, c->save, size);
}

/* ---- calls to the platform ---- */

static void cancel_call(struct waiter *w)
{
    struct request *r = w->call;
    http_client_cancel(callback_of(r)->call);
}

static void on_response(void *ctx, const struct http_result *result)
{
    struct request *r = ctx;
    struct callback *c = callback_of(r);
    c->call = NULL;
    if (result->error) {
        log_warn("linking: %s: %s", c->desc->name, result->why);
        c->outcome = (struct outcome){.kind = OUTCOME_RETRY,
                                      .code = str_from_cstr(transport_error_name(result->error))};
    } else {
        c->outcome = c->desc->link_parse(&r->arena, &c->link, &result->response);
    }
    waiter_complete(&r->wait);
}

static enum next exchange_step(struct request *r)
{
    struct callback *c = callback_of(r);
    struct http_request request = {.method = NULL};
    if (c->calls && c->outcome.kind != OUTCOME_OK) {
        log_warn("linking: call to %s for author %" PRId64 " failed: %s %.*s", c->desc->name,
                 c->consume.key.author_row, outcome_kind_name(c->outcome.kind), (int)c->outcome.code.len,
                 c->outcome.code.p);
        const bool is_authors_fault =
            c->outcome.kind == OUTCOME_TOKEN_REJECTED || c->outcome.kind == OUTCOME_RECONNECT;
        return not_connected(r, is_authors_fault ? 400 : 502, platform_text_of_link_failure(&c->outcome));
    }
    if (c->calls == CALLS_MAX || !c->desc->link_build(&r->arena, &c->link, &request))
        return save(r);
    request.once = true; /* a code can be used only once */
    c->calls++;
    r->step = exchange_step;
    r->wait.cancel = cancel_call;
    r->wait.call = r;
    c->call = http_client_send(page_context_of(r)->web->client, &request, on_response, r);
    return NEXT_WAIT;
}

static enum next exchange(struct request *r, struct str code)
{
    const struct page_context *page = page_context_of(r);
    struct callback *c = callback_of(r);
    if (!code.len || code.len > CODE_MAX_BYTES)
        return not_connected(r, 400, "%s did not confirm that you allowed access. Please try again.");
    c->options = platform_options_of(page->web->config, c->desc->api);
    c->link = (struct platform_link){.options = &c->options,
                                     .app = platform_app_of(page->web->config, c->desc->api),
                                     .redirect_uri = linking_redirect_uri(r, c->desc),
                                     .code = code,
                                     .verifier = str_make(c->consume.verifier, c->consume.verifier_len)};
    return exchange_step(r);
}

/* ---- handling the redirect from the platform ---- */

static enum next consumed_step(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    struct callback *c = page->state;
    struct str error = form_get(&page->query, STR("error"));
    if (c->result)
        return page_store_error(r, c->result == ERR_NOT_FOUND ? ERR_IO : c->result);
    if (c->consume.check == LINKING_EXPIRED)
        return not_connected(r, 400, "This took longer than ten minutes. Please connect %s again.");
    if (c->consume.check != LINKING_VALID)
        return not_connected(
            r, 400,
            "This link from %s was already used, is more than ten minutes old, or was not requested in this "
            "browser. Please start again.");
    if (str_eq(error, STR("access_denied")) || str_eq(error, STR("user_cancelled_login")))
        return not_connected(r, 200, "You did not allow this service to read your numbers at %s.");
    if (error.p) {
        log_warn("linking: %s redirected author %" PRId64 " with the error %.*s", c->desc->name,
                 c->consume.key.author_row, (int)(error.len < 60 ? error.len : 60), error.p);
        return not_connected(
            r, 400,
            "%s refused access. Please try again. If that does not help, please tell the people who run this "
            "service.");
    }
    return exchange(r, form_get(&page->query, STR("code")));
}

static enum next callback_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct callback *c = arena_alloc(&r->arena, sizeof *c);
    struct secret state;
    c->desc = platform_desc_by_name(r->path_parameter);
    if (!c->desc || !linking_is_offered(page->web->config, c->desc->api))
        return page_not_found(r);
    page->state = c;
    if (!page->viewer.author_row || !page->has_secret)
        return not_connected(r, 403, "You are no longer signed in here. Sign in, then connect %s again.");
    if (form_parse(&r->arena, r->query.p ? r->query : STR(""), &page->query, NULL) ||
        !secret_parse(form_get(&page->query, STR("state")), &state))
        return not_connected(r, 400, "This is not a valid link from %s. Please start again.");
    c->consume.key = linking_key_make(r, c->desc->api, &state);
    r->step = consumed_step;
    return writer_call(page->web->writer, &r->wait, &c->result, linking_consume, &c->consume,
                       sizeof c->consume);
}

const struct route platform_callback_page = {.path = "/platforms/callback/{platform}",
                                             .methods = ROUTE_GET,
                                             .secrets = ROUTE_SECRET_QUERY,
                                             .flags = WEB_OPEN | WEB_OWN_QUERY,
                                             .start = callback_step};
