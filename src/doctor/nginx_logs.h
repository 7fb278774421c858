/* Checks whether nginx's logs can contain secrets: invitations (/invite/…) and codes of platforms
 * (/platforms/callback/…) in URLs, cookies, or API keys in the field Authorization. */
#ifndef VT_DOCTOR_NGINX_LOGS_H
#define VT_DOCTOR_NGINX_LOGS_H

#include "doctor/nginx_view.h"

/* Each function judges by the configuration, without reading a log: returns true and sets `why` if the log
 * can contain secrets. Locations of the API are safe, because its URLs contain no secrets; `base_url` is the
 * URL of the API, whose path identifies them. */
bool nginx_access_log_can_have_secrets(const struct nginx_view *v, const char *base_url, struct error *why);
bool nginx_error_log_can_have_secrets(const struct nginx_view *v, struct error *why);

#endif
