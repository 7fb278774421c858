/* viewtally key: create, list, revoke. */
#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/key_create.h"
#include "cli/key_lag.h"
#include "store/write.h"

#include <sodium.h>
#include <stdlib.h>

enum { LIST_MAX_BYTES = 256 << 20 };

/* `full` NULL: the key itself is not shown. `feed` NULL: nobody keeps where it stands. */
static void append_json(struct buf *b, const struct api_key *key, const char *prefix, const char *full,
                        const struct key_feed *feed)
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
    if (feed) {
        JSON_TIME_OR_NULL(b, "last_poll_at", feed->cursor.known, feed->cursor.at_ms);
        JSON_I64_OR_NULL(b, "polls", feed->answered, feed->cursor.polls);
        JSON_I64_OR_NULL(b, "events_behind", feed->cursor.known, feed->behind);
    }
    json_close(b, '}');
    buf_fini(&shown);
}

/* ---- create ---- */

static enum cli_exit print_created(struct cli *cli, const struct api_key *key, const struct key_text *text,
                                   bool json)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    if (json)
        append_json(&out, key, cli->config.keys.prefix, text->p, NULL);
    else
        buf_append(&out, str_make(text->p, text->len));
    buf_append_char(&out, '\n');
    return cli_print(&out);
}

static enum cli_exit create(struct cli *cli, int argc, char **argv)
{
    const char *author_id = NULL, *name = NULL;
    bool json = false;
    int count;
    struct uuid id;
    struct api_key key;
    struct key_text text;
    const struct cli_option options[] = {
        {"author", &author_id, NULL}, {"name", &name, NULL}, {"json", NULL, &json}, {0}};
    if (!cli_parse(argc, argv, options, 0, 0, &count) ||
        !cli_parse_uuid("key create: --author", author_id, &id))
        return CLI_USAGE;
    enum cli_exit code = key_create(cli, &id, str_from_cstr(name), &key, &text);
    if (code == CLI_DONE)
        code = print_created(cli, &key, &text, json);
    sodium_memzero(&text, sizeof text);
    return code;
}

/* ---- list ---- */

struct listing {
    struct uuid author;
    const struct config *config;
    struct buf out;
    bool json;
    struct arena *arena;
    struct api_key *keys;
    struct key_feed *feeds;
    size_t count, room;
    enum key_feed_state feed_state;
};

/* What the row borrows lives until here only. */
static bool on_key(void *ctx, const struct api_key *key)
{
    struct listing *l = ctx;
    if (l->count == l->room) {
        l->room = l->room ? l->room * 2 : 16;
        l->keys = xrealloc(l->keys, l->room * sizeof *l->keys);
    }
    l->keys[l->count] = *key;
    l->keys[l->count++].name = arena_copy(l->arena, key->name);
    return true;
}

static void append_feed(struct listing *l, size_t i)
{
    char polled[TIME_TEXT_LEN + 1] = "never polled            ";
    const struct key_feed *f = &l->feeds[i];
    if (f->cursor.known)
        time_format(f->cursor.at_ms, polled);
    if (l->feed_state == KEY_FEED_AWAY)
        buf_append(&l->out, STR("Redis is unavailable      behind ?      "));
    else if (l->feed_state == KEY_FEED_READ && !f->cursor.known)
        buf_printf(&l->out, "%s  %-12s  ", polled, "");
    else if (l->feed_state == KEY_FEED_READ && f->behind > LAG_MAX)
        buf_printf(&l->out, "%s  %-12s  ", polled, "behind >1000");
    else if (l->feed_state == KEY_FEED_READ)
        buf_printf(&l->out, "%s  behind %-5d  ", polled, f->behind);
}

static void append_row(struct listing *l, size_t i)
{
    const struct api_key *key = &l->keys[i];
    char id[UUID_TEXT_LEN], used[TIME_TEXT_LEN + 1] = "never used              ";
    uuid_format(&key->id, id);
    if (key->last_used_at != TIME_NONE)
        time_format(key->last_used_at, used);
    buf_printf(&l->out, "%.*s  %s…%.*s  %s  ", UUID_TEXT_LEN, id, l->config->keys.prefix, KEY_SUFFIX_LEN,
               key->suffix, used);
    append_feed(l, i);
    buf_printf(&l->out, "%-7s  ", key->revoked_at != TIME_NONE ? "revoked" : "live");
    cli_append_text(&l->out, key->name);
    buf_append_char(&l->out, '\n');
}

