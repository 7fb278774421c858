/* Slows failed sign-ins: each account and each address has a few tries, then a wait that doubles with every
 * further one, up to five minutes. In this process, in fixed memory, on the monotonic clock (the caller's).
 */
#ifndef VT_AUTH_THROTTLE_H
#define VT_AUTH_THROTTLE_H

#include "base/str.h"

#include <stdint.h>

enum {
    THROTTLE_ACCOUNT_TRIES = 5,  /* before the first wait */
    THROTTLE_ADDRESS_TRIES = 30, /* people share addresses */
    THROTTLE_WAIT_MAX_S = 300,
    THROTTLE_FORGET_S = 1800, /* without a try */
};

struct throttle;
struct throttle *throttle_new(void);
void throttle_free(struct throttle *t);

/* Before a password is looked at. 0: go on; the try counts as failed until throttle_succeeded() says
 * otherwise, so that many at once are counted. Else how many ms to wait; the try then does not count.
 * `address` is numeric; of IPv6 the first 64 bits count, which is what one customer has. */
int64_t throttle_try(struct throttle *t, struct str account, struct str address, int64_t now_ms);

/* The try was right: the account's are forgotten, the address has one less. */
void throttle_succeeded(struct throttle *t, struct str account, struct str address);

#endif
