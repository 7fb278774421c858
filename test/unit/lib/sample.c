/* Reads, plays and prints samples. */
#include "lib/sample.h"

#include "base/check.h"
#include "base/clock.h"
#include "platforms/describe.h"
#include "platforms/grant.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const functions[] = {"read", "resolve", "refresh", "link"};

/* ---- reading ---- */

static bool read_word(struct str *line, struct str *word)
{
    *line = str_cut(*line, ' ', word);
    return word->len > 0;
}

static bool read_number(struct str *line, int max, int *out)
{
    struct str word;
    unsigned long long n;
    if (!read_word(line, &word) || !str_to_u64(word, (unsigned)max, &n))
        return false;
    *out = (int)n;
    return true;
}

static bool read_first_line(struct sample *s, struct str line)
{
    struct str name, function;
    int tier;
    if (!read_word(&line, &name) || !read_word(&line, &function) || !read_number(&line, 9, &tier) ||
        !read_number(&line, 999, &s->response.status))
        return false;
    const struct platform_desc *desc = platform_desc_by_name(name);
    if (!desc)
        return false;
    s->api = desc->api;
    s->tier = tier;
    for (int i = 0; i < 4; i++)
        if (str_eq(function, str_from_cstr(functions[i]))) {
            s->function = (enum sample_function)i;
            return (s->function != SAMPLE_REFRESH || desc->parse_refresh) &&
                   (s->function != SAMPLE_LINK || desc->links);
        }
    return false;
}

static void read_ids(struct sample *s, struct str ids)
{
    struct str id;
    while (ids.p && s->call.item_count < SAMPLE_ITEMS) {
        ids = str_cut(ids, ',', &id);
        s->items[s->call.item_count++] =
            (struct platform_item){.id = id, .posted_at = SAMPLE_NOW - 10 * DAY_MS};
    }
}

static void read_options(struct sample *s, struct str words)
{
    struct str word;
    while (words.p) {
        words = str_cut(words, ' ', &word);
        s->by_key |= str_eq(word, STR("key"));
        s->options.batch |= str_eq(word, STR("batch"));
        s->call.with_account |= str_eq(word, STR("account"));
        s->call.combined |= str_eq(word, STR("combined"));
        s->call.is_personal |= str_eq(word, STR("personal"));
        if (str_starts_with(word, STR("dropped=")))
            s->call.dropped = str_make(word.p + 8, word.len - 8);
        for (size_t i = 0; str_starts_with(word, STR("source=")) && i < s->call.item_count; i++)
            s->items[i].views_source = word.len == 8 ? (word.p[7] & 7) : 0;
        for (size_t i = 0; str_eq(word, STR("young")) && i < s->call.item_count; i++)
            s->items[i].posted_at = SAMPLE_NOW - HOUR_MS;
    }
}

static void read_line(struct sample *s, struct str line)
{
    struct str name, value = str_cut(line, ':', &name);
    if (line.len > 1 && line.p[0] == '>') {
        struct str expected = str_trim(str_make(line.p + 1, line.len - 1));
        buf_printf(&s->note, "%.*s\n", (int)expected.len, expected.p);
    } else if (str_eq(name, STR("ids"))) {
        read_ids(s, str_trim(value));
    } else if (str_eq(name, STR("options"))) {
        read_options(s, str_trim(value));
    } else if (line.p[0] != '#' && value.p && s->response.header_count < SAMPLE_HEADERS) {
        s->headers[s->response.header_count++] = (struct http_header){name, str_trim(value)};
    }
}

bool sample_parse(struct sample *s, struct str text)
{
    struct str line;
    *s = (struct sample){
        .options = {.origins = {"https://api.example", "https://token.example", "https://consent.example"},
                    .graph_version = "v26.0"}};
    buf_init(&s->note, 64 << 10);
    text = str_cut(text, '\n', &line);
    if (!read_first_line(s, line))
        return false;
    while (text.p) {
        text = str_cut(text, '\n', &line);
        if (line.len == 0)
            break;
        read_line(s, line);
    }
    s->response.body = text;
    s->response.headers = s->headers;
    s->expected = buf_str(&s->note);
    const struct platform_desc *desc = platform_desc(s->api);
    /* The code that builds calls leaves room in the batch for the account. */
    if (s->call.with_account && s->call.item_count > 10)
        return false;
    if (s->function == SAMPLE_RESOLVE)
        return s->call.item_count >= 1 && s->call.item_count <= (size_t)desc->ids_per_resolve;
    if (s->function != SAMPLE_READ)
        return true;
    return s->tier < desc->tiers && s->call.item_count &&
           s->call.item_count <= (size_t)desc->ids_per_call[s->tier];
}

void sample_fini(struct sample *s)
{
    buf_fini(&s->note);
}

/* ---- parsing a sample and checking the items ---- */

static void check_item(const struct sample *s, const struct platform_item *item)
{
    bool measured = false;
    CHECK((unsigned)item->state <= ITEM_DENIED);
    CHECK(item->views_source >= 0 && item->views_source < 256);
    for (int k = 0; k < COUNT_KINDS; k++) {
        CHECK(item->counts[k] == COUNT_NONE || (item->counts[k] >= 0 && item->counts[k] <= COUNT_MAX));
        measured |= item->counts[k] != COUNT_NONE;
        if (item->counts[k] != COUNT_NONE)
            CHECK(platform_desc(s->api)->measurable[k]);
    }
    if (s->function == SAMPLE_READ)
        CHECK(measured == (item->state == ITEM_OK));
    else
        CHECK(!measured && (item->resolved.p ? item->state == ITEM_OK || item->state == ITEM_NO_DATA
                                             : item->state != ITEM_OK));
    if (item->resolved.p)
        CHECK(platform_id_is_plain(item->resolved) || str_eq(item->resolved, item->id));
}

