/* The steps before and after a page: they find the viewer, check the request, and add cookies to the
 * response. */
#ifndef VT_WEB_PAGE_CHECKS_H
#define VT_WEB_PAGE_CHECKS_H

#include "web/web.h"

/* The functions of struct http_app for the web pages. */
enum next page_checks_start_step(struct request *r);
enum next page_checks_no_route_step(struct request *r);
void page_checks_finish(struct request *r);

/* Redirects to the sign-in page. After the sign-in, the browser is redirected to the URL of this request. */
enum next web_redirect_to_sign_in(struct request *r);

/* Returns true if the sign-in page may redirect to `path`: if it is a path on this server (one leading slash,
 * not two; no backslash, control character or space) and not too long. */
bool web_path_is_local(struct str path);

#endif
