/* /invite/{secret}: the one-time link with which an author chooses a sign-in name and a password. Setting the
 * password consumes the link. Opening it does not, because mail programs open links. Setting the password
 * signs the author out on all other devices. */
#include "auth/failure_log.h"
#include "auth/login.h"
#include "base/clock.h"
#include "auth/password.h"
#include "base/expiry_floor.h"
#include "web/session_start.h"
#include "web/form_field.h"
#include "web/page.h"
#include "store/writer_call.h"

struct invite_write {
    uint8_t hash[SECRET_HASH_LEN];
    struct session_start start;
    size_t login_len;
    char login[LOGIN_MAX_BYTES], text[PASSWORD_STORED_LEN];
    bool login_is_taken;
};

struct invite {
    struct invitation invitation;
    struct str login; /* normalized */
    struct password_call made;
    struct invite_write write;
    enum err result;
};

static enum next reject_link(struct request *r)
{
    failure_log_record(page_context_of(r)->web->failures, FAILURE_INVITATION, r->client_address,
                       clock_mono_ms());
    return page_error(
        r, 410,
        "The link is incomplete, has already been used, is more than one day old, was replaced by a newer "
        "one, or was sent before you changed your password. If you have already chosen a password, sign in "
        "on the start page. Otherwise, please ask the sender for a new link.");
}

/* ---- the form for name and password ---- */

/* Returns the sign-in name that the author cannot change: the name in the invitation, or else the author's
 * existing name. If both are missing, p is NULL, and the author chooses a name. */
static struct str fixed_login(const struct invite *i)
{
    return i->invitation.login.p ? i->invitation.login : i->invitation.viewer.login;
}

static void write_fields(struct buf *b, const struct invite *i, struct str login, const char *login_error,
                         const char *error)
{
    bool is_fixed = fixed_login(i).p;
    form_field_write(b, &(struct form_field){.id = "login",
                                             .label = "Sign-in name",
                                             .autocomplete = "username",
                                             .hint = is_fixed ? NULL : "For example, your email address.",
                                             .error = login_error,
                                             .value = is_fixed ? fixed_login(i) : login,
                                             .max_chars = LOGIN_MAX_BYTES,
                                             .readonly = is_fixed});
    form_field_write(
        b, &(struct form_field){.id = "password",
                                .label = "Password",
                                .type = "password",
                                .autocomplete = "new-password",
                                .hint = "At least 8 characters. Several words are easy to remember and "
                                        "hard to guess.",
                                .error = error});
    form_field_write(b, &(struct form_field){.id = "again",
                                             .label = "Repeat the password",
                                             .type = "password",
                                             .autocomplete = "new-password"});
}

static enum next show_form(struct request *r, struct str login, const char *login_error, const char *error)
{
    const struct invite *i = page_context_of(r)->state;
    if (login_error || error)
        r->res.status = 422;
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("Choose a password"), .narrow = true});
    HTML(b, "<p>This link is for ");
    html_isolated_text(b, i->invitation.viewer.name);
    HTML(b, ". It works once.</p>\n");
    page_write_form(r,
                    arena_printf(&r->arena, "/invite/%.*s", (int)r->path_parameter.len, r->path_parameter.p));
    write_fields(b, i, login, login_error, error);
    HTML(b, "<button>Set password and sign in</button></form>");
    return page_end(r);
}

/* ---- setting the password ---- */

static enum err write_invite(struct store *store, void *data)
{
    struct invite_write *w = data;
    enum err err = store_mark_invitation_used(store, w->hash, w->start.now);
    if (err)
        return err;
    err = store_put_login(store, w->start.author_row, str_make(w->login, w->login_len),
                          str_from_cstr(w->text), w->start.now);
    w->login_is_taken = err == ERR_EXISTS;
    return err ? err : session_start_write_after_new_password(store, &w->start);
}

static enum next written_step(struct request *r)
{
    struct invite *i = page_context_of(r)->state;
    if (i->write.login_is_taken)
        return show_form(r, i->login,
                         fixed_login(i).p
                             ? "Another author has taken this name. Please ask the sender for a new link."
                             : "This name is already taken. Please choose another.",
                         NULL);
    if (i->result == ERR_NOT_FOUND)
        return reject_link(r);
    if (i->result)
        return page_store_error(r, i->result);
    session_start_set_cookies(r);
    return page_redirect(r, STR("/"));
}

static enum next made_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct invite *i = page->state;
    struct invite_write *w = &i->write;
    if (i->made.err)
        return page_too_busy(r);
    secret_hash(&page->link, w->hash);
    session_start_prepare(r, i->invitation.viewer.author_row, &w->start);
    memcpy(w->login, i->login.p, i->login.len);
    w->login_len = i->login.len;
    memcpy(w->text, i->made.text, sizeof w->text);
    r->step = written_step;
    return writer_call(page->web->writer, &r->wait, &i->result, write_invite, w, sizeof *w);
}

static enum next submit(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct invite *i = page->state;
    struct str password = form_get(&page->form, STR("password")), typed = form_get(&page->form, STR("login"));
    if (!password.p || !typed.p)
        return page_error(r, 400, "Please enter a name and a password.");
    i->login = fixed_login(i).p ? fixed_login(i) : login_normalize(&r->arena, typed);
    if (!i->login.p)
        return show_form(r, typed, "The name must be " LOGIN_RULE ", and not an author's id.", NULL);
    const char *error = password_check(password, i->login);
    if (!error && !str_eq(password, form_get(&page->form, STR("again"))))
        error = "The two passwords do not match.";
    if (error)
        return show_form(r, typed, NULL, error);
    r->step = made_step;
    return password_hash(page->web->passwords, &r->wait, &i->made, password);
}

/* Returns true if the invitation has expired, or if it was created more than EXPIRY_JUMP_MS in the future:
 * the clock was wrong then, and must not extend the validity of the link. */
static bool has_expired(const struct invitation *in)
{
    const int64_t now = expiry_now_ms();
    return now >= in->expires_at || in->created_at - now > EXPIRY_JUMP_MS;
}

static enum next found_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct invite *i = page->state;
    const struct invitation *in = &i->invitation;
    if (page->read.err && page->read.err != ERR_NOT_FOUND)
        return page_store_error(r, page->read.err);
    if (page->read.err || in->used_at != TIME_NONE || has_expired(in))
        return reject_link(r);
    return r->method == METHOD_POST ? submit(r) : show_form(r, STR(""), NULL, NULL);
}

static enum next invite_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct invite *i = arena_alloc(&r->arena, sizeof *i);
    uint8_t hash[SECRET_HASH_LEN];
    page->state = i;
    if (!secret_parse(r->path_parameter, &page->link))
        return reject_link(r);
    secret_hash(&page->link, hash);
    r->step = found_step;
    return store_find_invitation(&page->read, &r->arena, hash, &i->invitation);
}

const struct route invite_page = {.path = "/invite/{secret}",
                                  .methods = ROUTE_GET | ROUTE_POST,
                                  .secrets = ROUTE_SECRET_PATH,
                                  .flags = WEB_OPEN,
                                  .start = invite_step};
