/* viewtally webhook: list, pause, resume, resend. */
#include "base/clock.h"
#include "base/json.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/named_author.h"
#include "cli/operator.h"
#include "cli/output.h"
#include "cli/table.h"
#include "store/webhooks.h"
#include "store/write.h"
#include "webhook/webhook_rules.h"

enum { ROWS_AT_ONCE = 500 };

static enum cli_exit no_such_endpoint(void)
{
    return cli_fail(CLI_PART, "no webhook has this id (see viewtally webhook list)");
}

/* ---- list ---- */

struct webhook_listing {
    const char *author; /* an id or a sign-in name; NULL: all authors */
    int64_t author_row;
    struct table table;
    int64_t last_row;
    int count;
};

static void append_endpoint(struct buf *b, const struct webhook_endpoint *e)
{
    json_open(b, '{');
    JSON_UUID(b, "id", &e->id);
    JSON_UUID(b, "author_id", &e->author_id);
    JSON_STR(b, "app", e->app_client_id);
    JSON_STR(b, "url", e->url);
    JSON_STR(b, "state", str_from_cstr(webhook_state_name(e->state)));
    JSON_BOOL(b, "connected", e->is_connected);
    JSON_BOOL(b, "plan_active", e->plan_active);
    JSON_BOOL(b, "events_waiting", e->last_event_id > e->position);
    JSON_I64(b, "failures", e->failures);
    JSON_TIME_OR_NULL(b, "next_attempt_at", e->next_attempt_at != TIME_NONE, e->next_attempt_at);
    JSON_TIME(b, "created_at", e->created_at);
    json_close(b, '}');
}

static bool is_ended(const struct webhook_endpoint *e)
{
    return e->state == WEBHOOK_GONE || !e->is_connected;
}

/* The table has one column for what JSON reports in two fields. */
static const char *state_in_table(const struct webhook_endpoint *e)
{
    return e->is_connected || e->state == WEBHOOK_GONE ? webhook_state_name(e->state) : "disconnected";
}

static bool on_endpoint(void *ctx, const struct webhook_endpoint *e)
{
    struct webhook_listing *l = ctx;
    struct table *t = &l->table;
    l->last_row = e->row;
    l->count++;
    if (l->author && e->author_row != l->author_row)
        return true;
    if (t->is_json) {
        append_endpoint(&t->json, e);
        return true;
    }
    table_add_uuid(t, &e->id);
    table_add_uuid(t, &e->author_id);
    table_add_text(t, str_from_cstr(state_in_table(e)));
    table_add_text(t, is_ended(e) || e->last_event_id <= e->position ? STR("no") : STR("yes"));
    table_add_i64(t, e->failures);
    table_add_time(t, e->next_attempt_at, "-");
    table_add_text(t, e->url);
    return true;
}

static enum err list_endpoints(struct store *store, struct arena *arena, void *ctx)
{
    struct webhook_listing *l = ctx;
    struct author author;
    enum err err = l->author ? named_author_find(store, arena, l->author, &author) : OK;
    if (err)
        return err;
    l->author_row = l->author ? author.row : 0;
    do {
        l->count = 0;
        err = store_list_webhooks(store, l->last_row, ROWS_AT_ONCE, on_endpoint, l);
    } while (!err && l->count == ROWS_AT_ONCE);
    return err;
}

static enum cli_exit list(struct cli *cli, const struct cli_arguments *arguments)
{
    static const char *const headings[] = {"ID",        "AUTHOR",       "STATE", "WAITING",
                                           "#FAILURES", "NEXT ATTEMPT", "URL",   NULL};
    struct webhook_listing l = {.author = cli_value(arguments, "author")};
    table_init(&l.table, headings, cli_flag(arguments, "json"));
    const enum err err = cli_read(cli, list_endpoints, &l);
    if (!err)
        return table_print(&l.table);
    table_fini(&l.table);
    return err == ERR_NOT_FOUND ? named_author_print_not_found() : CLI_COULD_NOT;
}

/* ---- pause and resume ---- */

struct state_change {
    struct uuid id;
    enum webhook_state to;
    bool is_gone;
};

