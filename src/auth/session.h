/* Sessions: how long they live, the cookies that carry them, and noting that one was used. A session is a
 * secret in a cookie; the database has its hash. It is never taken over by a sign-in: each makes a new one.
 */
#ifndef VT_AUTH_SESSION_H
#define VT_AUTH_SESSION_H

#include "auth/secret.h"
#include "base/clock.h"
#include "store/accounts.h"
#include "store/writer.h"

#define SESSION_IDLE_MS (14 * DAY_MS) /* without a request */
#define SESSION_LIFE_MS (60 * DAY_MS) /* in all */

/* Neither idle for too long nor too old. */
bool session_is_live(const struct session *s, int64_t now);

/* The value of the cookie `name` in a Cookie field; p == NULL: none, or more than one (then somebody else has
 * set one of them). */
struct str cookie_find(struct str field, struct str name);

/* Notes the use of sessions in the background, each at most once a minute, and deletes those that are over,
 * so that a clock that is set back revives none. One job at a time: what is noted meanwhile is left to the
 * next request. */
struct session_notes;
struct session_notes *session_notes_new(struct writer *writer);
/* After the writer has closed. */
void session_notes_free(struct session_notes *n);
/* It is not live any more. */
void session_forget(struct session_notes *n, const uint8_t hash[SECRET_HASH_LEN]);
void session_note(struct session_notes *n, const uint8_t hash[SECRET_HASH_LEN], const struct session *s);

#endif
