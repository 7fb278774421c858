/* Sessions: their lifetimes, their cookie, and recording their use. A session is identified by a secret in a
 * cookie; the database stores the hash of the secret. Each sign-in creates a new session and ends the
 * previous session of the browser. */
#ifndef VT_AUTH_SESSION_H
#define VT_AUTH_SESSION_H

#include "auth/secret.h"
#include "base/expiry_floor.h"
#include "store/accounts.h"
#include "store/writer.h"

#define SESSION_IDLE_MS (14 * DAY_MS) /* maximum time without a request */
#define SESSION_LIFE_MS (60 * DAY_MS) /* maximum age */

/* Returns true if the session was idle for too long or is too old. */
bool session_has_expired(const struct session *s, int64_t now);

/* Returns false if the session has expired, or if it was created more than EXPIRY_JUMP_MS in the future: the
 * clock was wrong then, and must not extend the life of the session. Pass expiry_now_ms() as `now`. */
bool session_is_live(const struct session *s, int64_t now);

/* Returns the value of the cookie `name` in a Cookie header field. p == NULL if there is no such cookie, or
 * more than one: another site on the same domain may have set one of them. */
struct str cookie_find(struct str field, struct str name);

/* Stores in the background when sessions were last used, at most once a minute per session, and deletes
 * expired sessions. Only one job runs at a time. A use while a job is running is not recorded, which does no
 * harm, because a later request of the session is recorded. */
struct session_recorder;

/* Creates a recorder. */
struct session_recorder *session_recorder_new(struct writer *writer);

/* Frees the recorder. Call after the writer has closed. `r` may be NULL. */
void session_recorder_free(struct session_recorder *r);

/* Records that the session is used now. `hash` is the hash of its secret. */
void session_record_use(struct session_recorder *r, const uint8_t hash[SECRET_HASH_LEN],
                        const struct session *s);

/* Deletes an expired session in the background. Precondition: session_has_expired() returns true for the time
 * expiry_floor_ms(). */
void session_delete_expired(struct session_recorder *r, const uint8_t hash[SECRET_HASH_LEN]);

#endif
