/* viewtally key: create, list, revoke, limit. The subcommands for leaked keys are in cmd_key_find.c. */
#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/vec.h"
#include "cli/arguments.h"
#include "cli/cmd_key_find.h"
#include "cli/database.h"
#include "cli/key_create.h"
#include "cli/key_lag.h"
#include "cli/named_author.h"
#include "cli/operator.h"
#include "cli/output.h"
#include "cli/redis_session.h"
#include "cli/shown_secret.h"
#include "cli/table.h"
#include "limit/shared_window.h"
#include "store/write.h"

#include <stdlib.h>

/* Writes a key as JSON. If `full` is NULL, omits the key itself. If `lag` is NULL, omits the poll position,
 * which is unknown without Redis. */
static void append_json(struct buf *b, const struct api_key *key, const char *prefix, const char *full,
                        const struct key_lag *lag)
{
    struct buf shown;
    buf_init(&shown, 256);
    buf_printf(&shown, "%s…%.*s", prefix, KEY_SUFFIX_LEN, key->suffix);
    json_open(b, '{');
    JSON_UUID(b, "id", &key->id);
    if (full)
        JSON_STR(b, "key", str_from_cstr(full));
    JSON_STR(b, "name", key->name);
    JSON_STR(b, "prefix", buf_str(&shown));
    JSON_TIME(b, "created_at", key->created_at);
    JSON_TIME_OR_NULL(b, "last_used_at", key->last_used_at != TIME_NONE, key->last_used_at);
    JSON_TIME_OR_NULL(b, "revoked_at", key->revoked_at != TIME_NONE, key->revoked_at);
    if (lag) {
        JSON_TIME_OR_NULL(b, "last_poll_at", lag->position.known, lag->position.at_ms);
        JSON_I64_OR_NULL(b, "polls", lag->is_read, lag->position.polls);
        JSON_I64_OR_NULL(b, "lag", lag->position.known, lag->events);
    }
    json_close(b, '}');
    buf_fini(&shown);
}

/* ---- create ---- */

struct printed_key {
    const char *author; /* an id or a sign-in name */
    struct new_key new_key;
    const char *prefix;
    bool is_json;
};

static enum err create_key(struct store *store, struct arena *arena, void *ctx)
{
    struct printed_key *c = ctx;
    struct author author;
    enum err err = named_author_find(store, arena, c->author, &author);
    if (err)
        return err;
    c->new_key.key.author_row = author.row;
    return new_key_insert(store, &c->new_key);
}

static void append_created(struct buf *out, const void *ctx)
{
    const struct printed_key *c = ctx;
    const struct new_key *n = &c->new_key;
    if (c->is_json)
        append_json(out, &n->key, c->prefix, n->text.p, NULL);
    else
        buf_append(out, str_make(n->text.p, n->text.len));
    buf_append_char(out, '\n');
}

static enum err revoke_created(struct store *store, struct arena *arena, void *ctx)
{
    const struct printed_key *c = ctx;
    const struct actor by = cli_operator();
    (void)arena;
    return store_revoke_key(store, c->new_key.key.row, clock_wall_ms(), &by);
}

static const struct shown_secret created_key = {
    .create = create_key,
    .append = append_created,
    .undo = revoke_created,
    .undone = "the new key was revoked",
    .by_hand = "find the new key with viewtally key list and revoke it with viewtally key revoke",
};

static enum cli_exit create(struct cli *cli, const struct cli_arguments *arguments)
{
    struct printed_key c = {.author = cli_value(arguments, "author"),
                            .prefix = cli->config.keys.prefix,
                            .is_json = cli_flag(arguments, "json")};
    if (!new_key_init(&c.new_key, &cli->config, str_from_cstr(cli_value(arguments, "name"))))
        return CLI_USAGE;
    enum cli_exit code = new_key_print_error(&c.new_key, shown_secret_create(cli, &created_key, &c));
    new_key_wipe(&c.new_key);
    return code;
}

/* ---- list ---- */

struct key_listing {
    const char *author; /* an id or a sign-in name */
    const struct config *config;
    bool is_json;
    struct table table;
    struct arena *arena;
    VEC(struct api_key) keys;
    struct key_lag *lags;
    enum key_lag_state lag_state;
};

/* Collects the keys, because Redis is queried only after the list is complete. */
static bool collect_key(void *ctx, const struct api_key *key)
{
    struct key_listing *l = ctx;
    struct api_key *copy = VEC_ADD(&l->keys);
    *copy = *key;
    copy->name = arena_copy(l->arena, key->name);
    return true;
}

