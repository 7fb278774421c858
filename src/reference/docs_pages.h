/* The HTTP application with the API's documentation: /docs is the reference, /docs/NAME a guide. All pages
 * are rendered once, when the server starts. They need no key and no session, load nothing from other hosts,
 * and work without JavaScript, except for the search. */
#ifndef VT_REFERENCE_DOCS_PAGES_H
#define VT_REFERENCE_DOCS_PAGES_H

#include "http/router.h"

struct description;
struct reference;

/* Renders all pages. `description` must outlive the result. Never returns NULL. */
struct reference *reference_new(const struct description *description);
/* Frees the pages. `reference` may be NULL. */
void reference_free(struct reference *reference);

/* The application, for the router. */
const struct http_app *reference_app(const struct reference *reference);

/* The routes /docs and /docs/{name}. */
extern const struct route *const reference_routes[];

#endif
