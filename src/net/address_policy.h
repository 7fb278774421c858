/* Decides to which addresses the service may connect when it delivers to a webhook. An author chooses the
 * host name of the webhook. Without this policy, authors could reach services that trust the operator's
 * network, such as a database or the metadata service of a cloud (server-side request forgery).
 *
 * Only public addresses are allowed, except for networks that the operator lists. An address is public unless
 * the special-purpose registries of IANA (RFC 6890 and its successors) list it as not globally reachable, or
 * as deprecated. An IPv6 address that contains an IPv4 address (IPv4-mapped, NAT64, 6to4) is public only if
 * the contained address is public too.
 *
 * Check the address of each connection, not the name: a name may resolve to another address each time (DNS
 * rebinding). */
#ifndef VT_NET_ADDRESS_POLICY_H
#define VT_NET_ADDRESS_POLICY_H

#include "base/ip_network.h"

#include <sys/socket.h>

enum { ADDRESS_POLICY_NETWORKS_MAX = 64 };

struct address_policy {
    size_t count;
    struct ip_network allowed[ADDRESS_POLICY_NETWORKS_MAX]; /* networks that are allowed although they are not
                                                               public */
};

/* Fills a policy from a comma-separated list of addresses and networks. Returns false if an item is invalid,
 * or if the list has more than ADDRESS_POLICY_NETWORKS_MAX items. */
bool address_policy_init(struct address_policy *policy, struct str networks);

/* Returns true if the service may connect to the address. */
bool address_policy_allows(const struct address_policy *policy, const struct ip_address *address);

/* Like address_policy_allows(), but for a socket address. Use it as http_client_options.allow_address; `ctx`
 * is the policy. Returns false for a socket address that is neither IPv4 nor IPv6. */
bool address_policy_allows_socket(void *ctx, const struct sockaddr *address);

#endif
