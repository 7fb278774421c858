/* Opens and closes the server's connections to its database. */
#include "app/server_database.h"

#include "base/log.h"
#include "base/plural.h"
#include "import/finalizing.h"
#include "store/store_config.h"
#include "vault/key_credential.h"
#include "vault/token_vault.h"

/* Completes an import whose process was killed. A failure does not prevent the server from starting: the next
 * import or server start tries again. */
static void complete_import(const struct config *c, const struct store_options *options)
{
    const struct step_rules rules = step_rules_from_config(c);
    struct finalizing_result result;
    struct error error;
    if (finalizing_run_all(options, &rules, &result, &error))
        log_warn("%s: cannot complete an interrupted import: %s", store_config_name(c), error.text);
    else if (result.videos)
        log_info("%s: completed an interrupted import: %lld video%s finalized", store_config_name(c),
                 (long long)result.videos, plural(result.videos, "", "s"));
}

/* Checks that the stored tokens can be decrypted, so that a wrong key file is reported at start and not in
 * the first refresh that needs the tokens. Returns ERR_INVALID if the key file is missing or wrong. */
static enum err check_tokens(const struct config *c, const struct store_options *options, struct error *error)
{
    struct store *store;
    enum err err = store_open(&store, options, error);
    if (err)
        return err;
    err = vault_check_key_file(c, store, error);
    store_close(store);
    return err == ERR_NOT_FOUND || err == ERR_CORRUPT ? ERR_INVALID : err;
}

enum err server_database_open(struct server_database *db, uv_loop_t *loop, const struct config *c,
                              struct error *error)
{
    struct store_options reads = store_options_from_config(c, STORE_READ);
    struct store_options writes = store_options_from_config(c, STORE_WRITE);
    writes.checkpointed = true;
    enum err err = key_credential_lock_shared(&db->key_lock, c, error);
    if (err)
        return err;
    err = check_tokens(c, &reads, error);
    if (err)
        return err;
    complete_import(c, &writes);
    reads.loop = loop;
    /* The maximum number of requests that wait during an outage of the database server. Further requests fail
     * immediately. So waiting requests never occupy more than half of the client connections. */
    reads.held_max = (int)c->server.max_connections / 2;
    err = store_open(&db->store, &reads, error);
    if (err)
        return err;
    err = writer_open(&db->writer, loop, &writes, error);
    if (err || !store_config_is_file(c))
        return err;
    return checkpointer_open(&db->checkpointer, loop, c->store.path, writer_lock(db->writer), error);
}

static void on_writer_closed(void *ctx)
{
    struct server_database *db = ctx;
    db->writer = NULL;
}

static void close_writer(void *ctx)
{
    struct server_database *db = ctx;
    db->checkpointer = NULL;
    if (db->writer)
        writer_close(db->writer, on_writer_closed, db);
}

/* The writer is closed last, because SQLite checkpoints the write-ahead log when the last connection is
 * closed. The read connection cannot checkpoint the log, and a checkpoint on the loop would block the loop.
 */
void server_database_close(struct server_database *db)
{
    if (db->store)
        store_close(db->store);
    db->store = NULL;
    if (db->checkpointer)
        checkpointer_close(db->checkpointer, close_writer, db);
    else
        close_writer(db);
}
