/* Names of writers, and their rows in the table `barriers`. */
#include "store/pg/pg_writers.h"

#include "base/clock.h"
#include "base/uuid.h"
#include "pg/pg_link.h"

#include <sodium.h>
#include <stdio.h>

enum { PROOF_MS = 30000 };

/* These statements have no names, so they are not prepared at the start, when the table might not exist yet.
 */
#define SQL_ADD                                                                                              \
    "INSERT INTO barriers (process, n, at) VALUES ($1::text, $2::bigint, now()) "                            \
    "ON CONFLICT (process) DO UPDATE SET n = barriers.n + excluded.n, at = now() "                           \
    "RETURNING n, pg_backend_pid()"
#define SQL_PURGE "DELETE FROM barriers WHERE at < now() - interval '1 day'"

void pg_writer_init(struct pg_writer *w)
{
    uint8_t random[sizeof(struct uuid)];
    char text[UUID_TEXT_LEN];
    *w = (struct pg_writer){.has_purged = false};
    randombytes_buf(random, sizeof random);
    const struct uuid id = uuid_from_random(random);
    uuid_format(&id, text);
    (void)snprintf(w->name, sizeof w->name, "writer %.*s", UUID_TEXT_LEN, text);
}

static void add(const struct pg_writer *w, struct pg_session *s, int64_t step)
{
    struct pg_params params;
    pg_params_init(&params);
    pg_params_add_bytes(&params, str_from_cstr(w->name));
    pg_params_add_i64(&params, step);
    pg_session_add(s, "", SQL_ADD, &params);
    pg_params_fini(&params);
}

void pg_writer_add(struct pg_writer *w, struct pg_session *s, int64_t step)
{
    struct pg_params none;
    pg_params_init(&none);
    if (!w->has_purged)
        pg_session_add(s, "", SQL_PURGE, &none);
    w->has_purged = true;
    add(w, s, step);
}

void pg_writer_committed(struct pg_writer *w)
{
    w->committed_ms = clock_connection_ms();
}

enum err pg_writer_prove_primary(struct pg_writer *w, struct pg_session *s)
{
    if (clock_connection_ms() - w->committed_ms < PROOF_MS)
        return OK;
    /* Also after a failure, the next attempt is in 30 s, because it may wait for PG_ANSWER_MS. */
    pg_writer_committed(w);
    /* Not pg_writer_add(): without the lock of write transactions, the purge could wait for one of them. */
    add(w, s, 0);
    return pg_session_run(s, PG_ANSWER_MS);
}
