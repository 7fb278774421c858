/* /sign-in and /sign-out.
 *
 * POST /sign-in: look up device and login -> limiter -> verify the password on the thread pool -> write the
 * session -> redirect to `next`. An unknown name and a wrong password get the same response after the same
 * amount of work. */
#include "auth/failure_log.h"
#include "auth/login.h"
#include "auth/password.h"
#include "auth/sign_in_limiter.h"
#include "base/clock.h"
#include "base/expiry_floor.h"
#include "base/plural.h"
#include "web/session_start.h"
#include "web/form_field.h"
#include "web/page.h"
#include "web/page_checks.h"
#include "web/cookies.h"
#include "store/writer_call.h"

struct sign_in_write {
    struct session_start start;
    char verified[PASSWORD_STORED_LEN]; /* the stored hash against which the password was verified */
    char text[PASSWORD_STORED_LEN]; /* a new hash with the current parameters, to replace the stored one; ""
                                       if not needed */
};

struct sign_in {
    struct str login, next; /* `login`: the name as typed; `next`: the local path to redirect to, or "" */
    struct str account;     /* the sign-in name, normalized, or as typed if it is not valid */
    struct viewer found;
    uint8_t device[SECRET_HASH_LEN]; /* hash of the device cookie */
    int64_t device_author;           /* the author who has signed in with this browser before; 0 if none */
    struct sign_in_attempt try;
    struct password_call check;
    struct sign_in_write write;
    enum err result;
};

/* ---- the sign-in form ---- */

static struct str local_or_home(struct str next)
{
    return next.p && web_path_is_local(next) ? next : STR("");
}

static enum next show_form(struct request *r, struct str login, struct str next, const char *error)
{
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("Sign in"), .narrow = true});
    if (error) {
        HTML(b, "<p class=\"notice bad\" role=\"alert\">");
        html_text(b, str_from_cstr(error));
        HTML(b, "</p>");
    }
    page_write_form(r, STR("/sign-in"));
    form_field_write_hidden(b, "next", next);
    form_field_write(b,
                     &(struct form_field){
                         .id = "login", .label = "Sign-in name", .autocomplete = "username", .value = login});
    form_field_write(b, &(struct form_field){.id = "password",
                                             .label = "Password",
                                             .type = "password",
                                             .autocomplete = "current-password"});
    HTML(b, "<button>Sign in</button></form>\n<p class=\"hint\">No password yet, or forgot it? Ask the "
            "people who run this service for a new link.</p>");
    return page_end(r);
}

static enum next redirect_after_sign_in(struct request *r, struct str next)
{
    return next.len ? page_redirect_local(r, next) : page_redirect(r, STR("/"));
}

/* ---- the steps of a sign-in ---- */

static enum err write_sign_in(struct store *store, void *data)
{
    struct sign_in_write *w = data;
    enum err err = session_start_check_password(store, &w->start, w->verified);
    if (err)
        return err;
    err = session_start_write(store, &w->start);
    if (err || !*w->text)
        return err;
    return store_set_password(store, w->start.author_row, str_from_cstr(w->text), TIME_NONE);
}

static void record_failure(struct request *r)
{
    failure_log_record(page_context_of(r)->web->failures, FAILURE_SIGN_IN, r->client_address,
                       clock_mono_ms());
}

static enum next reject_password(struct request *r)
{
    const struct sign_in *s = page_context_of(r)->state;
    record_failure(r);
    r->res.status = 422;
    return show_form(r, s->login, s->next, "The sign-in name or the password is wrong.");
}

static enum next signed_in_step(struct request *r)
{
    struct sign_in *s = page_context_of(r)->state;
    if (s->result == ERR_INVALID)
        return reject_password(r);
    if (s->result)
        return page_store_error(r, s->result);
    session_start_set_cookies(r);
    return redirect_after_sign_in(r, s->next);
}

static enum next checked_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct sign_in *s = page->state;
    if (s->check.err)
        return page_too_busy_to_verify(r, &s->try);
    if (!s->check.matches)
        return reject_password(r);
    sign_in_limiter_record_success(page->web->sign_in_limiter, &s->try, clock_mono_ms());
    session_start_prepare(r, s->found.author_row, &s->write.start);
    memcpy(s->write.verified, s->found.password.p, s->found.password.len);
    memcpy(s->write.text, s->check.text, sizeof s->write.text);
    r->step = signed_in_step;
    return writer_call(page->web->writer, &r->wait, &s->result, write_sign_in, &s->write, sizeof s->write);
}

