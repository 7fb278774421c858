/* The authorization server's metadata (RFC 8414), which stands outside of the base path. */
#ifndef VT_OAUTH_METADATA_H
#define VT_OAUTH_METADATA_H

#include "api/api.h"

/* /.well-known/oauth-authorization-server, and the same with the base path behind it (RFC 8414, 3.1). */
bool metadata_is_at(const struct api *api, struct str path);

/* GET and HEAD. */
enum next metadata_answer(struct request *r);

#endif
