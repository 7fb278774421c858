/* Slows down failed sign-ins without allowing an attacker to lock an author out:
 *
 *   account and network together   5 attempts, then a wait of 2 s, doubled up to 60 s
 *   account                        100 failures, then one attempt every 36 s (100 an hour), from all networks
 *   network                        30 attempts, then a wait of 1 s, doubled up to 5 min: many accounts
 *   device                         10 attempts, then one a minute
 *
 * A device is a browser that has signed in to this account before (auth/device.h). Its attempts count for the
 * device instead of the account, so that the attempts of others never lock its owner out. All counts are in
 * the memory of this process. Times are monotonic and come from the caller. */
#ifndef VT_AUTH_SIGN_IN_LIMITER_H
#define VT_AUTH_SIGN_IN_LIMITER_H

#include "base/str.h"

#include <stdint.h>

struct sign_in_limiter;
struct sign_in_limiter *sign_in_limiter_new(void);
/* NULL is allowed. */
void sign_in_limiter_free(struct sign_in_limiter *l);

struct sign_in_attempt {
    struct str account; /* the login as typed, normalized; the account may not exist */
    struct str address; /* of the client, numeric */
    struct str device;  /* of the account; p == NULL: none */
};

/* Call before verifying a password. Returns 0 if the attempt may proceed: it counts as a failure until
 * sign_in_limiter_succeeded(), so that concurrent attempts are counted. Else returns how long to wait in ms;
 * the attempt is not counted. */
int64_t sign_in_limiter_begin(struct sign_in_limiter *l, const struct sign_in_attempt *a, int64_t now_ms);

/* The password was correct: removes all failures of account and network together or of the device, and one
 * failure each of the account and the network. */
void sign_in_limiter_succeeded(struct sign_in_limiter *l, const struct sign_in_attempt *a, int64_t now_ms);

#endif
