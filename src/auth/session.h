/* Sessions: their lifetimes, the cookie that carries one, and recording their use. A session is a secret in a
 * cookie; the database holds its hash. Each sign-in creates a new session and ends the previous one. */
#ifndef VT_AUTH_SESSION_H
#define VT_AUTH_SESSION_H

#include "auth/secret.h"
#include "base/expiry_floor.h"
#include "store/accounts.h"
#include "store/writer.h"

#define SESSION_IDLE_MS (14 * DAY_MS) /* without a request */
#define SESSION_LIFE_MS (60 * DAY_MS) /* from its creation */

/* Returns false if the session was idle for too long or is too old. `now`: expiry_now_ms(). */
bool session_is_live(const struct session *s, int64_t now);

/* Returns the value of the cookie `name` in a Cookie header field. p == NULL: there is none, or more than one
 * (another site on the same domain may have set one of them). */
struct str cookie_find(struct str field, struct str name);

/* Stores the last use of sessions in the background, once a minute per session at most, and deletes expired
 * sessions. One job runs at a time: a use during a job is recorded by a later request. */
struct session_recorder;
struct session_recorder *session_recorder_new(struct writer *writer);
/* Call after the writer has closed. NULL is allowed. */
void session_recorder_free(struct session_recorder *r);
void session_record_use(struct session_recorder *r, const uint8_t hash[SECRET_HASH_LEN],
                        const struct session *s);
/* Deletes the session. Precondition: it is no longer live by expiry_floor_ms(). */
void session_record_end(struct session_recorder *r, const uint8_t hash[SECRET_HASH_LEN]);

#endif
