/* Cookies of the pages. If base_url is https, their names carry the prefix `__Host-`. All are HttpOnly and
 * SameSite=Lax. */
#ifndef VT_WEB_COOKIES_H
#define VT_WEB_COOKIES_H

#include "web/web.h"

/* See auth/device.h. */
#define DEVICE_COOKIE_NAME STR("viewtally-device")

/* `name` is without prefix. If `max_age_s` is negative, the cookie lasts until the browser is closed; 0
 * deletes it. Precondition: `value` contains only characters that a cookie value may have. */
void web_cookie_set(struct request *r, struct str name, struct str value, int64_t max_age_s);
/* Returns the value of a cookie of the request; p == NULL if there is none. */
struct str web_cookie_find(struct request *r, struct str name);

/* The session cookie: set at sign-in, cleared at sign-out. */
void session_cookie_set(struct request *r, const struct secret *session);
void session_cookie_clear(struct request *r);
struct str session_cookie_find(struct request *r);

#endif
