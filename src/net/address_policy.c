/* Lists the networks that are not public: those that the "IANA IPv4 Special-Purpose Address Registry" and the
 * "IANA IPv6 Special-Purpose Address Registry" list as not globally reachable or as deprecated, with all of
 * 192.0.0.0/24 and 2001::/23, multicast, and class E. IPv6 addresses outside 2000::/3 need no entry:
 * is_public() rejects them, except for NAT64 addresses. */
#include "net/address_policy.h"

#include <netinet/in.h>

static const char *const special_networks[] = {
    "0.0.0.0/8",       /* this network */
    "10.0.0.0/8",      /* private */
    "100.64.0.0/10",   /* provider networks; some clouds have their metadata service here */
    "127.0.0.0/8",     /* loopback */
    "169.254.0.0/16",  /* link-local addresses, which include the metadata services of most clouds */
    "172.16.0.0/12",   /* private */
    "192.0.0.0/24",    /* protocol assignments */
    "192.0.2.0/24",    /* documentation */
    "192.88.99.0/24",  /* 6to4 relays, deprecated */
    "192.168.0.0/16",  /* private */
    "198.18.0.0/15",   /* benchmarks */
    "198.51.100.0/24", /* documentation */
    "203.0.113.0/24",  /* documentation */
    "224.0.0.0/4",     /* multicast */
    "240.0.0.0/4",     /* reserved, and broadcast */
    "2001::/23",       /* protocol assignments, including Teredo */
    "2001:db8::/32",   /* documentation */
    "3fff::/20",       /* documentation */
};

enum { NAT64_V4_AT = 12, SIX_TO_FOUR_V4_AT = 2 };

static bool is_in(const char *network, const struct ip_address *address)
{
    struct ip_network n;
    return ip_network_parse(str_from_cstr(network), &n) && ip_network_contains(&n, address);
}

static bool is_special(const struct ip_address *address)
{
    for (size_t i = 0; i < sizeof special_networks / sizeof special_networks[0]; i++)
        if (is_in(special_networks[i], address))
            return true;
    return false;
}

/* Returns the IPv4 address at byte `at` of an IPv6 address. */
static struct ip_address embedded_v4(const struct ip_address *address, size_t at)
{
    struct ip_address v4 = {{[10] = 0xFF, [11] = 0xFF}};
    memcpy(v4.b + 12, address->b + at, 4);
    return v4;
}

static bool is_public(const struct ip_address *address)
{
    struct ip_address v4;
    if (ip_address_is_v4(address))
        return !is_special(address);
    if (is_in("64:ff9b::/96", address)) {
        v4 = embedded_v4(address, NAT64_V4_AT);
        return !is_special(&v4);
    }
    if (is_in("2002::/16", address)) {
        v4 = embedded_v4(address, SIX_TO_FOUR_V4_AT);
        return !is_special(&v4);
    }
    return is_in("2000::/3", address) && !is_special(address);
}

bool address_policy_init(struct address_policy *policy, struct str networks)
{
    struct str rest = networks, item;
    *policy = (struct address_policy){.count = 0};
    while (rest.p) {
        rest = str_cut(rest, ',', &item);
        item = str_trim(item);
        if (!item.len)
            continue;
        if (policy->count == ADDRESS_POLICY_NETWORKS_MAX ||
            !ip_network_parse(item, &policy->allowed[policy->count]))
            return false;
        policy->count++;
    }
    return true;
}

bool address_policy_allows(const struct address_policy *policy, const struct ip_address *address)
{
    for (size_t i = 0; i < policy->count; i++)
        if (ip_network_contains(&policy->allowed[i], address))
            return true;
    return is_public(address);
}

bool address_policy_allows_socket(void *ctx, const struct sockaddr *address)
{
    struct ip_address ip = {{0}};
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        ip.b[10] = ip.b[11] = 0xFF;
        memcpy(ip.b + 12, &v4.sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        memcpy(ip.b, &v6.sin6_addr, sizeof ip.b);
    } else {
        return false;
    }
    return address_policy_allows(ctx, &ip);
}
