/* Slows down failed sign-ins without allowing an attacker to lock an author out. An attempt must wait if one
 * of its counters requires it:
 *
 *   account and network together   5 failures, then a wait of 2 s, doubled with each failure up to 60 s
 *   account, from all networks     100 failures, then one attempt every 36 s (100 an hour)
 *   network, for all accounts      30 failures, then a wait of 1 s, doubled with each failure up to 5 min
 *   device                         10 failures, then one attempt a minute
 *
 * A device is a browser that has signed in to this account before (auth/device.h). An attempt from a device
 * uses only the counters of the device and of the network; every other attempt uses the first three counters.
 * So failures in other networks never delay the owner of the device. All counts are in the memory of this
 * process. All times are monotonic; the caller passes the current time. */
#ifndef VT_AUTH_SIGN_IN_LIMITER_H
#define VT_AUTH_SIGN_IN_LIMITER_H

#include "base/str.h"

#include <stdint.h>

struct sign_in_limiter;
struct sign_in_limiter *sign_in_limiter_new(void);

/* Frees the limiter. `l` may be NULL. */
void sign_in_limiter_free(struct sign_in_limiter *l);

struct sign_in_attempt {
    struct str account; /* the normalized login that was typed; the account may not exist */
    struct str address; /* numeric address of the client */
    struct str device;  /* identifies the device; p == NULL if the browser is not a device of the account */
};

/* Starts an attempt. Call before verifying a password. If the attempt may proceed, counts it as a failure and
 * returns 0; counting it in advance limits concurrent attempts too. Otherwise does not count the attempt, and
 * returns how long to wait, in ms. */
int64_t sign_in_limiter_begin(struct sign_in_limiter *l, const struct sign_in_attempt *a, int64_t now_ms);

/* Call if the password was correct. For a device, clears the device's counter. Without a device, clears the
 * counter of this pair of account and network, and subtracts one failure from the account's counter. In both
 * cases, also subtracts one failure from the network's counter. */
void sign_in_limiter_record_success(struct sign_in_limiter *l, const struct sign_in_attempt *a,
                                    int64_t now_ms);

/* Call if the password could not be verified. Subtracts the failure that sign_in_limiter_begin() has counted
 * from all counters, and ends the waits that it caused. */
void sign_in_limiter_undo(struct sign_in_limiter *l, const struct sign_in_attempt *a, int64_t now_ms);

#endif
