/* Passwords: which may be chosen, and hashing them (Argon2id, RFC 9106, by libsodium) off the loop.
 *
 * A hash takes PASSWORD_MEMORY_BYTES for about a fifth of a second, so at most PASSWORD_JOBS run at once and
 * a few wait; who comes above that is told to come back. A password is its bytes, as UTF-8; it is not
 * normalised. */
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
    PASSWORD_STORED_LEN = 128, /* libsodium's text form, with its NUL */
    PASSWORD_MEMORY_BYTES = 64 << 20,
    PASSWORD_PASSES = 3,
    PASSWORD_JOBS = 2,
    PASSWORD_WAITING_MAX = 32,
};

/* NULL when it may be chosen, else a sentence that says why not (NIST SP 800-63B: length counts, no rules of
 * composition, nothing that everybody tries first). `login` is the account's name. */
const char *password_check(struct str password, struct str login);

/* The hashing jobs of a process. */
struct passwords;
struct passwords *passwords_new(uv_loop_t *loop);
/* When the loop has ended, so no job is left. */
void passwords_free(struct passwords *p);

/* One job's answer; lives as long as the wait. */
struct password_call {
    enum err err; /* ERR_FULL: too many wait; ERR_NOMEM */
    bool matches; /* of password_verify */
    /* The text to store: of password_make; of password_verify when it matches and what is stored was made
     * with other parameters. "": none. */
    char text[PASSWORD_STORED_LEN];
};

/* Starters. `stored` p == NULL: there is no such account; takes as long, and does not match. A password
 * longer than PASSWORD_MAX_BYTES matches nothing. */
enum next password_verify(struct passwords *p, struct waiter *wait, struct password_call *call,
                          struct str password, struct str stored);
enum next password_make(struct passwords *p, struct waiter *wait, struct password_call *call,
                        struct str password);

#endif