static void add_lag(struct key_listing *l, const struct key_lag *lag)
{
    struct table *t = &l->table;
    if (l->lag_state == KEY_LAG_NO_REDIS)
        return;
    if (l->lag_state == KEY_LAG_UNAVAILABLE) {
        table_add_text(t, STR("Redis unavailable"));
        table_add_text(t, STR("?"));
        return;
    }
    table_add_time(t, lag->position.known ? lag->position.at_ms : TIME_NONE, "never");
    if (!lag->position.known)
        table_add_text(t, STR("-"));
    else if (lag->events > LAG_MAX)
        table_add_text(t, STR(">1000"));
    else
        table_add_i64(t, lag->events);
}

static void add_row(struct key_listing *l, size_t i)
{
    const struct api_key *key = &l->keys.items[i];
    struct table *t = &l->table;
    if (t->is_json) {
        append_json(&t->json, key, l->config->keys.prefix, NULL,
                    l->lag_state == KEY_LAG_NO_REDIS ? NULL : &l->lags[i]);
        return;
    }
    table_add_uuid(t, &key->id);
    buf_printf(&t->cells, "%s…%.*s", l->config->keys.prefix, KEY_SUFFIX_LEN, key->suffix);
    table_end_cell(t);
    table_add_time(t, key->last_used_at, "never");
    add_lag(l, &l->lags[i]);
    table_add_text(t, key->revoked_at == TIME_NONE ? STR("live") : STR("revoked"));
    table_add_text(t, key->name);
}

static void fill_table(struct key_listing *l)
{
    static const char *const headings[] = {"ID", "KEY", "LAST USED", "STATE", "NAME", NULL};
    static const char *const with_lag[] = {"ID",   "KEY",   "LAST USED", "LAST POLL",
                                           "#LAG", "STATE", "NAME",      NULL};
    table_init(&l->table, l->lag_state == KEY_LAG_NO_REDIS ? headings : with_lag, l->is_json);
    for (size_t i = 0; i < l->keys.count; i++)
        add_row(l, i);
}

static enum err list_keys(struct store *store, struct arena *arena, void *ctx)
{
    struct key_listing *l = ctx;
    struct author author;
    struct error error;
    l->arena = arena;
    enum err err = named_author_find(store, arena, l->author, &author);
    if (!err)
        err = store_list_keys(store, author.row, collect_key, l);
    if (err)
        return err;
    l->lags = xcalloc(l->keys.count + 1, sizeof *l->lags);
    for (size_t i = 0; i < l->keys.count; i++)
        l->lags[i].key_id = l->keys.items[i].id;
    l->lag_state = key_lag_read(l->config, store, author.row, l->lags, l->keys.count, &error);
    if (l->lag_state == KEY_LAG_UNAVAILABLE && error.code)
        cli_note("%s", error.text);
    fill_table(l);
    return OK;
}

static enum cli_exit list(struct cli *cli, const struct cli_arguments *arguments)
{
    struct key_listing l = {.author = cli_value(arguments, "author"),
                            .config = &cli->config,
                            .is_json = cli_flag(arguments, "json")};
    enum err err = cli_read(cli, list_keys, &l);
    VEC_FREE(&l.keys);
    free(l.lags);
    if (err == ERR_NOT_FOUND)
        return named_author_print_not_found();
    return err ? CLI_COULD_NOT : table_print(&l.table);
}

/* ---- revoke ---- */

struct key_revocation {
    struct uuid id;
    struct buf report; /* printed after the commit */
};

static enum err revoke_key(struct store *store, struct arena *arena, void *ctx)
{
    struct key_revocation *r = ctx;
    struct api_key key;
    enum err err = store_find_key_by_id(store, arena, &r->id, &key);
    if (err)
        return err;
    buf_append(&r->report, STR("Key \""));
    cli_append_text(&r->report, key.name);
    if (key.revoked_at == TIME_NONE) {
        buf_append(&r->report, STR("\" is revoked.\n"));
    } else {
        buf_append(&r->report, STR("\" was already revoked at "));
        cli_append_time(&r->report, key.revoked_at);
        buf_append(&r->report, STR(" UTC.\n"));
    }
    const struct actor by = cli_operator();
    return store_revoke_key(store, key.row, clock_wall_ms(), &by);
}

