/* Passwords: the rules for new ones, and hashing (Argon2id, RFC 9106, by libsodium) on the thread pool.
 *
 * A hash needs PASSWORD_MEMORY_BYTES for about a fifth of a second, so PASSWORD_JOBS run at a time and
 * PASSWORD_QUEUE_MAX wait; further requests fail with ERR_FULL. A password is a sequence of bytes in UTF-8
 * and is not normalized. */
#ifndef VT_AUTH_PASSWORD_H
#define VT_AUTH_PASSWORD_H

#include "base/error.h"
#include "base/next.h"
#include "base/str.h"

#include <uv.h>

enum {
    PASSWORD_MIN_CHARS = 8,
    PASSWORD_MAX_CHARS = 200,
    PASSWORD_MAX_BYTES = 4 * PASSWORD_MAX_CHARS,
    PASSWORD_STORED_LEN = 128, /* in the text form of libsodium, with its NUL */
    PASSWORD_MEMORY_BYTES = 64 << 20,
    PASSWORD_PASSES = 3,
    PASSWORD_JOBS = 2,
    PASSWORD_QUEUE_MAX = 32,
};

/* Returns NULL if the password is acceptable, else a sentence for the author that says why not (NIST SP
 * 800-63B: length counts, no composition rules, no common passwords). `login`: of the same account. */
const char *password_check(struct str password, struct str login);

/* The hashing jobs of this process. */
struct passwords;
struct passwords *passwords_new(uv_loop_t *loop);
/* Call after the loop has ended. NULL is allowed. */
void passwords_free(struct passwords *p);

/* The result of one job; must live as long as the waiter. */
struct password_call {
    enum err err; /* ERR_FULL: too many jobs are queued; ERR_NOMEM */
    bool matches; /* of password_verify() */
    /* The text to store, from password_hash(); from password_verify() only if the password matches and the
     * stored hash has outdated parameters, else "". */
    char text[PASSWORD_STORED_LEN];
};

/* Starts a job: NEXT_WAIT, or NEXT_MORE if `call` is already filled. `stored` p == NULL: there is no such
 * account; this takes as long as with an account, and does not match. A password longer than
 * PASSWORD_MAX_BYTES matches nothing. */
enum next password_verify(struct passwords *p, struct waiter *waiter, struct password_call *call,
                          struct str password, struct str stored);
enum next password_hash(struct passwords *p, struct waiter *waiter, struct password_call *call,
                        struct str password);

#endif
