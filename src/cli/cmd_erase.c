/* viewtally author erase: deletes an author from the database and from Redis. */
#include "cli/cmd_erase.h"

#include "base/clock.h"
#include "base/vec.h"
#include "cli/erasing.h"
#include "cli/named_author.h"
#include "cli/output.h"
#include "cli/redis_session.h"
#include "limit/key_traces.h"
#include "store/erase.h"
#include "store/replace.h"
#include "store/store_config.h"

struct author_erasure {
    const char *named; /* an id or a sign-in name */
    struct author author;
    struct erased_rows rows;
    bool was_erased; /* an earlier command has erased the author, but may have been killed before it emptied
                        the write-ahead log */
    VEC(struct uuid) keys;
};

static bool add_key(void *ctx, const struct api_key *key)
{
    struct author_erasure *e = ctx;
    *VEC_ADD(&e->keys) = key->id;
    return true;
}

static enum err find_erased(struct store *store, struct author_erasure *e)
{
    if (!uuid_parse(str_from_cstr(e->named), &e->author.id))
        return ERR_NOT_FOUND;
    enum err err = store_find_tombstone(store, &e->author.id, &e->was_erased);
    return !err && !e->was_erased ? ERR_NOT_FOUND : err;
}

static enum err erase(struct store *store, struct arena *arena, void *ctx)
{
    struct author_erasure *e = ctx;
    enum err err = named_author_find(store, arena, e->named, &e->author);
    if (err == ERR_NOT_FOUND)
        return find_erased(store, e);
    if (!err)
        err = store_list_keys(store, e->author.row, add_key, e);
    return err ? err : store_erase_author(store, &e->author, clock_wall_ms(), &e->rows);
}

/* ---- Redis ---- */

static bool delete_block(struct redis_session *s, const struct config *c, const struct uuid *ids, int count)
{
    struct key_traces_call call;
    if (key_traces_delete(s->redis, c->redis.key_prefix, ids, count, &s->waiter, &call) == NEXT_WAIT)
        redis_session_wait(s);
    return call.result.ok;
}

static bool delete_traces(const struct config *c, const struct uuid *ids, size_t count)
{
    struct redis_session session = {.timed_out = false};
    struct error error;
    bool ok = true;
    if (!*c->redis.url || !count)
        return true;
    if (redis_session_open(&session, c, &error))
        return false;
    for (size_t i = 0; i < count && ok; i += KEY_TRACES_MAX)
        ok = delete_block(&session, c, ids + i,
                          (int)(count - i < KEY_TRACES_MAX ? count - i : KEY_TRACES_MAX));
    redis_session_close(&session);
    return ok;
}

/* ---- the report of the erasure ---- */

static enum cli_exit print_rows(const struct author_erasure *e, bool dry_run)
{
    struct buf out;
    buf_init(&out, 16 * 1024);
    if (e->was_erased) {
        buf_append(&out, STR("Author "));
        cli_append_uuid(&out, &e->author.id);
        buf_append(&out, STR(" has been erased before.\n"));
        return cli_print(&out);
    }
    buf_append(&out, dry_run ? STR("Dry run: nothing was changed. The command would delete author ")
                             : STR("Deleted author "));
    cli_append_uuid(&out, &e->author.id);
    buf_append(&out, STR(" with these rows:\n"));
    for (int i = 0; i < ERASED_TABLES; i++)
        if (e->rows.counts[i])
            buf_printf(&out, "  %-22s %lld\n", erased_table_name(i), (long long)e->rows.counts[i]);
    return cli_print(&out);
}

/* Prints a note for each file that can still contain the author's data. */
static void note_copies(const struct config *config)
{
    struct before_list list = {0};
    if (store_config_is_file(config) && database_list_replaced(config->store.path, &list))
        for (size_t i = 0; i < list.paths.count; i++)
            cli_note("%s may still contain the author; delete it when you no longer need it",
                     list.paths.items[i].path);
    VEC_FREE(&list.paths);
    cli_note("backups and log files may contain the author until you delete them; a restore from a "
             "backup deletes the author again");
}

enum cli_exit author_erase(struct cli *cli, const struct cli_arguments *arguments)
{
    const bool dry_run = cli_flag(arguments, "dry-run");
    struct author_erasure e = {.named = arguments->operands[0]};
    const enum err err = cli_erasing_transaction(cli, dry_run, erase, &e);
    enum cli_exit code = err == ERR_NOT_FOUND ? named_author_print_not_found() : CLI_COULD_NOT;
    if (!err)
        code = print_rows(&e, dry_run);
    if (!err && !dry_run) {
        note_copies(&cli->config);
        if (e.was_erased && *cli->config.redis.url)
            cli_note(
                "if Redis was unavailable when the author was erased, the poll positions of the author's "
                "keys stay in Redis until they expire (at most 90 days)");
        if (!delete_traces(&cli->config, e.keys.items, e.keys.count))
            code = cli_fail(CLI_PART, "Redis is unavailable, so the poll positions of the author's keys "
                                      "stay in Redis until they expire (at most 90 days)");
    }
    VEC_FREE(&e.keys);
    return code;
}
