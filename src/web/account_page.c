/* /account: the author's sign-in: password, and signing out everywhere. */
#include "auth/password.h"
#include "auth/sign_in_limiter.h"
#include "base/clock.h"
#include "web/session_start.h"
#include "web/form_field.h"
#include "web/page.h"
#include "store/writer_call.h"

struct account_write {
    struct session_start entry;
    char checked[PASSWORD_STORED_LEN]; /* what was stored, as it was checked */
    char text[PASSWORD_STORED_LEN];    /* the new one */
};

struct account {
    struct password_call call;
    struct account_write write;
    enum err result;
};

/* ---- the page ---- */

static void write_password_form(struct request *r, const char *fault, const char *new_fault)
{
    struct buf *b = &r->res.body;
    HTML(b, "<section class=\"card\"><h2>Password</h2>\n");
    page_form(r, STR("/account/password"));
    form_field_write(b, &(struct form_field){.id = "current",
                                             .label = "Your password until now",
                                             .type = "password",
                                             .autocomplete = "current-password",
                                             .fault = fault});
    form_field_write(b, &(struct form_field){.id = "password",
                                             .label = "The new password",
                                             .type = "password",
                                             .autocomplete = "new-password",
                                             .hint = "At least 8 characters.",
                                             .fault = new_fault});
    form_field_write(b, &(struct form_field){.id = "again",
                                             .label = "The new password again",
                                             .type = "password",
                                             .autocomplete = "new-password"});
    HTML(b, "<button>Change the password</button></form></section>\n");
}

static void write_sign_out(struct request *r)
{
    struct buf *b = &r->res.body;
    HTML(b,
         "<section class=\"card\"><h2>Sign out everywhere</h2>\n<p>Ends your sign-in on every device, this "
         "one too. API keys and connected apps go on working.</p>\n");
    page_form(r, STR("/account/sign-out"));
    HTML(b, "<button class=\"danger\">Sign out everywhere</button></form></section>\n");
}

static enum next show(struct request *r, const char *fault, const char *new_fault)
{
    const struct page_context *page = page_context_of(r);
    if (fault || new_fault)
        r->res.status = 422;
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("Account"), .current = "/account"});
    if (page->by_proxy) {
        HTML(b, "<p>You were signed in by your organisation, so there is no password here to change.</p>");
        return page_end(r);
    }
    if (page->viewer.login.p) {
        HTML(b, "<p>Your name for signing in is <strong>");
        html_text(b, page->viewer.login);
        HTML(b, "</strong>.</p>\n");
    }
    HTML(b, "<div class=\"columns\">");
    write_password_form(r, fault, new_fault);
    write_sign_out(r);
    HTML(b, "</div>");
    return page_end(r);
}

static enum next account_step(struct request *r)
{
    return show(r, NULL, NULL);
}

const struct route account_page = {.path = "/account", .methods = ROUTE_GET, .start = account_step};

/* ---- another password ---- */

static enum err write_password(struct store *store, void *data)
{
    const struct account_write *w = data;
    enum err e = session_start_check_password(store, &w->entry, w->checked);
    if (e == OK)
        e = store_set_password(store, w->entry.author_row, str_from_cstr(w->text), w->entry.now);
    if (e == OK)
        e = store_delete_sessions_of(store, w->entry.author_row);
    return e ? e : session_start_write(store, &w->entry);
}

static enum next password_written_step(struct request *r)
{
    struct account *a = page_context_of(r)->state;
    if (a->result == ERR_INVALID)
        return show(r, "This is not your password.", NULL);
    if (a->result)
        return page_store_error(r, a->result);
    session_start_set_cookies(r);
    page_set_note(r, NOTE_PASSWORD_SET);
    return page_redirect(r, STR("/account"));
}

static enum next refuse_load(struct request *r)
{
    return page_error(r, 503, "Too many people are signing in right now. Please try again in a moment.");
}

static enum next password_made_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct account *a = page->state;
    if (a->call.err)
        return refuse_load(r);
    session_start_prepare(r, page->viewer.author_row, &a->write.entry);
    memcpy(a->write.checked, page->viewer.password.p, page->viewer.password.len);
    memcpy(a->write.text, a->call.text, sizeof a->write.text);
    r->step = password_written_step;
    return writer_call(page->site->writer, &r->wait, &a->result, write_password, &a->write, sizeof a->write);
}

/* A browser that is signed in now counts like one that has signed in before. */
static struct sign_in_attempt try_of(const struct request *r)
{
    const struct page_context *page = page_context_of(r);
    return (struct sign_in_attempt){
        .account = page->viewer.login,
        .address = r->client_address,
        .device = str_make((const char *)page->session_hash, sizeof page->session_hash)};
}

static enum next current_checked_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct account *a = page->state;
    if (a->call.err)
        return refuse_load(r);
    if (!a->call.matches)
        return show(r, "This is not your password.", NULL);
    const struct sign_in_attempt try = try_of(r);
    sign_in_limiter_succeeded(page->site->sign_in_limiter, &try, clock_mono_ms());
    r->step = password_made_step;
    return password_make(page->site->passwords, &r->wait, &a->call, form_get(&page->form, STR("password")));
}

static enum next password_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct str current = form_get(&page->form, STR("current")),
               chosen = form_get(&page->form, STR("password"));
    if (page->by_proxy || !page->viewer.login.p || !current.p || !chosen.p)
        return page_error(r, 400, "The form wants your password and a new one.");
    const char *fault = password_check(chosen, page->viewer.login);
    if (!fault && !str_eq(chosen, form_get(&page->form, STR("again"))))
        fault = "The two new passwords are not the same.";
    if (fault)
        return show(r, NULL, fault);
    const struct sign_in_attempt try = try_of(r);
    int64_t wait_ms = sign_in_limiter_begin(page->site->sign_in_limiter, &try, clock_mono_ms());
    if (wait_ms)
        return page_too_many_sign_ins(r, wait_ms);
    struct account *a = arena_alloc(&r->arena, sizeof *a);
    page->state = a;
    r->step = current_checked_step;
    return password_verify(page->site->passwords, &r->wait, &a->call, current, page->viewer.password);
}

const struct route account_password_page = {
    .path = "/account/password", .methods = ROUTE_POST, .start = password_step};

/* ---- out everywhere ---- */

static enum err write_out(struct store *store, void *data)
{
    const struct session_start *entry = data;
    return store_delete_sessions_of(store, entry->author_row);
}

static enum next out_step(struct request *r)
{
    struct account *a = page_context_of(r)->state;
    if (a->result)
        return page_store_error(r, a->result);
    session_cookie_clear(r);
    page_set_note(r, NOTE_SIGNED_OUT_EVERYWHERE);
    return page_redirect(r, STR("/sign-in"));
}

static enum next sign_out_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct account *a = arena_alloc(&r->arena, sizeof *a);
    page->state = a;
    a->write.entry.author_row = page->viewer.author_row;
    r->step = out_step;
    return writer_call(page->site->writer, &r->wait, &a->result, write_out, &a->write.entry,
                       sizeof a->write.entry);
}

const struct route account_sign_out_page = {
    .path = "/account/sign-out", .methods = ROUTE_POST, .start = sign_out_step};
