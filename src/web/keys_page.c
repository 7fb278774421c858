/* /keys: the keys that an author made by hand. GET shows them, POST makes one; /keys/{id} asks before it
 * revokes one.
 *
 * A key is shown once, in the answer to the form that makes it, and only its hash is stored. The form carries
 * a random ticket, and key and id are derived from the ticket and the browser's secret: the same form sent
 * twice finds its key there and makes no second one. Within a minute it shows the same key (a double click:
 * the browser shows only the second answer), later it says that the key was shown. */
#include "auth/api_key.h"
#include "base/clock.h"
#include "web/form_field.h"
#include "web/humanize.h"
#include "web/page.h"
#include "store/author_keys.h"
#include "store/write.h"
#include "store/writer_call.h"

enum { NAME_MAX_CHARS = 200, NAME_MAX_BYTES = 4 * NAME_MAX_CHARS, REVOKED_SHOWN = 20 };
#define SHOWN_AGAIN_MS MINUTE_MS

static const char PATH[] = "/keys";

/* ---- the list ---- */

struct keys {
    int64_t now;
    int shown;
    const char *fault; /* of the name in the form */
    struct str name;
};

static void write_shown(struct request *r, const struct api_key *key)
{
    struct buf *b = &r->res.body;
    HTML(b, "<code>");
    html_text(b, str_from_cstr(page_context_of(r)->site->config->keys.prefix));
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
    HTML(b, "<span class=\"muted small\">Made ");
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
    page_link(r, "href", key_path(r, &key->id));
    HTML(b, ">Revoke<span class=\"sr\"> the key ");
    html_name(b, key->name);
    HTML(b, "</span></a>");
}

static bool on_key(void *ctx, const struct author_key *key)
{
    struct request *r = ctx;
    struct keys *keys = page_context_of(r)->state;
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
    html_name(b, key->key.name);
    HTML(b, "</strong> ");
    write_shown(r, &key->key);
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
    const struct keys *keys = page->state;
    if (page->read.err)
        return page_store_error(r, page->read.err);
    if (keys->shown)
        HTML(&r->res.body, "</ul></details>\n");
    return page_end(r);
}

static enum next listed_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct keys *keys = page->state;
    struct buf *b = &r->res.body;
    if (page->read.err)
        return page_store_error(r, page->read.err);
    if (keys->shown)
        HTML(b, "</ul></section>\n");
    else
        HTML(b, "<p class=\"empty\">You have no keys. Make one for the program that is to read your "
                "numbers.</p></section>\n");
    keys->shown = 0;
    r->step = revoked_listed_step;
    return store_list_author_keys(&page->read, page->viewer.author_row, KEYS_REVOKED, REVOKED_SHOWN, on_key,
                                  r);
}

static void write_form(struct request *r, const struct keys *keys)
{
    struct buf *b = &r->res.body;
    struct secret ticket;
    secret_generate(&ticket);
    HTML(b, "<section class=\"card\"><h2>A new key</h2>\n");
    page_form(r, str_from_cstr(PATH));
    form_field_write_hidden(b, "ticket", secret_format(&r->arena, &ticket));
    form_field_write(
        b, &(struct form_field){.id = "name",
                                .label = "What is it for?",
                                .hint = "A name that tells you later what to revoke, such as “Spreadsheet”.",
                                .fault = keys->fault,
                                .value = keys->name,
                                .max_chars = NAME_MAX_CHARS});
    HTML(b, "<button>Make a key</button></form></section>\n");
}

static enum next show_list(struct request *r, struct str name, const char *fault)
{
    struct page_context *page = page_context_of(r);
    struct keys *keys = arena_alloc(&r->arena, sizeof *keys);
    *keys = (struct keys){.now = clock_wall_ms(), .fault = fault, .name = name};
    page->state = keys;
    if (fault)
        r->res.status = 422;
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("API keys"), .current = PATH});
    HTML(b,
         "<p>A program that has one of your keys can read your numbers, and nothing else. Give each program "
         "its own, so that you can take it back.</p>\n");
    write_form(r, keys);
    HTML(b, "<section class=\"card\"><h2>Your keys</h2>\n");
    r->step = listed_step;
    return store_list_author_keys(&page->read, page->viewer.author_row, KEYS_LIVE, AUTHOR_KEYS_MAX, on_key,
                                  r);
}

/* ---- making one ---- */

struct key_write {
    int64_t author_row, now;
    struct uuid id;
    uint8_t hash[KEY_HASH_LEN];
    char suffix[KEY_SUFFIX_LEN], name[NAME_MAX_BYTES];
    size_t name_len;
    /* What came of it. */
    bool was_there, is_shown_again;
    enum key_limit reached;
};

struct make {
    struct key_text text;
    struct key_write write;
    enum err result;
};

