/* viewtally platform probe: makes every call that a refresh run could make for one account and shows the
 * responses, how they are interpreted and what a run would change. Stores nothing except refreshed tokens,
 * which must be stored because the platform may have revoked the old ones. */
#include "base/check.h"
#include "base/clock.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/platform_record.h"
#include "http/form.h"
#include "platforms/describe.h"
#include "platforms/jsonr.h"
#include "store/platform_posts.h"
#include "store/runs.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    POSTS_MAX = 12, /* the maximum number of posts of all kinds */
    POSTS_OF_A_KIND = 3,
    FIELDS_MAX = 96, /* the maximum number of fields shown of one response */
    OUT_MAX_BYTES = 16 << 20,
    PATH_SHOWN = 300,
};

/* A post to read. Posts of one kind are requested in the same way; see same_kind(). */
struct probe_post {
    struct str id; /* the platform's id; if `resolved` is false, an id that must be resolved first */
    int64_t posted_at;
    bool resolved;
    int views_source;
    int64_t counts[COUNT_KINDS]; /* the counts that are stored in the database */
};

struct probe {
    struct platform_session *session;
    const char *record; /* prefix of the recorded files; NULL: record nothing */
    struct buf out;
    struct probe_post posts[POSTS_MAX];
    size_t count;
    enum err err;
    int calls, recorded;
    bool any_ok, no_insights;        /* of all calls; `no_insights`: outcome.no_insights of a call */
    enum outcome_kind first_failure; /* among the calls in the first form of the request (form 0) */
};

/* ---- choosing the posts ---- */

static bool same_kind(const struct probe_post *one, const struct probe_post *other)
{
    const bool composite = one->id.len && memchr(one->id.p, '_', one->id.len);
    const bool composite_other = other->id.len && memchr(other->id.p, '_', other->id.len);
    return one->resolved == other->resolved && one->views_source == other->views_source &&
           composite == composite_other;
}

static void add_post(struct probe *p, const struct probe_post *post)
{
    size_t same_kind_count = 0;
    for (size_t i = 0; i < p->count; i++)
        same_kind_count += same_kind(&p->posts[i], post);
    if (p->count < POSTS_MAX && same_kind_count < POSTS_OF_A_KIND)
        p->posts[p->count++] = *post;
}

static bool on_video(void *ctx, const struct video *video)
{
    struct probe *p = ctx;
    struct platform_session *a = p->session;
    struct platform_post known;
    for (size_t i = 0; i < video->post_count && !p->err; i++) {
        const struct post *post = &video->posts[i];
        if (post->platform != a->desc->platform || !platform_id_is_plain(post->post_id))
            continue;
        struct probe_post made = {.id = arena_copy(&a->arena, post->post_id), .posted_at = post->posted_at};
        memcpy(made.counts, post->counts, sizeof made.counts);
        made.resolved = !a->desc->is_readable || a->desc->is_readable(made.id);
        const enum err err = store_get_platform_post(a->store, &a->arena, a->desc->platform, made.id, &known);
        if (!err && known.resolved_id.p) {
            made.id = known.resolved_id;
            made.resolved = true;
        }
        if (!err)
            made.views_source = known.views_source;
        if (err && err != ERR_NOT_FOUND)
            p->err = err;
        add_post(p, &made);
    }
    return !p->err;
}

static void find_posts(struct probe *p)
{
    static const struct probe_post nothing = {
        .id = {"10000000000000001", 17},
        .resolved = true,
        .counts = {COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE}};
    const int64_t now = clock_wall_ms();
    struct platform_session *a = p->session;
    enum err err = store_list_live_videos(a->store, a->account.author_row, now - VIDEO_LIFE_DAYS * DAY_MS,
                                          now, on_video, p);
    p->err = p->err ? p->err : err;
    if (p->err || p->count)
        return;
    buf_append(&p->out, STR("The author has no post on this platform that can be read now, so the calls are "
                            "made for an id that does not exist.\n"));
    p->posts[p->count] = nothing;
    p->posts[p->count++].posted_at = now - 10 * DAY_MS;
}

/* ---- printing the request and the response ---- */

struct shape_field {
    struct str path;
    const char *type;
    int count;
};

struct json_shape {
    struct arena *arena;
    struct shape_field list[FIELDS_MAX];
    size_t count;
};

