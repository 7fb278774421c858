/* Devices: browsers that have signed in to an account before. A device has a cookie with a random secret for
 * one account; the database holds the hash. The cookie alone does not grant access: it only exempts its owner
 * from limits that failed sign-ins of others have triggered (sign_in_limiter.h). Each sign-in replaces it.
 * Changing the password and "sign out everywhere" delete all devices of the account. */
#ifndef VT_AUTH_DEVICE_H
#define VT_AUTH_DEVICE_H

#include "base/clock.h"

#define DEVICE_LIFE_MS (400 * DAY_MS)
enum { DEVICES_MAX = 20 }; /* of one account; a new one replaces the oldest */

#endif
