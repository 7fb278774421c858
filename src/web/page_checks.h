/* The steps before and after a page: they find the viewer, check the request, and add cookies to the
 * response. */
#ifndef VT_WEB_PAGE_CHECKS_H
#define VT_WEB_PAGE_CHECKS_H

#include "web/web.h"

/* The functions of struct http_app for the web pages. */
enum next page_checks_start_step(struct request *r);
enum next page_checks_no_route_step(struct request *r);
void page_checks_finish(struct request *r);

/* Redirects to the sign-in page. After the sign-in, the browser is redirected to the URL of this request, or
 * to the start page if this request is a POST and the page does not have the flag WEB_OWN_QUERY. */
enum next web_redirect_to_sign_in(struct request *r);

/* Returns true if `path` is a path on this server (one leading slash, not two; no backslash, control
 * character or space) and is not too long. The sign-in page may redirect only to such a path. */
bool web_path_is_local(struct str path);

#endif
