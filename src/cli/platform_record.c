/* Writes one file per response. Before a file is written, the anonymized response is parsed and the result is
 * compared with that of the original. */
#include "cli/platform_record.h"

#include "base/clock.h"
#include "platforms/anonymize.h"
#include "platforms/describe.h"
#include "platforms/response_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 8 << 20, YOUNG_DAYS = 3 };

/* The account id in all recorded samples. */
#define SAMPLE_ACCOUNT STR("1784")

struct recording {
    struct platform_session *session;
    struct anonymizer ids;
    struct platform_call call;     /* the call with replaced ids */
    struct http_response response; /* the response without personal data */
    struct buf out;
};

static bool is_rate_header(struct str name)
{
    static const char *const names[] = {
        "retry-after",       "x-app-usage",           "x-business-use-case-usage",
        "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_eq_nocase(name, str_from_cstr(names[i])))
            return true;
    return false;
}

/* Anonymizes the response. Replaces a body that is not JSON by a constant. */
static void anonymize_response(struct recording *r)
{
    struct arena *arena = &r->session->call_arena;
    const struct http_response *from = &r->session->response;
    struct http_header *headers = arena_alloc(arena, (from->header_count + 1) * sizeof *headers);
    size_t count = 0;
    for (size_t i = 0; i < from->header_count; i++) {
        struct str value = str_trim(from->headers[i].value);
        if (!is_rate_header(from->headers[i].name))
            continue;
        struct str json = anonymize_json(&r->ids, value);
        headers[count++] =
            (struct http_header){from->headers[i].name, json.p ? json : anonymize_text(&r->ids, value)};
    }
    r->response = (struct http_response){.status = from->status, .headers = headers, .header_count = count};
    r->response.body = anonymize_json(&r->ids, from->body);
    if (!r->response.body.p)
        r->response.body = from->body.len ? STR("not JSON") : STR("");
}

static void anonymize_call(struct recording *r, const struct platform_call *call)
{
    struct arena *arena = &r->session->call_arena;
    struct platform_item *items = arena_alloc(arena, call->item_count * sizeof *items);
    r->call = *call;
    r->call.account_id = SAMPLE_ACCOUNT;
    r->call.items = items;
    for (size_t i = 0; i < call->item_count; i++) {
        items[i] = (struct platform_item){.id = anonymize_id(&r->ids, call->items[i].id),
                                          .posted_at = call->items[i].posted_at,
                                          .views_source = call->items[i].views_source};
        for (int k = 0; k < COUNT_KINDS; k++)
            items[i].counts[k] = COUNT_NONE;
    }
}

static void describe(struct buf *b, const struct outcome *o, const struct platform_call *call,
                     const char *prefix)
{
    buf_printf(b, "%s", prefix);
    describe_outcome(b, o);
    buf_append_char(b, '\n');
    for (size_t i = 0; i < call->item_count; i++)
        if (call->items[i].state != ITEM_PENDING) {
            buf_printf(b, "%s", prefix);
            describe_item(b, &call->items[i]);
            buf_append_char(b, '\n');
        }
}

/* Parses the original and the anonymized response. Returns true if the two results are equal, apart from the
 * replaced ids. */
static bool parses_the_same(struct recording *r, const struct platform_call *call, struct outcome *outcome)
{
    struct arena *arena = &r->session->call_arena;
    const struct platform_desc *desc = r->session->desc;
    struct platform_call original = *call;
    struct buf one, other;
    original.items = arena_alloc(arena, call->item_count * sizeof *original.items);
    for (size_t i = 0; i < call->item_count; i++)
        original.items[i] = call->items[i];
    struct outcome first = desc->parse(arena, &original, &r->session->response);
    *outcome = desc->parse(arena, &r->call, &r->response);
    for (size_t i = 0; i < call->item_count; i++) {
        original.items[i].id = r->call.items[i].id;
        if (original.items[i].resolved.p)
            original.items[i].resolved = anonymize_id(&r->ids, original.items[i].resolved);
    }
    buf_init(&one, FILE_MAX_BYTES);
    buf_init(&other, FILE_MAX_BYTES);
    describe(&one, &first, &original, "");
    describe(&other, outcome, &r->call, "");
    const bool same = str_eq(buf_str(&one), buf_str(&other));
    buf_fini(&one);
    buf_fini(&other);
    return same;
}

static void append_options(struct recording *r, const struct platform_call *call)
{
    const bool young = r->call.now_ms - call->items[0].posted_at < YOUNG_DAYS * DAY_MS;
    buf_append(&r->out, STR("options:"));
    buf_printf(&r->out, "%s%s%s%s%s%s", call->by_key ? " key" : "", call->options->batch ? " batch" : "",
               call->with_account ? " account" : "", call->combined ? " combined" : "",
               call->is_personal ? " personal" : "", young ? " young" : "");
    describe_number(&r->out, "source", call->items[0].views_source);
    describe_text(&r->out, "dropped", call->dropped);
    buf_append_char(&r->out, '\n');
}

static void append_sample(struct recording *r, const struct platform_call *call,
                          const struct outcome *outcome)
{
    char date[DATE_TEXT_LEN];
    struct buf *b = &r->out;
    date_format(date_of(call->now_ms), date);
    buf_printf(b, "%s %s %d %d\n# recorded with `viewtally platform probe` on %.*s, ids replaced\nids: ",
               r->session->desc->name, call->kind == CALL_RESOLVE ? "resolve" : "read", call->tier,
               r->response.status, (int)sizeof date, date);
    for (size_t i = 0; i < call->item_count; i++)
        buf_printf(b, "%s%.*s", i ? "," : "", (int)r->call.items[i].id.len, r->call.items[i].id.p);
    buf_append_char(b, '\n');
    append_options(r, call);
    for (size_t i = 0; i < r->response.header_count; i++)
        buf_printf(b, "%.*s: %.*s\n", (int)r->response.headers[i].name.len, r->response.headers[i].name.p,
                   (int)r->response.headers[i].value.len, r->response.headers[i].value.p);
    describe(b, outcome, &r->call, "> ");
    buf_append_char(b, '\n');
    buf_append(b, r->response.body);
}

static const char *write_file(struct recording *r, const char *prefix, int number)
{
    struct str path = arena_printf(&r->session->arena, "%s-%02d", prefix, number);
    const struct str text = buf_str(&r->out);
    const int fd = open(path.p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return arena_printf(&r->session->arena, "%s: %s", path.p, strerror(errno)).p;
    size_t done = 0;
    while (done < text.len) {
        const ssize_t n = write(fd, text.p + done, text.len - done);
        if (n < 0 && errno != EINTR)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    const char *why =
        done < text.len ? arena_printf(&r->session->arena, "%s: %s", path.p, strerror(errno)).p : NULL;
    if (close(fd) && !why)
        why = arena_printf(&r->session->arena, "%s: %s", path.p, strerror(errno)).p;
    return why;
}

bool platform_record_response(struct platform_session *a, const struct platform_call *call,
                              const char *prefix, int number, const char **why)
{
    struct recording *r = arena_alloc(&a->call_arena, sizeof *r);
    struct outcome outcome;
    *r = (struct recording){.session = a};
    const struct http_request *q = a->request;
    anonymizer_init(&r->ids, &a->call_arena,
                    call->by_key ? STR("") /* the path contains the API key */
                                 : arena_printf(&a->call_arena, "%.*s %.*s", (int)q->path.len, q->path.p,
                                                (int)q->body.len, q->body.len ? q->body.p : ""));
    anonymizer_set_id(&r->ids, a->account.account_id, SAMPLE_ACCOUNT);
    anonymize_call(r, call);
    anonymize_response(r);
    if (!parses_the_same(r, call, &outcome)) {
        *why = "the response parses differently without personal data";
        return false;
    }
    buf_init(&r->out, FILE_MAX_BYTES);
    append_sample(r, call, &outcome);
    *why = write_file(r, prefix, number);
    buf_fini(&r->out);
    return !*why;
}
