/* /keys: the author's API keys, except those of connected apps. GET lists the keys, POST creates a key;
 * /keys/{id} revokes a key (revoke_page.c).
 *
 * A key is shown once, in the response to the form that creates it; only its hash is stored. The form
 * contains a random ticket. The key and its id are derived from the ticket and the browser's secret, so that
 * a form that is sent twice creates one key. If the form is sent again within a minute, the response shows
 * the key again, because after a double click the browser displays only the second response. If it is sent
 * again later, the response only states that the key has been shown. */
#include "auth/api_key.h"
#include "base/clock.h"
#include "web/form_field.h"
#include "web/humanize.h"
#include "web/page.h"
#include "store/author_keys.h"
#include "store/write.h"
#include "store/writer_call.h"

enum { NAME_MAX_CHARS = 200, NAME_MAX_BYTES = 4 * NAME_MAX_CHARS, REVOKED_SHOWN = 20 };
#define REPEAT_SHOWS_KEY_MS MINUTE_MS

static const char PATH[] = "/keys";

/* ---- list of keys ---- */

struct keys_list {
    int64_t now;
    int shown;
    const char *error; /* error message about the name field; may be NULL */
    struct str name;   /* the value of the name field */
};

static void write_masked_key(struct request *r, const struct api_key *key)
{
    struct buf *b = &r->res.body;
    HTML(b, "<code>");
    html_text(b, str_from_cstr(page_context_of(r)->web->config->keys.prefix));
    HTML(b, "…");
    html_text(b, str_make(key->suffix, KEY_SUFFIX_LEN));
    HTML(b, "</code>");
}

static struct str key_path(struct request *r, const struct uuid *id)
{
    char text[UUID_TEXT_LEN];
    uuid_format(id, text);
    return arena_printf(&r->arena, "%s/%.*s", PATH, UUID_TEXT_LEN, text);
}

static void write_times(struct buf *b, const struct api_key *key, int64_t now)
{
    HTML(b, "<span class=\"muted small\">Created ");
    html_time_ago(b, key->created_at, now);
    if (key->revoked_at != TIME_NONE) {
        HTML(b, ", revoked ");
        html_time_ago(b, key->revoked_at, now);
    } else if (key->last_used_at != TIME_NONE) {
        HTML(b, ", last used ");
        html_time_ago(b, key->last_used_at, now);
    } else {
        HTML(b, ", never used");
    }
    HTML(b, "</span>");
}

static void write_revoke(struct request *r, const struct api_key *key)
{
    struct buf *b = &r->res.body;
    HTML(b, "<a class=\"button danger\"");
    page_write_link(r, "href", key_path(r, &key->id));
    HTML(b, ">Revoke<span class=\"sr\"> the key ");
    html_isolated_text(b, key->name);
    HTML(b, "</span></a>");
}

static bool on_key(void *ctx, const struct author_key *key)
{
    struct request *r = ctx;
    struct keys_list *keys = page_context_of(r)->state;
    struct buf *b = &r->res.body;
    bool live = key->key.revoked_at == TIME_NONE;
    if (key->is_app)
        return true;
    if (keys->shown++ == 0) {
        if (!live)
            HTML(b, "<details class=\"card\"><summary>Revoked keys</summary>\n");
        HTML(b, "<ul class=\"keys\">\n");
    }
    HTML(b, "<li><div><strong>");
    html_isolated_text(b, key->key.name);
    HTML(b, "</strong> ");
    write_masked_key(r, &key->key);
    write_times(b, &key->key, keys->now);
    HTML(b, "</div>");
    if (live)
        write_revoke(r, &key->key);
    HTML(b, "</li>\n");
    return true;
}

static enum next revoked_listed_step(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    const struct keys_list *keys = page->state;
    if (page->read.err)
        return page_store_error(r, page->read.err);
    if (keys->shown)
        HTML(&r->res.body, "</ul></details>\n");
    return page_end(r);
}

