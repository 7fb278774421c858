/* The steps before and after a page: find the viewer, check the request, add cookies to the response. */
#ifndef VT_WEB_PAGE_CHECKS_H
#define VT_WEB_PAGE_CHECKS_H

#include "web/web.h"

/* The steps of struct http_app. */
enum next page_checks_start_step(struct request *r);
enum next page_checks_no_route_step(struct request *r);
void page_checks_finish(struct request *r);

/* Redirects to the sign-in page, which leads back to this request. */
enum next web_redirect_to_sign_in(struct request *r);

/* Returns true if the sign-in page may redirect to `path`: a path on this server (one leading slash, not two;
 * no backslash, control character or space) of bounded length. */
bool web_path_is_local(struct str path);

#endif