static enum err change_state(struct store *store, struct arena *arena, void *ctx)
{
    struct state_change *c = ctx;
    struct webhook_endpoint e;
    enum err err = store_find_webhook(store, arena, &c->id, &e);
    if (err)
        return err;
    c->is_gone = e.state == WEBHOOK_GONE;
    if (c->is_gone || e.state == c->to)
        return OK;
    e.state = c->to;
    e.state_at = clock_wall_ms();
    e.failures = 0;
    e.next_attempt_at = TIME_NONE;
    const struct actor by = cli_operator();
    err = store_save_webhook(store, &e);
    return err ? err
               : store_note_webhook(store, &e, e.state_at,
                                    c->to == WEBHOOK_PAUSED ? AUDIT_WEBHOOK_PAUSED : AUDIT_WEBHOOK_RESUMED,
                                    &by);
}

static enum cli_exit set_state(struct cli *cli, const struct cli_arguments *arguments, enum webhook_state to)
{
    struct state_change c = {.to = to};
    if (!uuid_parse(str_from_cstr(arguments->operands[0]), &c.id))
        return no_such_endpoint();
    const enum err err = cli_transaction(cli, change_state, &c);
    if (err)
        return err == ERR_NOT_FOUND ? no_such_endpoint() : CLI_COULD_NOT;
    if (c.is_gone)
        return cli_fail(
            CLI_PART, "the receiver has ended this webhook with status 410; it cannot be paused or resumed");
    return CLI_DONE;
}

static enum cli_exit pause_endpoint(struct cli *cli, const struct cli_arguments *arguments)
{
    return set_state(cli, arguments, WEBHOOK_PAUSED);
}

static enum cli_exit resume_endpoint(struct cli *cli, const struct cli_arguments *arguments)
{
    return set_state(cli, arguments, WEBHOOK_ACTIVE);
}

/* ---- resend ---- */

struct resending {
    struct uuid id;
    int64_t event_id;
    bool is_position; /* `event_id` is the value of --after: send all events after it */
    bool is_unknown;  /* the author has no such event */
};

/* Called with the first event whose id is r->event_id or greater. Records whether its id is r->event_id. */
static bool on_event(void *ctx, const struct event *event, const struct video_ref *video,
                     const struct book_ref *book)
{
    struct resending *r = ctx;
    (void)video;
    (void)book;
    r->is_unknown = event->id != r->event_id;
    return false;
}

static enum err find_event(struct store *store, int64_t author_row, struct resending *r)
{
    struct store_read read = {.store = store};
    struct events_progress progress;
    const struct events_query query = {.author_row = author_row,
                                       .bound = r->event_id - 1,
                                       .occurred_after = INT64_MIN,
                                       .limit = 1,
                                       .scan_limit = 1};
    r->is_unknown = true;
    (void)store_list_events(&read, &query, on_event, r, &progress);
    return read.err;
}

/* Moves the position of the endpoint back. Refuses to move it forward, because this would skip events. A
 * position above all events, for example after a typing error, would even end all deliveries. */
static enum err move_position_back(struct store *store, struct webhook_endpoint *e, int64_t event_id)
{
    if (event_id > e->position) {
        (void)cli_fail(CLI_PART,
                       "this webhook still waits for the events after evt_%lld; name this event or an "
                       "earlier one, because the events in between would not be sent",
                       (long long)e->position);
        return ERR_CANCELED;
    }
    e->position = event_id;
    e->failures = 0;
    e->next_attempt_at = TIME_NONE;
    return store_save_webhook(store, e);
}

/* Requests the delivery of an event, or moves the position of the endpoint back. If it refuses to, prints the
 * reason and returns ERR_CANCELED. */
static enum err request_resend(struct store *store, struct arena *arena, void *ctx)
{
    struct resending *r = ctx;
    struct webhook_endpoint e;
    enum err err = store_find_webhook(store, arena, &r->id, &e);
    if (err)
        return err;
    if (e.state == WEBHOOK_GONE) {
        (void)cli_fail(CLI_PART,
                       "the receiver has ended this webhook with status 410; nothing can be sent to it");
        return ERR_CANCELED;
    }
    if (r->is_position)
        return move_position_back(store, &e, r->event_id);
    err = find_event(store, e.author_row, r);
    if (err || r->is_unknown)
        return err;
    err = store_request_webhook(store, e.row, r->event_id, clock_wall_ms());
    if (err != ERR_FULL)
        return err;
    (void)cli_fail(CLI_PART, "%d deliveries of this webhook are waiting already", WEBHOOK_REQUESTS_MAX);
    return ERR_CANCELED;
}