static enum cli_exit revoke_by_id(struct cli *cli, const char *id)
{
    struct key_revocation r;
    if (!cli_parse_uuid("KEY", id, &r.id))
        return CLI_USAGE;
    buf_init(&r.report, 64 * 1024);
    enum err err = cli_transaction(cli, revoke_key, &r);
    if (!err)
        return cli_print(&r.report);
    buf_fini(&r.report);
    return err == ERR_NOT_FOUND ? cli_fail(CLI_PART, "no key has this id (see viewtally key list)")
                                : CLI_COULD_NOT;
}

static enum cli_exit revoke_command(struct cli *cli, const struct cli_arguments *arguments)
{
    if (cli_flag(arguments, "leaked"))
        return key_revoke_leaked(cli, arguments);
    if (!arguments->operand_count)
        return cli_fail(CLI_USAGE,
                        "too few arguments: KEY is missing (the key's id; see viewtally key find)");
    return revoke_by_id(cli, arguments->operands[0]);
}

/* ---- limit ---- */

static enum err check_key_exists(struct store *store, struct arena *arena, void *ctx)
{
    struct api_key key;
    return store_find_key_by_id(store, arena, ctx, &key);
}

static enum cli_exit load_window(const struct config *c, const struct uuid *id, bool reset,
                                 struct shared_window *window)
{
    struct redis_session session = {.timed_out = false};
    struct shared_window_call call;
    struct error error = {0};
    enum cli_exit code = CLI_DONE;
    if (redis_session_open(&session, c, &error))
        return cli_fail(CLI_USAGE, "%s", error.text);
    if (shared_window_load(session.redis, c->redis.key_prefix, id, (int)c->limits.requests_per_minute, reset,
                           &session.waiter, &call) == NEXT_WAIT)
        redis_session_wait(&session);
    if (!shared_window_get(&call, window)) {
        const char *reason = redis_failure_reason(session.redis);
        code = cli_fail(CLI_COULD_NOT, "Redis is unavailable (%s)", *reason ? reason : "no reply in time");
    }
    redis_session_close(&session);
    return code;
}

static void append_window(struct buf *b, const struct uuid *id, int64_t limit, const struct shared_window *w,
                          bool reset)
{
    json_open(b, '{');
    JSON_UUID(b, "id", id);
    JSON_I64(b, "limit", limit);
    JSON_I64(b, "admitted", w->admitted);
    JSON_I64(b, "remaining", w->remaining);
    JSON_I64_OR_NULL(b, "next_slot_ms", w->admitted > 0, w->next_slot_ms);
    JSON_BOOL(b, "reset", reset);
    json_close(b, '}');
    buf_append_char(b, '\n');
}

static void append_window_text(struct buf *b, int64_t limit, const struct shared_window *w, bool reset)
{
    buf_printf(b, "admitted in the last 60 s   %lld of %lld\nremaining                   %lld\n",
               (long long)w->admitted, (long long)limit, (long long)w->remaining);
    if (w->admitted)
        buf_printf(b, "next slot is freed          in %.1f s\n", (double)w->next_slot_ms / 1000);
    if (reset)
        buf_append(b, STR("The window is now empty.\n"));
}

static enum cli_exit limit_command(struct cli *cli, const struct cli_arguments *arguments)
{
    const int64_t limit = cli->config.limits.requests_per_minute;
    const bool reset = cli_flag(arguments, "reset");
    struct shared_window window;
    struct uuid id;
    struct buf out;
    if (!cli_parse_uuid("KEY", arguments->operands[0], &id))
        return CLI_USAGE;
    if (!limit)
        return cli_fail(CLI_USAGE, "[limits] requests_per_minute is 0, so there is no rate limit");
    if (!*cli->config.redis.url)
        return cli_fail(CLI_USAGE,
                        "without Redis ([redis] url) each server process has its windows in its own "
                        "memory, where they cannot be shown or reset");
    enum err err = cli_read(cli, check_key_exists, &id);
    if (err)
        return err == ERR_NOT_FOUND ? cli_fail(CLI_PART, "no key has this id (see viewtally key list)")
                                    : CLI_COULD_NOT;
    enum cli_exit code = load_window(&cli->config, &id, reset, &window);
    if (code != CLI_DONE)
        return code;
    buf_init(&out, 1024);
    if (cli_flag(arguments, "json"))
        append_window(&out, &id, limit, &window, reset);
    else
        append_window_text(&out, limit, &window, reset);
    return cli_print(&out);
}

/* ---- the command ---- */