static void add_field(struct json_shape *f, struct str path, const char *type)
{
    for (size_t i = 0; i < f->count; i++)
        if (str_eq(f->list[i].path, path) && str_eq(str_from_cstr(f->list[i].type), str_from_cstr(type))) {
            f->list[i].count++;
            return;
        }
    if (f->count < FIELDS_MAX)
        f->list[f->count++] = (struct shape_field){path, type, 1};
}

/* Returns the path of the field `name` below `path`. All names that are ids become "{id}", so that they are
 * shown as one field. */
static struct str path_of(struct json_shape *f, struct str path, struct str name)
{
    unsigned long long n;
    const bool id = name.len >= 6 && str_to_u64(name, INT64_MAX, &n);
    if (!name.p)
        return arena_printf(f->arena, "%.*s[]", (int)path.len, path.p);
    return arena_printf(f->arena, "%.*s%s%.*s", (int)path.len, path.p, path.len ? "." : "",
                        id ? 4 : (int)name.len, id ? "{id}" : name.p);
}

/* Collects the fields of `v`. Parses a string that contains a JSON object, too, because each body in the
 * response of a Graph batch is such a string. */
static void collect_fields(struct json_shape *f, struct str path, struct yyjson_val *v)
{
    struct str text = jsonr_text(v), name;
    struct yyjson_val *inner = text.len && text.p[0] == '{' ? jsonr_parse(f->arena, text) : NULL;
    if (inner) {
        collect_fields(f, arena_printf(f->arena, "%.*s→", (int)path.len, path.p), inner);
        return;
    }
    struct jsonr_iter it = jsonr_iterate(v);
    if (!it.left) {
        add_field(f, path, jsonr_type(v));
        return;
    }
    while (jsonr_next(&it, &name, &inner))
        collect_fields(f, path_of(f, path, name), inner);
}

static void show_fields(struct probe *p)
{
    struct platform_session *a = p->session;
    struct json_shape *f = arena_alloc(&a->call_arena, sizeof *f);
    struct yyjson_val *root = jsonr_parse(&a->call_arena, a->response.body);
    f->arena = &a->call_arena;
    f->count = 0;
    if (!root) {
        buf_append(&p->out, STR("   fields    not JSON\n"));
        return;
    }
    collect_fields(f, STR(""), root);
    for (size_t i = 0; i < f->count; i++) {
        buf_append(&p->out, i ? STR("             ") : STR("   fields    "));
        cli_append_text(&p->out, f->list[i].path);
        buf_printf(&p->out, "  %s x %d\n", f->list[i].type, f->list[i].count);
    }
    if (f->count == FIELDS_MAX)
        buf_append(&p->out, STR("             …\n"));
}

static void show_headers(struct probe *p)
{
    const struct http_response *r = &p->session->response;
    for (size_t i = 0; i < r->header_count; i++) {
        struct str name = r->headers[i].name;
        if (!str_starts_with(name, STR("x-ratelimit")) && !str_starts_with(name, STR("x-app-usage")) &&
            !str_starts_with(name, STR("x-business")) && !str_starts_with(name, STR("retry-after")))
            continue;
        buf_append(&p->out, STR("   header    "));
        cli_append_text(&p->out, name);
        buf_append(&p->out, STR(": "));
        cli_append_text(&p->out, r->headers[i].value);
        buf_append_char(&p->out, '\n');
    }
}

/* Shows the request without the API key, which is at the end of the path, and without the token, which may be
 * in the body. */
static void show_request(struct probe *p, const char *what, const struct platform_call *call)
{
    const struct http_request *q = p->session->request;
    struct str path = q->path;
    struct form form;
    for (size_t i = 0; call->by_key && i + 5 <= path.len; i++)
        if (memcmp(path.p + i, "&key=", 5) == 0)
            path.len = i;
    buf_printf(&p->out, "\n%d. %s, %zu post%s\n   request   %s ", p->calls, what, call->item_count,
               plural(call->item_count, "", "s"), q->method);
    cli_append_text(&p->out, str_make(path.p, path.len < PATH_SHOWN ? path.len : PATH_SHOWN));
    buf_append_char(&p->out, '\n');
    if (!q->body.len)
        return;
    struct str body = q->body;
    if (str_eq(q->content_type,
               STR("application/x-www-form-urlencoded"))) /* the form contains a batch and the token: show
                                                             only the batch */
        body =
            form_parse(&p->session->call_arena, body, &form, NULL) ? STR("") : form_get(&form, STR("batch"));
    buf_append(&p->out, STR("   body      "));
    cli_append_text(&p->out, str_make(body.p, body.len < 3 * PATH_SHOWN ? body.len : 3 * PATH_SHOWN));
    buf_append(&p->out, body.len < 3 * PATH_SHOWN ? STR("\n") : STR("…\n"));
}