static bool on_known_key(void *ctx, const struct author_key *key)
{
    struct key_write *w = ctx;
    int64_t age = w->now - key->key.created_at;
    w->was_there = true;
    w->is_shown_again = key->key.revoked_at == TIME_NONE && age >= 0 && age < SHOWN_AGAIN_MS;
    return true;
}

static enum err write_key(struct store *store, void *data)
{
    struct key_write *w = data;
    enum err e = store_get_author_key(store, w->author_row, &w->id, on_known_key, w);
    if (e != ERR_NOT_FOUND)
        return e;
    e = store_check_key_limits(store, w->author_row, 0, w->now, &w->reached);
    if (e || w->reached != KEY_LIMIT_NONE)
        return e;
    struct api_key key = {.id = w->id,
                          .author_row = w->author_row,
                          .name = str_make(w->name, w->name_len),
                          .created_at = w->now};
    memcpy(key.suffix, w->suffix, sizeof key.suffix);
    return store_insert_key(store, &key, w->hash);
}

static enum next show_key(struct request *r, const struct make *make)
{
    struct buf *b;
    const struct site *site = page_context_of(r)->site;
    struct str key = str_make(make->text.p, make->text.len);
    page_context_of(r)->has_script = true;
    b = page_begin(r, &(struct page_frame){.title = STR("Your new key"), .current = PATH});
    HTML(b, "<div class=\"notice good\" role=\"status\"><p>The key <strong>");
    html_name(b, str_make(make->write.name, make->write.name_len));
    HTML(b,
         "</strong> is made. <strong>Copy it now: it is shown only this once.</strong></p></div>\n"
         "<div class=\"field\"><label for=\"key\">The key</label><input class=\"secret\" id=\"key\" readonly "
         "autocomplete=\"off\" spellcheck=\"false\"");
    html_attr(b, "value", key);
    HTML(b, "></div>\n<p class=\"muted\">Who has it can read your numbers. Keep it where you keep "
            "passwords.</p>\n<h2>To try it</h2>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
            "aria-label=\"Command\"><pre><code>curl -H 'Authorization: Bearer ");
    html_text(b, key);
    HTML(b, "' ");
    html_text(b, str_from_cstr(site->config->server.base_url));
    HTML(b, "/account</code></pre></div>\n<p><a class=\"button\"");
    page_link(r, "href", str_from_cstr(PATH));
    HTML(b, ">I have copied it</a></p>");
    return page_end(r);
}

static enum next made_step(struct request *r)
{
    const struct make *make = page_context_of(r)->state;
    if (make->result)
        return page_store_error(r, make->result);
    if (make->write.reached != KEY_LIMIT_NONE)
        return page_key_limit(r, make->write.reached, make->write.now);
    if (make->write.was_there && !make->write.is_shown_again)
        return page_error(
            r, 422,
            "This form was sent before: its key was made and shown then, and no second one now. "
            "If you have not kept it, revoke it and make another.");
    return show_key(r, make);
}

/* Both are as hard to guess as the browser's secret and the ticket together. */
static void derive(const struct page_context *page, struct str ticket, struct make *make)
{
    uint8_t bytes[SECRET_LEN];
    secret_derive(&page->secret, STR("key"), ticket, bytes);
    key_from_random(str_from_cstr(page->site->config->keys.prefix), bytes, &make->text);
    secret_derive(&page->secret, STR("key id"), ticket, bytes);
    make->write.id = uuid_from_random(bytes);
    explicit_bzero(bytes, sizeof bytes);
    key_hash(str_make(make->text.p, make->text.len), make->write.hash);
    memcpy(make->write.suffix, make->text.p + make->text.len - KEY_SUFFIX_LEN, KEY_SUFFIX_LEN);
}

static size_t count_chars(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    return n;
}

static enum next make_key(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct str name = str_trim(form_get(&page->form, STR("name"))),
               ticket = form_get(&page->form, STR("ticket"));
    struct secret random;
    if (!secret_parse(ticket, &random))
        return page_error(r, 400, "The form is not complete. Go back, load the page again and repeat it.");
    if (!name.len || count_chars(name) > NAME_MAX_CHARS)
        return show_list(r, name, "A name has 1 to 200 characters.");
    struct make *make = arena_alloc(&r->arena, sizeof *make);
    page->state = make;
    make->write.author_row = page->viewer.author_row;
    make->write.now = clock_wall_ms();
    make->write.name_len = name.len;
    memcpy(make->write.name, name.p, name.len);
    derive(page, ticket, make);
    r->step = made_step;
    return writer_call(page->site->writer, &r->wait, &make->result, write_key, &make->write,
                       sizeof make->write);
}

static enum next keys_step(struct request *r)
{
    return r->method == METHOD_POST ? make_key(r) : show_list(r, STR(""), NULL);
}

const struct route keys_page = {.path = PATH, .methods = ROUTE_GET | ROUTE_POST, .start = keys_step};
