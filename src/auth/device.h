/* Devices: browsers that have signed in to an account before. Each has a cookie with a random secret, of
 * which the database has the hash, for one account. It signs nobody in; it only spares its owner the limits
 * that failed sign-ins of others bring about (sign_in_limiter.h). Each sign-in replaces it; a change of the
 * password and "sign out everywhere" end all of the account. */
#ifndef VT_AUTH_DEVICE_H
#define VT_AUTH_DEVICE_H

#include "base/clock.h"

#define DEVICE_LIFE_MS (400 * DAY_MS)
enum { DEVICES_MAX = 20 }; /* of one account; above that the oldest goes */

#endif
