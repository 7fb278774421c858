/* Sessions: how long they live, the cookies that carry them, and noting that one was used. A session is a
 * secret in a cookie; the database has its hash. It is never taken over by a sign-in: each makes a new one.
 */
#ifndef VT_AUTH_SESSION_H
#define VT_AUTH_SESSION_H

#include "auth/secret.h"
#include "base/expiry_floor.h"
#include "store/accounts.h"
#include "store/writer.h"

#define SESSION_IDLE_MS (14 * DAY_MS) /* without a request */
#define SESSION_LIFE_MS (60 * DAY_MS) /* in all */

/* Neither idle for too long nor too old at `now`, which is expiry_now_ms(). */
bool session_is_live(const struct session *s, int64_t now);

/* The value of the cookie `name` in a Cookie field; p == NULL: none, or more than one (then somebody else has
 * set one of them). */
struct str cookie_find(struct str field, struct str name);

/* Stores the last use of sessions in the background, each at most once a minute, and deletes expired ones.
 * One job at a time: a use during a running job is left to the next request. */
struct session_recorder;
struct session_recorder *session_recorder_new(struct writer *writer);
/* After the writer has closed. */
void session_recorder_free(struct session_recorder *n);
/* Precondition: the session is no longer live by expiry_floor_ms(). */
void session_record_end(struct session_recorder *n, const uint8_t hash[SECRET_HASH_LEN]);
void session_record_use(struct session_recorder *n, const uint8_t hash[SECRET_HASH_LEN],
                        const struct session *s);

#endif
