/* Devices: browsers that have signed in to an account before. A device has a cookie with a random secret; the
 * database stores the hash of the secret with the account. The device cookie does not replace the password.
 * It only exempts the browser from the limits on the account's sign-ins, so that failed attempts of other
 * people cannot lock the author out (sign_in_limiter.h). Each sign-in replaces the cookie. Changing the
 * password and "sign out everywhere" delete all devices of the account. */
#ifndef VT_AUTH_DEVICE_H
#define VT_AUTH_DEVICE_H

#include "base/clock.h"

#define DEVICE_LIFE_MS (400 * DAY_MS)
enum { DEVICES_MAX = 20 }; /* per account; a further device replaces the oldest */

#endif
