/* Slows failed sign-ins without letting anybody lock an author out:
 *
 *   account and network together   5 tries, then 2 s, doubled up to 60 s
 *   account                        100 failures, then one every 36 s (100 an hour), wherever they come from
 *   network                        30 tries, then 1 s, doubled up to 5 min: one network trying many accounts
 *   device                         10 tries, then one a minute
 *
 * A device is a browser that has signed in to this account before (auth/device.h). Its tries count by the
 * device in place of the account, so whatever others try, its owner gets in. In memory of this process, on
 * the monotonic clock (the caller's). */
#ifndef VT_AUTH_SIGN_IN_LIMITER_H
#define VT_AUTH_SIGN_IN_LIMITER_H

#include "base/str.h"

#include <stdint.h>

struct sign_in_limiter;
struct sign_in_limiter *sign_in_limiter_new(void);
/* NULL is harmless. */
void sign_in_limiter_free(struct sign_in_limiter *l);

struct sign_in_attempt {
    struct str account; /* the login as typed, folded; it need not exist */
    struct str address; /* of the client, numeric */
    struct str device;  /* of the account; p == NULL: none */
};

/* Before a password is looked at. 0: go on; the try counts as failed until sign_in_limiter_succeeded(), so
 * that many at once are counted. Else how many ms to wait; the try then does not count. */
int64_t sign_in_limiter_begin(struct sign_in_limiter *l, const struct sign_in_attempt *t, int64_t now_ms);

/* The password was right: the failures of the pair, or of the device, are forgotten, and the account and the
 * network have one less. */
void sign_in_limiter_succeeded(struct sign_in_limiter *l, const struct sign_in_attempt *t, int64_t now_ms);

#endif
