/* viewtally key: find, revoke --leaked. The database stores only the hash and the last characters of a key.
 */
#include "cli/cmd_key_find.h"

#include "auth/api_key.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/plural.h"
#include "base/vec.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/operator.h"
#include "cli/output.h"
#include "cli/table.h"
#include "store/runs.h"
#include "store/write.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_MAX = 1 << 20, LEAKED_MAX = 1000, KEY_REST_LEN = KEY_RANDOM_LEN + KEY_CHECK_LEN };

/* ---- keys in a text ---- */

/* Finds the first complete key in `text`, which may be a line of a log or of a source file. Returns the text
 * after the key, or p == NULL if `text` contains no key. */
static struct str next_key(struct str prefix, struct str text, struct str *key)
{
    while (text.len) {
        const size_t at = key_locate_secret(prefix, text);
        if (at >= text.len)
            break;
        if (at >= prefix.len && text.len - at >= KEY_REST_LEN) {
            *key = str_make(text.p + at - prefix.len, prefix.len + KEY_REST_LEN);
            if (key_is_well_formed(prefix, *key))
                return str_make(text.p + at + KEY_REST_LEN, text.len - at - KEY_REST_LEN);
        }
        text = str_make(text.p + at, text.len - at);
    }
    return (struct str){NULL, 0};
}

/* Reads standard input, which may contain NUL bytes, for example if it is a part of a core dump. Reads only
 * one line from a terminal. */
static void read_input(struct buf *input)
{
    char part[4096];
    size_t n;
    if (isatty(STDIN_FILENO) == 1) {
        (void)fputs("Paste the key and press Enter: ", stderr);
        if (fgets(part, sizeof part, stdin))
            buf_append(input, str_from_cstr(part));
    } else {
        while (!input->failed && (n = fread(part, 1, sizeof part, stdin)) > 0)
            buf_append(input, str_make(part, n));
    }
    sodium_memzero(part, sizeof part);
}

static struct str without_line_end(struct str text)
{
    while (text.len && (text.p[text.len - 1] == '\n' || text.p[text.len - 1] == '\r'))
        text.len--;
    return text;
}

/* Sets `*text` to the text that the command works on: the operand, or standard input if the operand is
 * missing or "-". Prints an error on failure, and returns the exit status. */
static enum cli_exit read_text(const struct cli_arguments *arguments, struct buf *input, struct str *text)
{
    const char *operand = arguments->operand_count ? arguments->operands[0] : "-";
    if (strcmp(operand, "-") != 0) {
        *text = str_trim(str_from_cstr(operand));
        return CLI_DONE;
    }
    read_input(input);
    *text = str_trim(without_line_end(buf_str(input)));
    if (ferror(stdin))
        return cli_fail(CLI_COULD_NOT, "cannot read standard input: %s", strerror(errno));
    if (input->failed)
        return cli_fail(CLI_USAGE, "standard input is longer than %d bytes", INPUT_MAX);
    return CLI_DONE;
}

static void wipe(struct buf *input)
{
    if (input->p)
        sodium_memzero(input->p, input->len);
    buf_fini(input);
}

/* ---- find ---- */

struct key_search {
    const char *prefix; /* [keys] prefix */
    struct str key;     /* the complete key to search for; p == NULL: search for the suffix */
    struct str suffix;
    struct arena *arena;
    struct table table;
    VEC(struct api_key) found;
};

static bool collect_if_same(void *ctx, const struct api_key *key)
{
    struct key_search *s = ctx;
    if (memcmp(key->suffix, s->suffix.p, KEY_SUFFIX_LEN) == 0) {
        struct api_key *copy = VEC_ADD(&s->found);
        *copy = *key;
        copy->name = arena_copy(s->arena, key->name);
    }
    return true;
}

/* Finds the keys that end with the suffix. Reads one author at a time, so that no read transaction stays open
 * for long. */
