/* The part of the account page that offers the author's data as a download. */
#ifndef VT_WEB_EXPORT_PAGE_H
#define VT_WEB_EXPORT_PAGE_H

#include "web/page.h"

/* Writes the form that starts the download. `error` is a message about the password field, or NULL. */
void export_form_write(struct request *r, const char *error);

#endif
