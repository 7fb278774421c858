/* Cookies of the pages. If base_url is https, the name of each cookie begins with `__Host-`. All cookies are
 * HttpOnly and SameSite=Lax. */
#ifndef VT_WEB_COOKIES_H
#define VT_WEB_COOKIES_H

#include "web/web.h"

/* Identifies the browser; see auth/device.h. */
#define DEVICE_COOKIE_NAME STR("viewtally-device")

/* Sets a cookie. `name` is without the prefix. `value` must contain only characters that are valid in a
 * cookie. If `max_age_s` is negative, the cookie lasts until the browser is closed. If `max_age_s` is 0, the
 * browser deletes the cookie. */
void web_cookie_set(struct request *r, struct str name, struct str value, int64_t max_age_s);
/* Returns the value of the request's cookie `name` (without the prefix). p is NULL if the request has no such
 * cookie. */
struct str web_cookie_find(struct request *r, struct str name);

/* Set, delete and return the session cookie. If the request has none, session_cookie_find() returns a string
 * whose p is NULL. */
void session_cookie_set(struct request *r, const struct secret *session);
void session_cookie_clear(struct request *r);
struct str session_cookie_find(struct request *r);

#endif
