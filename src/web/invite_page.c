/* /invite/{secret}: the link that the operator gives out, where an author chooses a login name and a
 * password. Reading it uses nothing up (mail programs look at links); setting the password does, and signs
 * out everywhere else. */
#include "auth/login.h"
#include "auth/password.h"
#include "base/expiry_floor.h"
#include "web/session_start.h"
#include "web/form_field.h"
#include "web/page.h"
#include "store/writer_call.h"

struct invite_write {
    uint8_t hash[SECRET_HASH_LEN];
    struct session_start entry;
    size_t login_len;
    char login[LOGIN_MAX_BYTES], text[PASSWORD_STORED_LEN];
    bool login_is_taken;
};

struct invite {
    struct invitation invitation;
    struct str login; /* folded */
    struct password_call made;
    struct invite_write write;
    enum err result;
};

static enum next refuse_link(struct request *r)
{
    return page_error(r, 410,
                      "This link has been used, is more than a day old, or a newer one took its place. Ask "
                      "whoever sent it for a new one.");
}

/* ---- the form ---- */

/* The name that is not the author's to choose; p == NULL: it is. */
static struct str given_login(const struct invite *i)
{
    return i->invitation.login.p ? i->invitation.login : i->invitation.viewer.login;
}

static void write_fields(struct buf *b, const struct invite *i, struct str login, const char *login_fault,
                         const char *fault)
{
    bool given = given_login(i).p;
    form_field_write(b, &(struct form_field){.id = "login",
                                             .label = "Your name for signing in",
                                             .autocomplete = "username",
                                             .hint = given ? NULL : "For example your mail address.",
                                             .fault = login_fault,
                                             .value = given ? given_login(i) : login,
                                             .max_chars = LOGIN_MAX_BYTES,
                                             .readonly = given});
    form_field_write(
        b, &(struct form_field){.id = "password",
                                .label = "Password",
                                .type = "password",
                                .autocomplete = "new-password",
                                .hint = "At least 8 characters. Several words are easy to remember and "
                                        "hard to guess.",
                                .fault = fault});
    form_field_write(b, &(struct form_field){.id = "again",
                                             .label = "The password again",
                                             .type = "password",
                                             .autocomplete = "new-password"});
}

static enum next show_form(struct request *r, struct str login, const char *login_fault, const char *fault)
{
    const struct invite *i = page_context_of(r)->state;
    if (login_fault || fault)
        r->res.status = 422;
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("Choose a password"), .narrow = true});
    HTML(b, "<p>This link is for ");
    html_name(b, i->invitation.viewer.name);
    HTML(b, ". It works once.</p>\n");
    page_form(r, arena_printf(&r->arena, "/invite/%.*s", (int)page_context_of(r)->tail.len,
                              page_context_of(r)->tail.p));
    write_fields(b, i, login, login_fault, fault);
    HTML(b, "<button>Set the password and sign in</button></form>");
    return page_end(r);
}

/* ---- setting the password ---- */

static enum err write_invite(struct store *store, void *data)
{
    struct invite_write *w = data;
    int64_t author_row = w->entry.author_row;
    enum err e = store_use_invitation(store, w->hash, w->entry.now);
    if (e)
        return e;
    e = store_put_login(store, author_row, str_make(w->login, w->login_len), str_from_cstr(w->text),
                        w->entry.now);
    w->login_is_taken = e == ERR_EXISTS;
    if (e == OK)
        e = store_delete_sessions_of(store, author_row);
    return e ? e : session_start_write(store, &w->entry);
}

static enum next written_step(struct request *r)
{
    struct invite *i = page_context_of(r)->state;
    if (i->write.login_is_taken)
        return show_form(r, i->login, "Somebody else has this name already. Please choose another.", NULL);
    if (i->result == ERR_NOT_FOUND)
        return refuse_link(r);
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
        return page_error(r, 503, "Too many people are signing in right now. Please try again in a moment.");
    secret_hash(&page->link, w->hash);
    session_start_prepare(r, i->invitation.viewer.author_row, &w->entry);
    memcpy(w->login, i->login.p, i->login.len);
    w->login_len = i->login.len;
    memcpy(w->text, i->made.text, sizeof w->text);
    r->step = written_step;
    return writer_call(page->site->writer, &r->wait, &i->result, write_invite, w, sizeof *w);
}

static enum next take_form(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct invite *i = page->state;
    struct str password = form_get(&page->form, STR("password")), typed = form_get(&page->form, STR("login"));
    if (!password.p || !typed.p)
        return page_error(r, 400, "The form wants a name and a password.");
    i->login = given_login(i).p ? given_login(i) : login_normalize(&r->arena, typed);
    if (!i->login.p)
        return show_form(r, typed, "The name has to be " LOGIN_RULE ".", NULL);
    const char *fault = password_check(password, i->login);
    if (!fault && !str_eq(password, form_get(&page->form, STR("again"))))
        fault = "The two passwords are not the same.";
    if (fault)
        return show_form(r, typed, NULL, fault);
    r->step = made_step;
    return password_make(page->site->passwords, &r->wait, &i->made, password);
}

static enum next found_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct invite *i = page->state;
    const struct invitation *in = &i->invitation;
    if (page->read.err && page->read.err != ERR_NOT_FOUND)
        return page_store_error(r, page->read.err);
    if (page->read.err || in->used_at != TIME_NONE || expiry_now_ms() >= in->expires_at)
        return refuse_link(r);
    return r->method == METHOD_POST ? take_form(r) : show_form(r, STR(""), NULL, NULL);
}

static enum next invite_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct invite *i = arena_alloc(&r->arena, sizeof *i);
    uint8_t hash[SECRET_HASH_LEN];
    page->state = i;
    if (!secret_parse(page->tail, &page->link))
        return refuse_link(r);
    secret_hash(&page->link, hash);
    r->step = found_step;
    return store_find_invitation(&page->read, &r->arena, hash, &i->invitation);
}

const struct route invite_page = {.path = "/invite/{secret}",
                                  .methods = ROUTE_GET | ROUTE_POST,
                                  .secrets = ROUTE_SECRET_PATH,
                                  .flags = SITE_OPEN,
                                  .start = invite_step};