/* Shows the form again, with the name but without the password, and the time to wait. The response does not
 * reveal whether the account exists. */
static enum next reject_until_later(struct request *r, int64_t wait_ms)
{
    const struct sign_in *s = page_context_of(r)->state;
    const long long wait_s = (wait_ms + SECOND_MS - 1) / SECOND_MS;
    const struct str error = arena_printf(&r->arena,
                                          "Too many failed sign-ins. Please wait %lld second%s, "
                                          "then try again.",
                                          wait_s, plural(wait_s, "", "s"));
    record_failure(r);
    r->res.status = 429;
    enum next next = show_form(r, s->login, s->next, error.p);
    response_add_field(r, STR("Retry-After"), arena_printf(&r->arena, "%lld", wait_s));
    return next;
}

static enum next found_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct sign_in *s = page->state;
    if (page->read.err && page->read.err != ERR_NOT_FOUND)
        return page_store_error(r, page->read.err);
    struct str stored = page->read.err ? (struct str){NULL, 0} : s->found.password;
    s->try = (struct sign_in_attempt){.account = s->account, .address = r->client_address};
    if (s->device_author && !page->read.err && s->device_author == s->found.author_row)
        s->try.device = str_make((const char *)s->device, sizeof s->device);
    const int64_t wait_ms = sign_in_limiter_begin(page->web->sign_in_limiter, &s->try, clock_mono_ms());
    if (wait_ms)
        return reject_until_later(r, wait_ms);
    r->step = checked_step;
    return password_verify(page->web->passwords, &r->wait, &s->check, form_get(&page->form, STR("password")),
                           stored);
}

/* Continues after the lookup of the device. If the lookup failed, treats the browser as an unknown device. */
static enum next device_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct sign_in *s = page->state;
    if (page->read.err)
        s->device_author = 0;
    r->step = found_step;
    return store_find_login(&page->read, &r->arena, s->account, &s->found);
}

static enum next begin_sign_in(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct sign_in *s = arena_alloc(&r->arena, sizeof *s);
    struct str password = form_get(&page->form, STR("password"));
    page->state = s;
    s->login = form_get(&page->form, STR("login"));
    s->next = local_or_home(form_get(&page->form, STR("next")));
    if (!s->login.p || !password.p)
        return page_error(r, 400, "Please enter a name and a password.");
    struct str folded = login_normalize(&r->arena, s->login);
    s->account = folded.p ? folded : s->login;
    r->step = device_step;
    if (!session_start_read_device(r, s->device))
        return NEXT_MORE;
    return store_find_device(&page->read, s->device, expiry_now_ms(), &s->device_author);
}

static enum next sign_in_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct str next = local_or_home(form_get(&page->query, STR("next")));
    if (r->method == METHOD_POST)
        return begin_sign_in(r);
    return page->viewer.author_row ? redirect_after_sign_in(r, next) : show_form(r, STR(""), next, NULL);
}

const struct route sign_in_page = {.path = "/sign-in",
                                   .methods = ROUTE_GET | ROUTE_POST,
                                   .flags = WEB_OPEN | WEB_IN_POPUP,
                                   .start = sign_in_step};

/* ---- signing out ---- */

struct sign_out {
    uint8_t hash[SECRET_HASH_LEN];
    enum err result;
};

static enum err write_sign_out(struct store *store, void *data)
{
    const struct sign_out *s = data;
    return store_delete_session(store, s->hash);
}

static enum next signed_out_step(struct request *r)
{
    struct sign_out *s = page_context_of(r)->state;
    if (s->result)
        return page_store_error(r, s->result);
    session_cookie_clear(r);
    page_set_note(r, NOTE_SIGNED_OUT);
    return page_redirect(r, STR("/sign-in"));
}

static enum next sign_out_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct sign_out *s = arena_alloc(&r->arena, sizeof *s);
    if (!page->viewer.author_row || page->by_proxy)
        return page_redirect(r, STR("/sign-in"));
    page->state = s;
    memcpy(s->hash, page->session_hash, sizeof s->hash);
    r->step = signed_out_step;
    return writer_call(page->web->writer, &r->wait, &s->result, write_sign_out, s, sizeof *s);
}

const struct route sign_out_page = {
    .path = "/sign-out", .methods = ROUTE_POST, .flags = WEB_OPEN, .start = sign_out_step};