static const struct cli_option create_options[] = {
    {.name = "author",
     .argument = "AUTHOR",
     .help = "The author who owns the key: an id or a sign-in name.",
     .is_required = true},
    {.name = "name",
     .argument = "NAME",
     .help = "The purpose of the key, 1 to 200 bytes.",
     .is_required = true},
    {.name = "json", .help = "Print the key with its id and dates as JSON."},
    {0},
};

static const struct cli_option list_options[] = {
    {.name = "author",
     .argument = "AUTHOR",
     .help = "The author who owns the keys: an id or a sign-in name.",
     .is_required = true},
    {.name = "json", .help = "Print a JSON array, with all fields. A `lag` of 1001 means more than 1000."},
    {0},
};

static const struct cli_option find_options[] = {
    {.name = "json", .help = "Print a JSON array."},
    {0},
};

static const struct cli_option revoke_options[] = {
    {.name = "leaked",
     .help = "KEY is not an id, but the leaked key itself or a text that contains it; without KEY, or with "
             "`-`, standard input is read. All keys in the text are revoked, at most 1,000 at a time."},
    {0},
};

static const struct cli_option limit_options[] = {
    {.name = "reset", .help = "Empty the window after showing it."},
    {.name = "json", .help = "Print a JSON object. `next_slot_ms` is null if the window is empty."},
    {0},
};

static const struct cli_action actions[] = {
    {.name = "create",
     .options = create_options,
     .summary = "Creates an API key and prints it.",
     .description =
         "The key is shown only once, because only its hash is stored. An author can have at most 100 live "
         "keys. The limit of 200 new keys a day applies only to keys that authors and apps create, not to "
         "this command.",
     .partial = "no author has this id or sign-in name, or the author has 100 live keys",
     .examples = "viewtally key create --author 00000000-0000-4000-8000-000000000001 --name Zapier",
     .run = create},
    {.name = "list",
     .options = list_options,
     .summary = "Lists the author's keys: id, last characters, last use, state and name.",
     .description = "If Redis is configured, also shows the time of each key's last poll of /events and its "
                    "lag, which is the number of events after its poll position.",
     .partial = "no author has this id or sign-in name",
     .examples = "viewtally key list --author 00000000-0000-4000-8000-000000000001",
     .run = list},
    {.name = "find",
     .operands = "[TEXT]",
     .operands_max = 1,
     .options = find_options,
     .summary = "Finds keys of all authors by the key itself or by its last characters.",
     .description =
         "TEXT is a key, a text that contains one (such as a line of a log), or at least the last four "
         "characters of a key. Further characters are not compared, because only four are stored. Without "
         "TEXT, or with `-`, standard input is read, so that the key does not get into the shell's history.",
     .partial = "no key matches",
     .examples = "viewtally key find x7Qa\nviewtally key find <leaked-line.txt",
     .run = key_find},
    {.name = "revoke",
     .operands = "[KEY]",
     .operands_max = 1,
     .options = revoke_options,
     .summary =
         "Permanently revokes the key with this id. Later requests with the key are rejected with 401.",
     .description =
         "With --leaked, revokes a key by its text instead of its id. Pass the text on standard input: a "
         "command line is stored in the shell's history, and other users of the machine can see it while "
         "the command runs. On a terminal the command asks for the key.",
     .partial =
         "no key has this id; or the text contains no complete key, an unknown key or more than 1,000 keys",
     .examples = "viewtally key revoke 6d1f0b6e-5a0c-4f0e-9c1d-0f6b1a2c3d4e\n"
                 "viewtally key revoke --leaked <leaked-key.txt",
     .run = revoke_command},
    {.name = "limit",
     .operands = "KEY",
     .operands_min = 1,
     .operands_max = 1,
     .options = limit_options,
     .summary = "Shows the rate limit window in Redis of the key with this id.",
     .description =
         "Prints how many requests were admitted in the last 60 seconds, how many more are possible now, and "
         "when the next slot becomes free. After a reset, a server that has just rejected the key may go on "
         "rejecting it for up to a second. Requires Redis: without it, each server process counts in its own "
         "memory and the exit status is 2.",
     .partial = "no key has this id",
     .examples = "viewtally key limit 6d1f0b6e-5a0c-4f0e-9c1d-0f6b1a2c3d4e --reset",
     .run = limit_command},
    {0},
};

const struct cli_command cli_key = {
    .name = "key",
    .summary = "create, list and revoke API keys, and show their rate limit",
    .actions = actions,
};
