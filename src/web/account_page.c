/* /account: change the password, sign out on all devices, and download the data (export_page.h). */
#include "auth/password.h"
#include "auth/sign_in_limiter.h"
#include "base/clock.h"
#include "web/audit_list.h"
#include "web/export_page.h"
#include "web/session_start.h"
#include "web/form_field.h"
#include "web/page.h"
#include "web/cookies.h"
#include "store/writer_call.h"

struct password_change_write {
    struct session_start start;
    char verified[PASSWORD_STORED_LEN]; /* the stored hash that the password was verified against */
    char text[PASSWORD_STORED_LEN];     /* hash of the new password */
};

/* The state of a request that changes the password or signs out on all devices. */
struct password_change {
    struct password_call call;
    struct password_change_write write;
    enum err result;
};

/* ---- the page ---- */

static void write_password_form(struct request *r, const char *error, const char *new_error)
{
    struct buf *b = &r->res.body;
    HTML(b, "<section class=\"card\"><h2>Password</h2>\n");
    page_write_form(r, STR("/account/password"));
    form_field_write(b, &(struct form_field){.id = "current",
                                             .label = "Current password",
                                             .type = "password",
                                             .autocomplete = "current-password",
                                             .error = error});
    form_field_write(b, &(struct form_field){.id = "password",
                                             .label = "New password",
                                             .type = "password",
                                             .autocomplete = "new-password",
                                             .hint = "At least 8 characters.",
                                             .error = new_error});
    form_field_write(b, &(struct form_field){.id = "again",
                                             .label = "Repeat the new password",
                                             .type = "password",
                                             .autocomplete = "new-password"});
    HTML(b, "<button>Change password</button></form></section>\n");
}

static void write_sign_out(struct request *r)
{
    struct buf *b = &r->res.body;
    HTML(b,
         "<section class=\"card\"><h2>Sign out everywhere</h2>\n<p>Signs you out on every device, including "
         "this one. API keys and connected apps keep working.</p>\n");
    page_write_form(r, STR("/account/sign-out"));
    HTML(b, "<button class=\"danger\">Sign out everywhere</button></form></section>\n");
}

static enum next show(struct request *r, const char *error, const char *new_error)
{
    const struct page_context *page = page_context_of(r);
    if (error || new_error)
        r->res.status = 422;
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("Account"), .current = "/account"});
    if (page->by_proxy) {
        HTML(b, "<p>Your organization signed you in, so there is no password to change here.</p>");
        export_form_write(r, NULL);
        return audit_list_append_and_end_page(r);
    }
    if (page->viewer.login.p) {
        HTML(b, "<p>Your sign-in name is <strong>");
        html_text(b, page->viewer.login);
        HTML(b, "</strong>.</p>\n");
    }
    HTML(b, "<div class=\"columns\">");
    write_password_form(r, error, new_error);
    write_sign_out(r);
    HTML(b, "</div>");
    export_form_write(r, NULL);
    return audit_list_append_and_end_page(r);
}

static enum next account_step(struct request *r)
{
    return show(r, NULL, NULL);
}

const struct route account_page = {.path = "/account", .methods = ROUTE_GET, .start = account_step};

/* ---- changing the password ---- */

static enum err write_password(struct store *store, void *data)
{
    const struct password_change_write *w = data;
    enum err err = session_start_check_password(store, &w->start, w->verified);
    if (err)
        return err;
    err = store_set_password(store, w->start.author_row, str_from_cstr(w->text), w->start.now);
    return err ? err : session_start_write_after_new_password(store, &w->start);
}

static enum next password_written_step(struct request *r)
{
    struct password_change *change = page_context_of(r)->state;
    if (change->result == ERR_INVALID) /* another request has changed the password since it was verified */
        return page_error(r, 422,
                          "Your password has just been changed, for example because the form was sent twice. "
                          "Sign in with the new password on the start page.");
    if (change->result)
        return page_store_error(r, change->result);
    session_start_set_cookies(r);
    page_set_note(r, NOTE_PASSWORD_SET);
    return page_redirect(r, STR("/account"));
}

static enum next password_made_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct password_change *change = page->state;
    if (change->call.err)
        return page_too_busy(r);
    session_start_prepare(r, page->viewer.author_row, &change->write.start);
    memcpy(change->write.verified, page->viewer.password.p, page->viewer.password.len);
    memcpy(change->write.text, change->call.text, sizeof change->write.text);
    r->step = password_written_step;
    return writer_call(page->web->writer, &r->wait, &change->result, write_password, &change->write,
                       sizeof change->write);
}

/* Returns the attempt to enter the current password, for the limiter. A signed-in browser counts as a known
 * device. */
static struct sign_in_attempt attempt_of(const struct request *r)
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
    struct password_change *change = page->state;
    const struct sign_in_attempt attempt = attempt_of(r);
    if (change->call.err)
        return page_too_busy_to_verify(r, &attempt);
    if (!change->call.matches)
        return show(r, "This is not your current password.", NULL);
    sign_in_limiter_record_success(page->web->sign_in_limiter, &attempt, clock_mono_ms());
    r->step = password_made_step;
    return password_hash(page->web->passwords, &r->wait, &change->call,
                         form_get(&page->form, STR("password")));
}

static enum next password_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct str current = form_get(&page->form, STR("current")),
               chosen = form_get(&page->form, STR("password"));
    if (page->by_proxy || !page->viewer.login.p || !current.p || !chosen.p)
        return page_error(r, 400, "Please enter your current password and a new one.");
    const char *error = password_check(chosen, page->viewer.login);
    if (!error && !str_eq(chosen, form_get(&page->form, STR("again"))))
        error = "The two new passwords do not match.";
    if (error)
        return show(r, NULL, error);
    const struct sign_in_attempt attempt = attempt_of(r);
    int64_t wait_ms = sign_in_limiter_begin(page->web->sign_in_limiter, &attempt, clock_mono_ms());
    if (wait_ms)
        return page_too_many_sign_ins(r, wait_ms);
    struct password_change *change = arena_alloc(&r->arena, sizeof *change);
    page->state = change;
    r->step = current_checked_step;
    return password_verify(page->web->passwords, &r->wait, &change->call, current, page->viewer.password);
}

const struct route account_password_page = {
    .path = "/account/password", .methods = ROUTE_POST, .start = password_step};

/* ---- signing out everywhere ---- */

static enum err write_sign_out_everywhere(struct store *store, void *data)
{
    const struct session_start *start = data;
    return store_delete_sessions_and_devices(store, start->author_row);
}

static enum next signed_out_step(struct request *r)
{
    struct password_change *change = page_context_of(r)->state;
    if (change->result)
        return page_store_error(r, change->result);
    session_cookie_clear(r);
    page_set_note(r, NOTE_SIGNED_OUT_EVERYWHERE);
    return page_redirect(r, STR("/sign-in"));
}

static enum next sign_out_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct password_change *change = arena_alloc(&r->arena, sizeof *change);
    page->state = change;
    change->write.start.author_row = page->viewer.author_row;
    r->step = signed_out_step;
    return writer_call(page->web->writer, &r->wait, &change->result, write_sign_out_everywhere,
                       &change->write.start, sizeof change->write.start);
}

const struct route account_sign_out_page = {
    .path = "/account/sign-out", .methods = ROUTE_POST, .start = sign_out_step};