static enum next listed_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct keys_list *keys = page->state;
    struct buf *b = &r->res.body;
    if (page->read.err)
        return page_store_error(r, page->read.err);
    if (keys->shown)
        HTML(b, "</ul></section>\n");
    else
        HTML(b, "<p class=\"empty\">You have no keys yet. Create one for each program that should read "
                "your numbers.</p></section>\n");
    keys->shown = 0;
    r->step = revoked_listed_step;
    return store_list_author_keys(&page->read, page->viewer.author_row, KEYS_REVOKED, REVOKED_SHOWN, on_key,
                                  r);
}

static void write_form(struct request *r, const struct keys_list *keys)
{
    struct buf *b = &r->res.body;
    struct secret ticket;
    secret_generate(&ticket);
    HTML(b, "<section class=\"card\"><h2>New key</h2>\n");
    page_write_form(r, str_from_cstr(PATH));
    form_field_write_hidden(b, "ticket", secret_format(&r->arena, &ticket));
    form_field_write(b, &(struct form_field){
                            .id = "name",
                            .label = "What is it for?",
                            .hint = "A name that helps you recognize the key later, such as “Spreadsheet”.",
                            .error = keys->error,
                            .value = keys->name,
                            .max_chars = NAME_MAX_CHARS});
    HTML(b, "<button>Create key</button></form></section>\n");
}

static enum next show_list(struct request *r, struct str name, const char *error)
{
    struct page_context *page = page_context_of(r);
    struct keys_list *keys = arena_alloc(&r->arena, sizeof *keys);
    *keys = (struct keys_list){.now = clock_wall_ms(), .error = error, .name = name};
    page->state = keys;
    if (error)
        r->res.status = 422;
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("API keys"), .current = PATH});
    HTML(b, "<p>A program with one of your keys can read your numbers and do nothing else. Give each program "
            "its own key, so that you can revoke each one separately.</p>\n");
    write_form(r, keys);
    HTML(b, "<section class=\"card\"><h2>Your keys</h2>\n");
    r->step = listed_step;
    return store_list_author_keys(&page->read, page->viewer.author_row, KEYS_LIVE, AUTHOR_KEYS_MAX, on_key,
                                  r);
}

/* ---- creating a key ---- */

struct key_write {
    int64_t author_row, now;
    struct actor by;
    struct uuid id;
    uint8_t hash[KEY_HASH_LEN];
    char suffix[KEY_SUFFIX_LEN], name[NAME_MAX_BYTES];
    size_t name_len;
    /* The result. */
    bool existed, show_again;
    enum key_limit reached;
};

struct key_creation {
    struct key_text text;
    struct key_write write;
    enum err result;
};

static bool on_existing_key(void *ctx, const struct author_key *key)
{
    struct key_write *w = ctx;
    int64_t age = w->now - key->key.created_at;
    w->existed = true;
    w->show_again = key->key.revoked_at == TIME_NONE && age >= 0 && age < REPEAT_SHOWS_KEY_MS;
    return true;
}

static enum err write_key(struct store *store, void *data)
{
    struct key_write *w = data;
    enum err err = store_get_author_key(store, w->author_row, &w->id, on_existing_key, w);
    if (err != ERR_NOT_FOUND)
        return err;
    err = store_check_key_limits(store, w->author_row, 0, w->now, &w->reached);
    if (err || w->reached != KEY_LIMIT_NONE)
        return err;
    struct api_key key = {.id = w->id,
                          .author_row = w->author_row,
                          .name = str_make(w->name, w->name_len),
                          .created_at = w->now};
    memcpy(key.suffix, w->suffix, sizeof key.suffix);
    return store_insert_key(store, &key, w->hash, &w->by);
}

