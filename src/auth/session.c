/* Checks lifetimes and cookies of sessions, and records their use with a background job. */
#include "auth/session.h"

#include "base/check.h"
#include "base/log.h"

#include <stdlib.h>

struct session_recorder {
    struct writer_job job; /* must be the first member */
    struct writer *writer;
    bool is_running, is_failing;
    int64_t failed_ms; /* when the last write failed; monotonic */
    /* Input of the running job. */
    bool is_ended; /* the session has expired: delete it */
    uint8_t hash[SECRET_HASH_LEN];
    int64_t used_ms;
};

bool session_has_expired(const struct session *s, int64_t now)
{
    return now >= s->expires_at || now - s->seen_at >= SESSION_IDLE_MS;
}

bool session_is_live(const struct session *s, int64_t now)
{
    return !session_has_expired(s, now) && s->created_at - now <= EXPIRY_JUMP_MS;
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
    struct session_recorder *r = xcalloc(1, sizeof *r);
    r->writer = writer;
    r->failed_ms = INT64_MIN / 2;
    return r;
}

void session_recorder_free(struct session_recorder *r)
{
    if (!r)
        return;
    CHECK(!r->is_running);
    free(r);
}

static enum err record_work(struct writer_job *job, struct store *store)
{
    const struct session_recorder *r = (struct session_recorder *)job;
    enum err err =
        r->is_ended ? store_delete_session(store, r->hash) : store_touch_session(store, r->hash, r->used_ms);
    return err ? err : store_purge_sessions(store, expiry_floor_ms());
}

static void record_done(struct writer_job *job, enum err err)
{
    struct session_recorder *r = (struct session_recorder *)job;
    r->is_running = false;
    if (err && err != ERR_CANCELED && !r->is_failing)
        log_warn("cannot store when sessions were last used: %s", err_name(err));
    r->is_failing = err != OK;
    if (err)
        r->failed_ms = clock_mono_ms();
}

static void submit(struct session_recorder *r, const uint8_t hash[SECRET_HASH_LEN], bool is_ended)
{
    if (r->is_running || clock_mono_ms() - r->failed_ms < MINUTE_MS)
        return;
    memcpy(r->hash, hash, sizeof r->hash);
    r->used_ms = expiry_now_ms();
    r->is_ended = is_ended;
    r->job = (struct writer_job){.work = record_work, .done = record_done};
    r->is_running = writer_submit(r->writer, &r->job) == OK;
}

void session_delete_expired(struct session_recorder *r, const uint8_t hash[SECRET_HASH_LEN])
{
    submit(r, hash, true);
}

void session_record_use(struct session_recorder *r, const uint8_t hash[SECRET_HASH_LEN],
                        const struct session *s)
{
    if (llabs(expiry_now_ms() - s->seen_at) >= MINUTE_MS)
        submit(r, hash, false);
}
