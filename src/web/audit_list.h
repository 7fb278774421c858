/* The list of recent activity on the account page: the author's part of the audit log. */
#ifndef VT_WEB_AUDIT_LIST_H
#define VT_WEB_AUDIT_LIST_H

#include "base/next.h"

struct request;

/* Reads the author's newest entries, appends them to the page as a section, and ends the page (page_end()).
 * Return the value of this function from the step that has written the rest of the page. */
enum next audit_list_append_and_end_page(struct request *r);

#endif