static void append_all(struct listing *l)
{
    if (l->json)
        json_open(&l->out, '[');
    for (size_t i = 0; i < l->count && l->json; i++)
        append_json(&l->out, &l->keys[i], l->config->keys.prefix, NULL,
                    l->feed_state == KEY_FEED_NONE ? NULL : &l->feeds[i]);
    for (size_t i = 0; i < l->count && !l->json; i++)
        append_row(l, i);
    if (l->json)
        buf_append(&l->out, STR("]\n"));
}

static enum err list_keys(struct store *store, struct arena *arena, void *ctx)
{
    struct listing *l = ctx;
    struct author author;
    char message[512];
    enum err e = store_find_author(store, arena, &l->author, &author);
    l->arena = arena;
    if (e == OK)
        e = store_list_keys(store, author.row, on_key, l);
    if (e)
        return e;
    l->feeds = xcalloc(l->count + 1, sizeof *l->feeds);
    for (size_t i = 0; i < l->count; i++)
        l->feeds[i].key_id = l->keys[i].id;
    l->feed_state = key_feed_read(l->config, store, author.row, l->feeds, l->count, message, sizeof message);
    if (l->feed_state == KEY_FEED_AWAY && *message)
        (void)cli_fail(CLI_DONE, "%s", message);
    append_all(l);
    return OK;
}

static enum cli_exit list(struct cli *cli, int argc, char **argv)
{
    struct listing l = {.config = &cli->config};
    const char *author_id = NULL;
    int count;
    const struct cli_option options[] = {{"author", &author_id, NULL}, {"json", NULL, &l.json}, {0}};
    if (!cli_parse(argc, argv, options, 0, 0, &count) ||
        !cli_parse_uuid("key list: --author", author_id, &l.author))
        return CLI_USAGE;
    buf_init(&l.out, LIST_MAX_BYTES);
    enum err e = cli_read(cli, list_keys, &l);
    free(l.keys);
    free(l.feeds);
    if (e == OK)
        return cli_print(&l.out);
    buf_fini(&l.out);
    return e == ERR_NOT_FOUND ? cli_fail(CLI_PART, "key list: there is no author with this id")
                              : CLI_COULD_NOT;
}

/* ---- revoke ---- */

static enum err revoke_key(struct store *store, struct arena *arena, void *ctx)
{
    struct api_key key;
    enum err e = store_find_key_by_id(store, arena, ctx, &key);
    return e ? e : store_revoke_key(store, key.row, clock_wall_ms());
}

static enum cli_exit revoke_one(struct cli *cli, int argc, char **argv)
{
    int count;
    struct uuid id;
    if (!cli_parse(argc, argv, NULL, 1, 1, &count) ||
        !cli_parse_uuid("key revoke: the key's id", argv[1], &id))
        return CLI_USAGE;
    enum err e = cli_transaction(cli, revoke_key, &id);
    if (e == ERR_NOT_FOUND)
        return cli_fail(CLI_PART, "key revoke: there is no key with this id");
    return e ? CLI_COULD_NOT : CLI_DONE;
}

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    static const char *const names[] = {"create", "list", "revoke", NULL};
    static enum cli_exit (*const runs[])(struct cli *, int, char **) = {create, list, revoke_one};
    return cli_dispatch(cli, argc, argv, names, runs);
}

const struct cli_command cli_key = {
    .name = "key",
    .synopsis = "create --author UUID --name NAME [--json] | list --author UUID [--json] | revoke ID",
    .summary = "create, list and revoke API keys",
    .help = "  create   prints the key. It is shown this once: only its hash is kept. An author can have 100 "
            "live keys;\n"
            "           the limit of 200 new keys a day for authors and apps does not apply\n"
            "  list     the author's keys: id, last characters, last use, state, name; with Redis also when "
            "each last\n"
            "           polled the events and how many are behind it (1001 in JSON: more than 1,000)\n"
            "  revoke   the key stops working at the next request, for ever",
    .run = run,
};