static enum next show_key(struct request *r, const struct key_creation *creation)
{
    struct buf *b;
    const struct web *web = page_context_of(r)->web;
    struct str key = str_make(creation->text.p, creation->text.len);
    page_context_of(r)->has_script = true;
    b = page_begin(r, &(struct page_frame){.title = STR("Your new key"), .current = PATH});
    HTML(b, "<div class=\"notice good\" role=\"status\"><p>The key <strong>");
    html_isolated_text(b, str_make(creation->write.name, creation->write.name_len));
    HTML(
        b,
        "</strong> was created. <strong>Copy it now: it is shown only once.</strong></p></div>\n"
        "<div class=\"field\"><label for=\"key\">Your key</label><input class=\"secret\" id=\"key\" readonly "
        "autocomplete=\"off\" spellcheck=\"false\"");
    html_attr(b, "value", key);
    HTML(b, "></div>\n<p class=\"muted\">Anyone who has this key can read your numbers. Store it "
            "like a password.</p>\n<h2>Try it</h2>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
            "aria-label=\"Command\"><pre><code>curl -H 'Authorization: Bearer ");
    html_text(b, key);
    HTML(b, "' ");
    html_text(b, str_from_cstr(web->config->server.base_url));
    HTML(b, "/account</code></pre></div>\n<p><a class=\"button\"");
    page_write_link(r, "href", str_from_cstr(PATH));
    HTML(b, ">I have copied it</a></p>");
    return page_end(r);
}

static enum next created_step(struct request *r)
{
    const struct key_creation *creation = page_context_of(r)->state;
    if (creation->result)
        return page_store_error(r, creation->result);
    if (creation->write.reached != KEY_LIMIT_NONE)
        return page_key_limit(r, creation->write.reached, creation->write.now);
    if (creation->write.existed && !creation->write.show_again)
        return page_error(
            r, 422,
            "This form was already sent, and its key was shown then. If you did not save the key, revoke it "
            "and create another one.");
    return show_key(r, creation);
}

/* Derives the key and its id from the ticket and the browser's secret. The key and the id are as hard to
 * guess as the ticket and the secret together. */
static void derive_key(const struct page_context *page, struct str ticket, struct key_creation *creation)
{
    uint8_t bytes[SECRET_LEN];
    secret_derive(&page->secret, STR("key"), ticket, bytes);
    key_from_random(str_from_cstr(page->web->config->keys.prefix), bytes, &creation->text);
    secret_derive(&page->secret, STR("key id"), ticket, bytes);
    creation->write.id = uuid_from_random(bytes);
    explicit_bzero(bytes, sizeof bytes);
    key_hash(str_make(creation->text.p, creation->text.len), creation->write.hash);
    memcpy(creation->write.suffix, creation->text.p + creation->text.len - KEY_SUFFIX_LEN, KEY_SUFFIX_LEN);
}

static size_t count_chars(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    return n;
}

static enum next create_key(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct str name = str_trim(form_get(&page->form, STR("name"))),
               ticket = form_get(&page->form, STR("ticket"));
    struct secret random;
    if (!secret_parse(ticket, &random))
        return page_error(r, 400, "The form is incomplete. Go back, reload the page and try again.");
    if (!name.len || count_chars(name) > NAME_MAX_CHARS)
        return show_list(r, name, "Please enter a name of 1 to 200 characters.");
    struct key_creation *creation = arena_alloc(&r->arena, sizeof *creation);
    page->state = creation;
    creation->write.author_row = page->viewer.author_row;
    creation->write.now = clock_wall_ms();
    creation->write.by = page_actor(r);
    creation->write.name_len = name.len;
    memcpy(creation->write.name, name.p, name.len);
    derive_key(page, ticket, creation);
    r->step = created_step;
    return writer_call(page->web->writer, &r->wait, &creation->result, write_key, &creation->write,
                       sizeof creation->write);
}

static enum next keys_step(struct request *r)
{
    return r->method == METHOD_POST ? create_key(r) : show_list(r, STR(""), NULL);
}

const struct route keys_page = {.path = PATH, .methods = ROUTE_GET | ROUTE_POST, .start = keys_step};
