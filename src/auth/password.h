/* Passwords: the rules for new passwords, and hashing on the thread pool (Argon2id of RFC 9106, with
 * libsodium).
 *
 * Computing a hash needs PASSWORD_MEMORY_BYTES for about 0.2 s. Therefore at most PASSWORD_JOBS jobs run at a
 * time, and at most PASSWORD_QUEUE_MAX wait; further jobs fail with ERR_FULL. A password is UTF-8 and is not
 * normalized. */
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
    PASSWORD_STORED_LEN = 128, /* size of a hash in the text form of libsodium, with its NUL */
    PASSWORD_MEMORY_BYTES = 64 << 20,
    PASSWORD_PASSES = 3,
    PASSWORD_JOBS = 2,
    PASSWORD_QUEUE_MAX = 32,
};

/* Checks a new password (NIST SP 800-63B: a minimum length, no rules for character classes, no common
 * passwords). Returns NULL if the password is acceptable, else a static sentence that tells the author the
 * reason. `login` is the login of the account. */
const char *password_check(struct str password, struct str login);

/* The hashing jobs of this process. */
struct passwords;
struct passwords *passwords_new(uv_loop_t *loop);

/* Frees the jobs. Call after the loop has ended. `p` may be NULL. */
void passwords_free(struct passwords *p);

/* The result of one job; must stay valid while the waiter is armed. */
struct password_call {
    enum err err; /* ERR_FULL if too many jobs wait; ERR_NOMEM */
    bool matches; /* set by password_verify() */
    /* The hash to store. password_verify() sets it to "", unless the password matches but the stored hash has
     * outdated parameters; in this case, replace the stored hash by this one. */
    char text[PASSWORD_STORED_LEN];
};

/* Each of these starts a job. Returns NEXT_WAIT, or NEXT_MORE if `call` already contains the result. If there
 * is no account, pass `stored` with p == NULL: the job reports that the password does not match, but takes as
 * long as with an account. A password longer than PASSWORD_MAX_BYTES never matches; password_hash() must not
 * be called with such a password. */
enum next password_verify(struct passwords *p, struct waiter *waiter, struct password_call *call,
                          struct str password, struct str stored);
enum next password_hash(struct passwords *p, struct waiter *waiter, struct password_call *call,
                        struct str password);

#endif
