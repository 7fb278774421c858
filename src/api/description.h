/* The URLs of this installation's API, and the OpenAPI document with these URLs. */
#ifndef VT_API_DESCRIPTION_H
#define VT_API_DESCRIPTION_H

#include "base/buf.h"
#include "config/config.h"

/* The texts are valid as long as the description. */
struct description {
    struct str base;    /* [server] base_url; "/v1" if it is not set */
    struct str url;     /* [server] base_url; its default value if it is not set */
    struct str docs;    /* `base` followed by "/docs" */
    struct str openapi; /* the document, as JSON */
};

/* Creates the description. The member `servers` of the OpenAPI document lists [server] base_url and
 * direct_url. If base_url is not set, it lists "/v1", which a client resolves against the URL of the
 * document. In the rest of the document, the configured base_url replaces the default one. */
struct description *description_new(const struct config *config);
/* Appends `text`, in which the configured base_url replaces the default one. */
void description_append_with_base(struct buf *b, const struct description *description, struct str text);
/* Frees the description. NULL is ignored. */
void description_free(struct description *description);

#endif
