/* Session life times and cookies. Knows nothing of pages. */
#include "auth/session.h"

#include "base/check.h"
#include "base/log.h"

#include <stdlib.h>

struct session_recorder {
    struct writer_job job;
    struct writer *writer;
    bool writing, failing;
    bool is_over;      /* the session is to be deleted */
    int64_t failed_ms; /* monotonic, of the last failure */
    uint8_t hash[SECRET_HASH_LEN];
    int64_t at_ms;
};

bool session_is_live(const struct session *s, int64_t now)
{
    return now < s->expires_at && now - s->seen_at < SESSION_IDLE_MS;
}

struct str cookie_find(struct str field, struct str name)
{
    struct str rest = field, pair, key, found = {NULL, 0};
    while (rest.p) {
        rest = str_cut(rest, ';', &pair);
        struct str value = str_cut(str_trim(pair), '=', &key);
        if (!value.p || !str_eq(key, name))
            continue;
        if (found.p)
            return (struct str){NULL, 0};
        found = value;
    }
    return found;
}

struct session_recorder *session_recorder_new(struct writer *writer)
{
    struct session_recorder *n = xcalloc(1, sizeof *n);
    n->writer = writer;
    n->failed_ms = INT64_MIN / 2;
    return n;
}

void session_recorder_free(struct session_recorder *n)
{
    if (!n)
        return;
    CHECK(!n->writing);
    free(n);
}

static enum err notes_work(struct writer_job *job, struct store *store)
{
    const struct session_recorder *n = (struct session_recorder *)job;
    enum err e =
        n->is_over ? store_delete_session(store, n->hash) : store_see_session(store, n->hash, n->at_ms);
    return e ? e : store_purge_sessions(store, expiry_floor_ms());
}

static void notes_done(struct writer_job *job, enum err e)
{
    struct session_recorder *n = (struct session_recorder *)job;
    n->writing = false;
    if (e && e != ERR_CANCELED && !n->failing)
        log_warn("the last use of sessions cannot be written: %s", err_name(e));
    n->failing = e != OK;
    if (e)
        n->failed_ms = clock_mono_ms();
}

static void submit(struct session_recorder *n, const uint8_t hash[SECRET_HASH_LEN], bool is_over)
{
    if (n->writing || clock_mono_ms() - n->failed_ms < MINUTE_MS)
        return;
    memcpy(n->hash, hash, sizeof n->hash);
    n->at_ms = expiry_now_ms();
    n->is_over = is_over;
    n->job = (struct writer_job){.work = notes_work, .done = notes_done};
    n->writing = writer_submit(n->writer, &n->job) == OK;
}

void session_record_end(struct session_recorder *n, const uint8_t hash[SECRET_HASH_LEN])
{
    submit(n, hash, true);
}

void session_record_use(struct session_recorder *n, const uint8_t hash[SECRET_HASH_LEN],
                        const struct session *s)
{
    if (llabs(expiry_now_ms() - s->seen_at) >= MINUTE_MS)
        submit(n, hash, false);
}