static enum err search_suffix(struct key_search *s, struct store *store)
{
    int64_t author = 0;
    enum err err;
    while ((err = store_find_next_author(store, author, &author)) == OK)
        if ((err = store_list_keys(store, author, collect_if_same, s)) != OK)
            return err;
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err search_key(struct key_search *s, struct store *store)
{
    uint8_t hash[KEY_HASH_LEN];
    struct api_key key;
    key_hash(s->key, hash);
    const enum err err = store_find_key_by_hash(store, s->arena, hash, &key);
    if (err)
        return err == ERR_NOT_FOUND ? OK : err;
    *VEC_ADD(&s->found) = key;
    return OK;
}

static void append_found(struct key_search *s, const struct api_key *key, const struct author *author)
{
    struct table *t = &s->table;
    if (t->is_json) {
        json_open(&t->json, '{');
        JSON_UUID(&t->json, "id", &key->id);
        JSON_STR(&t->json, "name", key->name);
        JSON_UUID(&t->json, "author_id", &author->id);
        JSON_STR(&t->json, "author_name", author->name);
        JSON_TIME(&t->json, "created_at", key->created_at);
        JSON_TIME_OR_NULL(&t->json, "last_used_at", key->last_used_at != TIME_NONE, key->last_used_at);
        JSON_TIME_OR_NULL(&t->json, "revoked_at", key->revoked_at != TIME_NONE, key->revoked_at);
        json_close(&t->json, '}');
        return;
    }
    table_add_uuid(t, &key->id);
    buf_printf(&t->cells, "%s…%.*s", s->prefix, KEY_SUFFIX_LEN, key->suffix);
    table_end_cell(t);
    table_add_uuid(t, &author->id);
    table_add_text(t, author->name);
    table_add_time(t, key->last_used_at, "never");
    table_add_text(t, key->revoked_at == TIME_NONE ? STR("live") : STR("revoked"));
    table_add_text(t, key->name);
}

static enum err search(struct store *store, struct arena *arena, void *ctx)
{
    struct key_search *s = ctx;
    s->arena = arena;
    enum err err = s->key.p ? search_key(s, store) : search_suffix(s, store);
    for (size_t i = 0; !err && i < s->found.count; i++) {
        struct author author;
        err = store_get_author(store, arena, s->found.items[i].author_row, &author);
        if (!err)
            append_found(s, &s->found.items[i], &author);
    }
    return err;
}

static bool is_suffix(struct str text)
{
    if (text.len < KEY_SUFFIX_LEN)
        return false;
    for (size_t i = text.len - KEY_SUFFIX_LEN; i < text.len; i++)
        if (!text.p[i] ||
            !strchr("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", text.p[i]))
            return false;
    return true;
}

static enum cli_exit find(struct cli *cli, struct key_search *s, struct str text, bool is_json)
{
    static const char *const headings[] = {"ID",        "KEY",   "AUTHOR", "AUTHOR NAME",
                                           "LAST USED", "STATE", "NAME",   NULL};
    (void)next_key(str_from_cstr(s->prefix), text, &s->key);
    if (!s->key.p && !is_suffix(text))
        return cli_fail(CLI_USAGE,
                        "TEXT must be a key, or at least its last %d characters (letters and digits)",
                        KEY_SUFFIX_LEN);
    if (!s->key.p)
        s->suffix = str_make(text.p + text.len - KEY_SUFFIX_LEN, KEY_SUFFIX_LEN);
    table_init(&s->table, headings, is_json);
    const enum err err = cli_read(cli, search, s);
    const size_t count = s->found.count;
    VEC_FREE(&s->found);
    if (err)
        table_fini(&s->table);
    const enum cli_exit code = err ? CLI_COULD_NOT : table_print(&s->table);
    if (code || count)
        return code;
    return cli_fail(CLI_PART, s->key.p ? "this database does not contain this key"
                                       : "no key ends with these characters");
}

enum cli_exit key_find(struct cli *cli, const struct cli_arguments *arguments)
{
    struct key_search s = {.prefix = cli->config.keys.prefix};
    struct buf input;
    struct str text;
    buf_init(&input, INPUT_MAX);
    enum cli_exit code = read_text(arguments, &input, &text);
    if (!code)
        code = find(cli, &s, text, cli_flag(arguments, "json"));
    wipe(&input);
    return code;
}

/* ---- revoke --leaked ---- */

struct leak {
    struct str prefix, text;
    int64_t now;
    struct actor by;
    int keys, unknown;
    bool has_more;     /* the text contains more than LEAKED_MAX keys */
    struct buf report; /* printed after the commit */
};

static enum err revoke_key(struct leak *l, struct store *store, struct arena *arena,
                           const struct api_key *key)
{
    struct author author;
    enum err err = store_get_author(store, arena, key->author_row, &author);
    if (!err)
        err = store_revoke_key(store, key->row, l->now, &l->by);
    if (err)
        return err;
    buf_append(&l->report, key->revoked_at == TIME_NONE ? STR("Revoked key ") : STR("Already revoked: key "));
    cli_append_uuid(&l->report, &key->id);
    buf_append(&l->report, STR(" ("));
    cli_append_text(&l->report, key->name);
    buf_append(&l->report, STR(") of "));
    cli_append_text(&l->report, author.name);
    buf_append(&l->report, STR(", author "));
    cli_append_uuid(&l->report, &author.id);
    buf_append(&l->report, STR(".\n"));
    return OK;
}

static enum err revoke_all(struct store *store, struct arena *arena, void *ctx)
{
    struct leak *l = ctx;
    struct str rest = l->text, text;
    enum err err = OK;
    for (l->keys = 0; !err && l->keys < LEAKED_MAX; l->keys++) {
        uint8_t hash[KEY_HASH_LEN];
        struct api_key key;
        rest = next_key(l->prefix, rest, &text);
        if (!rest.p)
            break;
        arena_reset(arena);
        key_hash(text, hash);
        err = store_find_key_by_hash(store, arena, hash, &key);
        if (!err)
            err = revoke_key(l, store, arena, &key);
        l->unknown += err == ERR_NOT_FOUND;
        err = err == ERR_NOT_FOUND ? OK : err;
    }
    l->has_more = rest.p && next_key(l->prefix, rest, &text).p;
    return err;
}

static enum cli_exit revoke_leaked(struct cli *cli, struct leak *l)
{
    if (cli_transaction(cli, revoke_all, l)) {
        buf_fini(&l->report);
        return CLI_COULD_NOT;
    }
    if (!l->keys) {
        buf_fini(&l->report);
        return cli_fail(CLI_PART,
                        "no complete key was given (%s and %d more characters), so nothing was revoked: find "
                        "the key by its last characters with viewtally key find, then revoke its id",
                        l->prefix.p, KEY_REST_LEN);
    }
    if (cli_print(&l->report))
        return CLI_COULD_NOT;
    if (l->unknown)
        (void)cli_fail(CLI_PART, "%d key%s not in this database", l->unknown,
                       plural(l->unknown, " is", "s are"));
    if (l->has_more)
        (void)cli_fail(
            CLI_PART,
            "only the first %d keys were processed: run the command again with the rest of the text",
            LEAKED_MAX);
    return l->unknown || l->has_more ? CLI_PART : CLI_DONE;
}

enum cli_exit key_revoke_leaked(struct cli *cli, const struct cli_arguments *arguments)
{
    struct leak l = {
        .prefix = str_from_cstr(cli->config.keys.prefix), .now = clock_wall_ms(), .by = cli_operator()};
    struct buf input;
    buf_init(&input, INPUT_MAX);
    buf_init(&l.report, INPUT_MAX);
    enum cli_exit code = read_text(arguments, &input, &l.text);
    if (!code)
        code = revoke_leaked(cli, &l);
    wipe(&input);
    return code;
}