/* Parses evt_<number>. */
static bool parse_event(const char *text, int64_t *out)
{
    unsigned long long v;
    const struct str s = str_from_cstr(text);
    if (!str_starts_with(s, STR("evt_")) || !str_to_u64(str_make(s.p + 4, s.len - 4), INT64_MAX, &v))
        return false;
    *out = (int64_t)v;
    return true;
}

static enum cli_exit resend(struct cli *cli, const struct cli_arguments *arguments)
{
    const char *after = cli_value(arguments, "after");
    const char *event = arguments->operand_count > 1 ? arguments->operands[1] : NULL;
    struct resending r = {.is_position = after != NULL};
    if (!after == !event)
        return cli_fail(CLI_USAGE, "name an event, or use --after to send all events after one");
    if (!parse_event(after ? after : event, &r.event_id))
        return cli_fail(CLI_USAGE, "an event id is evt_ and a number, such as evt_1789000000000");
    if (!uuid_parse(str_from_cstr(arguments->operands[0]), &r.id))
        return no_such_endpoint();
    const enum err err = cli_transaction(cli, request_resend, &r);
    if (err == ERR_CANCELED)
        return CLI_PART;
    if (err)
        return err == ERR_NOT_FOUND ? no_such_endpoint() : CLI_COULD_NOT;
    if (r.is_unknown)
        return cli_fail(CLI_PART, "the author of this webhook has no such event");
    return CLI_DONE;
}

/* ---- the command ---- */

static const struct cli_option list_options[] = {
    {.name = "author",
     .argument = "AUTHOR",
     .help = "Only the webhooks of this author, by id or sign-in name."},
    {.name = "json", .help = "Print a JSON array, with all fields."},
    {0},
};

static const struct cli_option resend_options[] = {
    {.name = "after",
     .argument = "EVENT",
     .help = "Send all events after this one again, in order. `evt_0` sends all events."},
    {0},
};

static const struct cli_action actions[] = {
    {.name = "list",
     .options = list_options,
     .summary = "Lists the webhooks with their state.",
     .description =
         "The state is active, paused, failed (paused after three days of failures), gone (ended by "
         "the receiver with status 410) or disconnected (its app is not connected any more).",
     .partial = "no author has this id or sign-in name",
     .examples = "viewtally webhook list",
     .run = list},
    {.name = "pause",
     .operands = "WEBHOOK",
     .operands_min = 1,
     .operands_max = 1,
     .summary = "Pauses a webhook. Its events wait.",
     .partial = "there is no such webhook, or its state is gone (the receiver responded with status 410)",
     .examples = "viewtally webhook pause 6f1d2a5c-4b7e-4c33-9a53-0f6d7f0a2b11",
     .run = pause_endpoint},
    {.name = "resume",
     .operands = "WEBHOOK",
     .operands_min = 1,
     .operands_max = 1,
     .summary =
         "Resumes a webhook that a person or repeated failures have paused. The waiting events are sent.",
     .partial = "there is no such webhook, or its state is gone (the receiver responded with status 410)",
     .examples = "viewtally webhook resume 6f1d2a5c-4b7e-4c33-9a53-0f6d7f0a2b11",
     .run = resume_endpoint},
    {.name = "resend",
     .operands = "WEBHOOK [EVENT]",
     .operands_min = 1,
     .operands_max = 2,
     .options = resend_options,
     .summary = "Sends an event once more; with --after, sends all events after the given one.",
     .description = "The server sends a single event immediately, also to a paused webhook, and does not "
                    "repeat it if it fails. With --after, delivery begins again after the event, in order "
                    "and with retries; if the webhook is paused or has failed, resume it as well.",
     .partial =
         "there is no such webhook or event, the state of the webhook is gone, 100 events of the "
         "webhook wait to be sent again, or EVENT of --after is later than the last event that was sent",
     .examples = "viewtally webhook resend 6f1d2a5c-4b7e-4c33-9a53-0f6d7f0a2b11 evt_1789000000000\n"
                 "viewtally webhook resend 6f1d2a5c-4b7e-4c33-9a53-0f6d7f0a2b11 --after evt_0",
     .run = resend},
    {0},
};

const struct cli_command cli_webhook = {
    .name = "webhook",
    .summary = "list, pause and resume the webhooks of authors and apps, and resend events",
    .description =
        "Authors create webhooks on their pages. The server delivers their events. WEBHOOK is the id of "
        "a webhook, which viewtally webhook list prints.",
    .actions = actions,
};