static void check_outcome(const struct outcome *o)
{
    CHECK((unsigned)o->kind < OUTCOME_KINDS && (unsigned)o->scope <= SCOPE_APP);
    CHECK(o->wait_ms >= 0 && o->wait_ms <= DAY_MS);
    CHECK(o->usage_percent >= 0 && o->usage_percent <= 1000);
    CHECK(o->code.len > 0 && o->code.len <= 64);
    for (size_t i = 0; i < o->code.len; i++)
        CHECK(o->code.p[i] > ' ' && o->code.p[i] <= '~');
}

static void play_call(struct arena *a, struct sample *s)
{
    struct http_request request;
    s->call.kind = s->function == SAMPLE_RESOLVE ? CALL_RESOLVE : CALL_READ;
    s->call.options = &s->options;
    s->call.account_id = STR("1784");
    s->call.access_token = STR("TOKEN");
    s->call.by_key = s->by_key;
    s->call.tier = s->tier;
    s->call.now_ms = SAMPLE_NOW;
    s->call.items = s->items;
    platform_desc(s->api)->build(a, &s->call, &request);
    CHECK(request.path.len && request.path.p[0] == '/');
    s->outcome = platform_desc(s->api)->parse(a, &s->call, &s->response);
    for (size_t i = 0; i < s->call.item_count; i++)
        check_item(s, &s->items[i]);
}

static void play_link(struct arena *a, struct sample *s)
{
    struct http_request request;
    s->link = (struct platform_link){.options = &s->options, .step = s->tier};
    s->link.app = (struct platform_app){STR("ID"), STR("SECRET")};
    s->link.redirect_uri = STR("https://a.example/linked");
    s->link.code = STR("CODE");
    s->link.grant.access_token = STR("TOKEN");
    if (s->api == API_TIKTOK && s->tier == 1) { /* the account was part of the token response */
        s->link.accounts[0] = (struct linked_account){.api = API_TIKTOK, .id = STR("afd97af1")};
        s->link.account_count = 1;
    }
    if (!platform_desc(s->api)->link_build(a, &s->link, &request)) {
        s->outcome = (struct outcome){.code = STR("done")};
        return;
    }
    s->outcome = platform_desc(s->api)->link_parse(a, &s->link, &s->response);
    CHECK(s->link.account_count <= LINK_ACCOUNTS_MAX);
    if (s->outcome.kind != OUTCOME_OK)
        return;
    for (size_t i = 0; i < s->link.account_count; i++)
        CHECK(platform_id_is_plain(s->link.accounts[i].id));
    if (platform_desc(s->api)->link_build(a, &s->link, &request))
        CHECK(request.path.len && request.path.p[0] == '/');
}

void sample_play(struct arena *a, struct sample *s)
{
    if (s->function == SAMPLE_LINK) {
        play_link(a, s);
    } else if (s->function == SAMPLE_REFRESH) {
        s->outcome = platform_desc(s->api)->parse_refresh(a, &s->response, &s->grant);
        CHECK(s->outcome.kind != OUTCOME_OK || grant_token_fits_header(s->grant.access_token));
    } else {
        play_call(a, s);
    }
    check_outcome(&s->outcome);
}

/* ---- printing ---- */

static void print_grant(struct buf *out, const struct token_grant *grant)
{
    buf_printf(out, "grant");
    describe_text(out, "access", grant->access_token);
    describe_text(out, "refresh", grant->refresh_token);
    describe_number(out, "life", grant->expires_in_s);
    describe_number(out, "refresh_life", grant->refresh_expires_in_s);
    describe_text(out, "account", grant->account_id);
    describe_text(out, "scopes", grant->scopes);
    buf_append_char(out, '\n');
}

void sample_print(const struct sample *s, struct buf *out)
{
    const struct outcome *o = &s->outcome;
    describe_outcome(out, o);
    buf_append_char(out, '\n');
    for (size_t i = 0; i < s->call.item_count; i++)
        if (s->items[i].state != ITEM_PENDING) {
            describe_item(out, &s->items[i]);
            buf_append_char(out, '\n');
        }
    if (s->function == SAMPLE_REFRESH && o->kind == OUTCOME_OK)
        print_grant(out, &s->grant);
    for (size_t i = 0; s->function == SAMPLE_LINK && i < s->link.account_count; i++) {
        const struct linked_account *account = &s->link.accounts[i];
        buf_printf(out, "account %s %.*s", platform_desc(account->api)->name, (int)account->id.len,
                   account->id.p);
        describe_text(out, "name", account->name);
        describe_text(out, "scopes", account->grant.scopes);
        if (account->is_personal)
            buf_append(out, STR(" personal"));
        buf_append_char(out, '\n');
    }
}

/* ---- files ---- */

#define SAMPLES "test/data/platforms"

static int is_sample(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void read_file(const char *name, struct buf *out)
{
    char path[300];
    size_t n;
    (void)snprintf(path, sizeof path, SAMPLES "/%s", name);
    FILE *f = fopen(path, "rb");
    CHECK(f);
    while ((n = fread(buf_reserve(out, 4096), 1, 4096, f)) > 0)
        out->len += n;
    (void)fclose(f);
}

int sample_for_each(sample_fn fn, void *ctx)
{
    struct dirent **names;
    const int count = scandir(SAMPLES, &names, is_sample, alphasort);
    CHECK(count >= 0);
    for (int i = 0; i < count; i++) {
        struct buf text;
        buf_init(&text, 4 << 20);
        read_file(names[i]->d_name, &text);
        fn(ctx, names[i]->d_name, buf_str(&text));
        buf_fini(&text);
        free(names[i]);
    }
    free(names);
    return count;
}