/* ---- the changes of a refresh run ---- */

static void show_change_of_post(struct probe *p, const struct platform_item *item,
                                const struct probe_post *post)
{
    static const char *const names[COUNT_KINDS] = {"views", "likes", "comments", "shares", "saves"};
    buf_printf(&p->out, "   change    %.*s:", (int)item->id.len, item->id.p);
    if (item->state == ITEM_OK && item->resolved.p)
        buf_printf(&p->out, " read as %.*s from now on", (int)item->resolved.len, item->resolved.p);
    for (int k = 0; item->state == ITEM_OK && !item->resolved.p && k < COUNT_KINDS; k++) {
        if (item->counts[k] == COUNT_NONE)
            continue;
        buf_printf(&p->out, " %s ", names[k]);
        if (post->counts[k] == COUNT_NONE)
            buf_append(&p->out, STR("unknown"));
        else
            buf_printf(&p->out, "%lld", (long long)post->counts[k]);
        buf_printf(&p->out, " -> %lld", (long long)item->counts[k]);
    }
    if (item->state == ITEM_MISSING || item->state == ITEM_PENDING)
        buf_append(&p->out, STR(" counted as not found once more"));
    if (item->state == ITEM_PERMANENT)
        buf_append(&p->out, STR(" never read again"));
    if (item->state == ITEM_NO_DATA && item->resolved.p)
        buf_printf(&p->out, " read as %.*s in this run only", (int)item->resolved.len, item->resolved.p);
    else if (item->state == ITEM_NO_DATA)
        buf_append(&p->out, STR(" nothing, no numbers yet"));
    if (item->state == ITEM_RETRY)
        buf_append(&p->out, STR(" nothing, will be retried"));
    if (item->state == ITEM_DENIED)
        buf_append(&p->out, STR(" nothing, no permission"));
    buf_append_char(&p->out, '\n');
}

static const char *change_of_account(const struct outcome *o)
{
    switch (o->kind) {
    case OUTCOME_OK: return NULL;
    case OUTCOME_RETRY: return "nothing; the call is repeated later";
    case OUTCOME_QUOTA_SPENT: return "no further calls until the quota resets";
    case OUTCOME_TOKEN_REJECTED: return "the token is refreshed, then the call is repeated";
    case OUTCOME_RECONNECT: return "the account needs to be reconnected";
    case OUTCOME_APP_REJECTED: return "the platform is paused for all accounts, because it rejects the app";
    case OUTCOME_OTHER_FORM:
        return o->with_account  ? "the call is repeated, and also requests the account, to find out whether "
                                  "posts were deleted or a permission was lost"
               : o->combined    ? "the call is repeated with one kind of metrics"
               : o->dropped.len ? "for the next 24 hours, the metric is not requested"
               : o->these_posts_only ? "these posts are read with the next request form"
                                     : "for the next 24 hours, the next request form is used instead";
    case OUTCOME_SPLIT: return "the call is split in two";
    case OUTCOME_MALFORMED: return "nothing; the response is not as documented";
    case OUTCOME_BAD_REQUEST:
        return "the posts are read one by one, because the platform rejects the request";
    }
    return NULL;
}

/* ---- one call ---- */

static void record_outcome(struct probe *p, const struct platform_call *call, const struct outcome *o)
{
    p->any_ok = p->any_ok || o->kind == OUTCOME_OK;
    p->no_insights = p->no_insights || o->no_insights;
    if (call->tier == 0 && !call->combined && (p->first_failure == OUTCOME_OK || p->calls == 1))
        p->first_failure = o->kind;
}

