/* Validates and splits the URLs of webhooks. */
#ifndef VT_WEBHOOK_WEBHOOK_URL_H
#define VT_WEBHOOK_WEBHOOK_URL_H

#include "net/address_policy.h"

/* Returns NULL if the URL is valid, else the reason as a predicate, such as "must begin with https://". If
 * the host is an IP address, the policy must allow it. A host name is only checked when a connection is made.
 */
const char *webhook_url_check(struct str url, const struct address_policy *policy);

/* Splits a valid URL into its origin (https://host[:port]) and the path with the query. */
void webhook_url_split(struct str url, struct str *origin, struct str *path);

#endif