static void show_response(struct probe *p, struct platform_call *call, const struct probe_post *posts)
{
    struct platform_session *a = p->session;
    const char *why = NULL;
    buf_printf(&p->out, "   response  HTTP %d, %zu bytes\n", a->response.status, a->response.body.len);
    show_headers(p);
    show_fields(p);
    if (p->record && platform_record_response(a, call, p->record, p->calls, &why))
        p->recorded++;
    struct outcome o = a->desc->parse(&a->call_arena, call, &a->response);
    record_outcome(p, call, &o);
    buf_append(&p->out, STR("   read as   "));
    describe_outcome(&p->out, &o);
    buf_append_char(&p->out, '\n');
    for (size_t i = 0; o.kind == OUTCOME_OK && i < call->item_count; i++)
        show_change_of_post(p, &call->items[i], &posts[i]);
    if (change_of_account(&o))
        buf_printf(&p->out, "   change    %s\n", change_of_account(&o));
    if (o.no_insights)
        buf_append(&p->out, STR("   change    the author is notified that insights are not granted\n"));
    if (why)
        buf_printf(&p->out, "   record    not written: %s\n", why);
}

static void fill_items(struct platform_call *call, const struct probe_post *posts,
                       struct platform_item *items)
{
    call->items = items;
    for (size_t i = 0; i < call->item_count; i++) {
        items[i] = (struct platform_item){
            .id = posts[i].id, .posted_at = posts[i].posted_at, .views_source = posts[i].views_source};
        for (int k = 0; k < COUNT_KINDS; k++)
            items[i].counts[k] = COUNT_NONE;
    }
}

/* Refreshes a rejected access token once, as a refresh run would do. */
static bool token_was_refreshed(struct probe *p, struct platform_call *call)
{
    struct platform_session *a = p->session;
    if (a->network || a->refreshed || call->by_key)
        return false;
    const struct outcome o = a->desc->parse(&a->call_arena, call, &a->response);
    return o.kind == OUTCOME_TOKEN_REJECTED && platform_session_refresh(a);
}

static void call_once(struct probe *p, const char *what, struct platform_call call,
                      const struct probe_post *posts, size_t count)
{
    struct platform_session *a = p->session;
    struct platform_item items[POSTS_MAX];
    if (p->err || !count)
        return;
    call.item_count = count;
    fill_items(&call, posts, items);
    p->err = platform_session_send(a, &call);
    if (!p->err && token_was_refreshed(p, &call))
        p->err = platform_session_send(a, &call);
    if (p->err)
        return;
    fill_items(&call, posts, items);
    p->calls++;
    show_request(p, what, &call);
    if (a->network)
        buf_printf(&p->out, "   response  none: %s\n", a->network);
    else
        show_response(p, &call, posts);
}

/* ---- making all the calls ---- */

static struct platform_call call_of(const struct probe *p, int tier)
{
    const struct platform_session *a = p->session;
    return (struct platform_call){.kind = CALL_READ,
                                  .options = &a->options,
                                  .account_id = a->account.account_id,
                                  .dropped = STR(""),
                                  .is_personal = a->account.is_personal,
                                  .tier = tier,
                                  .now_ms = clock_wall_ms()};
}

/* Reads posts of one kind in calls of the maximum size. */
static void call_kind(struct probe *p, const char *what, const struct platform_call *call,
                      const struct probe_post *posts, size_t count)
{
    const struct platform_desc *desc = p->session->desc;
    const int most = call->kind == CALL_RESOLVE ? desc->ids_per_resolve : desc->ids_per_call[call->tier];
    for (size_t at = 0; at < count; at += (size_t)most)
        call_once(p, what, *call, posts + at, count - at < (size_t)most ? count - at : (size_t)most);
}

static void call_all(struct probe *p, const char *what, const struct platform_call *call, bool resolved)
{
    struct probe_post kind[POSTS_MAX];
    bool done[POSTS_MAX] = {false};
    for (size_t i = 0; i < p->count; i++) {
        size_t n = 0;
        for (size_t j = i; j < p->count; j++)
            if (!done[j] && p->posts[j].resolved == resolved && same_kind(&p->posts[i], &p->posts[j])) {
                kind[n++] = p->posts[j];
                done[j] = true;
            }
        call_kind(p, what, call, kind, n);
    }
}

/* Requests the kind of metrics that `call` does not request. Without platform_call.combined, a call requests
 * one of two kinds of metrics, and the hour decides which one. So this function sets the time of the call to
 * an earlier hour that selects the other kind. */
static void call_other_kind(struct probe *p, const char *what, const struct platform_call *call)
{
    struct arena scratch;
    struct platform_item item;
    arena_init(&scratch, 4096);
    struct platform_call other = *call;
    struct http_request now, then;
    other.item_count = 1;
    fill_items(&other, p->posts, &item);
    p->session->desc->build(&scratch, &other, &now);
    for (int hours = 1; hours < 12; hours++) {
        other.now_ms = call->now_ms - hours * HOUR_MS;
        p->session->desc->build(&scratch, &other, &then);
        if (then.path.len != now.path.len)
            break;
    }
    arena_fini(&scratch);
    call_all(p, what, &other, true);
}

static void call_form(struct probe *p, int tier, bool by_key)
{
    char what[64];
    const struct platform_desc *desc = p->session->desc;
    struct platform_call call = call_of(p, tier);
    call.by_key = by_key;
    (void)snprintf(what, sizeof what, "form %d%s", tier, by_key ? ", with the API key" : "");
    call_all(p, what, &call, true);
    if (!desc->combines || tier == desc->tiers - 1)
        return;
    (void)snprintf(what, sizeof what, "form %d, the other kind of metrics", tier);
    call_other_kind(p, what, &call);
    (void)snprintf(what, sizeof what, "form %d, both kinds of metrics", tier);
    call.combined = true;
    call_all(p, what, &call, true);
}

static bool is_graph_batch(const struct platform_session *a)
{
    const enum platform_api api = a->desc->api;
    return api == API_FACEBOOK || api == API_INSTAGRAM_FACEBOOK || (api == API_INSTAGRAM && a->options.batch);
}

static void call_everything(struct probe *p)
{
    struct platform_session *a = p->session;
    for (int tier = 0; tier < a->desc->tiers; tier++)
        call_form(p, tier, false);
    if (a->options.api_key.len)
        for (int tier = 0; tier < a->desc->tiers; tier++)
            call_form(p, tier, true);
    if (is_graph_batch(a)) {
        struct platform_call call = call_of(p, 0);
        call.with_account = true;
        call_all(p, "form 0, with the account", &call, true);
    }
    if (a->desc->ids_per_resolve) {
        struct platform_call call = call_of(p, 0);
        call.kind = CALL_RESOLVE;
        call_all(p, "ids of the posting service", &call, false);
    }
}

/* ---- the command ---- */

static enum cli_exit exit_of(const struct probe *p)
{
    if (p->any_ok)
        return p->no_insights ? CLI_PART : CLI_DONE;
    if (p->first_failure == OUTCOME_TOKEN_REJECTED || p->first_failure == OUTCOME_RECONNECT)
        return CLI_PART;
    return p->first_failure == OUTCOME_APP_REJECTED ? CLI_USAGE : CLI_COULD_NOT;
}

static enum cli_exit probe_account(struct probe *p)
{
    struct platform_session *a = p->session;
    char name[SESSION_NAME_MAX];
    find_posts(p);
    if (p->err)
        return cli_fail(CLI_COULD_NOT, "database error: %s", err_name(p->err));
    if (!platform_session_refresh_if_due(a))
        return platform_session_print_token_error(a);
    call_everything(p);
    if (p->err)
        return platform_session_print_send_error(p->err);
    platform_session_name(a, name);
    buf_printf(&p->out, "\n%s: %d call%s. Nothing was stored%s.\n", name, p->calls, plural(p->calls, "", "s"),
               a->refreshed ? ", except tokens that had to be refreshed" : "");
    if (p->record)
        buf_printf(&p->out, "Recorded %d of %d response%s in %s-*. Review them before you share them.\n",
                   p->recorded, p->calls, plural(p->calls, "", "s"), p->record);
    const enum cli_exit printed = cli_print(&p->out);
    return printed == CLI_DONE ? exit_of(p) : printed;
}

enum cli_exit platform_probe(struct cli *cli, const struct cli_arguments *arguments)
{
    struct platform_session *a;
    int64_t row;
    if (!platform_parse_id(arguments->operands[0], &row))
        return CLI_USAGE;
    enum cli_exit code = platform_session_open(cli, row, &a);
    if (code != CLI_DONE)
        return code;
    struct probe *p = xcalloc(1, sizeof *p);
    p->session = a;
    p->record = cli_value(arguments, "record");
    buf_init(&p->out, OUT_MAX_BYTES);
    code = probe_account(p);
    buf_fini(&p->out);
    free(p);
    platform_session_close(a);
    return code;
}
