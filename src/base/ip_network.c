/* Uses inet_pton() to parse addresses, because it rejects shortened forms such as "10.1". */
#include "base/ip_network.h"

#include <arpa/inet.h>

enum { ADDRESS_TEXT_MAX = 46, V4_PREFIX_BITS = 96 };

static const unsigned char v4_prefix[V4_PREFIX_BITS / 8] = {[10] = 0xFF, [11] = 0xFF};

bool ip_address_parse(struct str text, struct ip_address *out, bool *is_v4)
{
    char copy[ADDRESS_TEXT_MAX + 1];
    if (text.len == 0 || text.len > ADDRESS_TEXT_MAX)
        return false;
    memcpy(copy, text.p, text.len);
    copy[text.len] = '\0';
    const bool v4 = inet_pton(AF_INET, copy, out->b + sizeof v4_prefix) == 1;
    if (is_v4)
        *is_v4 = v4;
    if (!v4)
        return inet_pton(AF_INET6, copy, out->b) == 1;
    memcpy(out->b, v4_prefix, sizeof v4_prefix);
    return true;
}

bool ip_address_is_v4(const struct ip_address *address)
{
    return memcmp(address->b, v4_prefix, sizeof v4_prefix) == 0;
}

bool ip_network_parse(struct str text, struct ip_network *out)
{
    struct str address, bits = str_cut(text, '/', &address);
    unsigned long long n;
    bool is_v4;
    if (!ip_address_parse(address, &out->address, &is_v4))
        return false;
    const unsigned long long most = is_v4 ? 32 : 128;
    if (!bits.p)
        n = most;
    else if (!str_to_u64(bits, most, &n))
        return false;
    out->bits = (unsigned)n + (is_v4 ? V4_PREFIX_BITS : 0);
    return true;
}

bool ip_network_contains(const struct ip_network *network, const struct ip_address *address)
{
    const unsigned whole = network->bits / 8, rest = network->bits % 8;
    if (memcmp(address->b, network->address.b, whole) != 0)
        return false;
    return rest == 0 || ((address->b[whole] ^ network->address.b[whole]) >> (8 - rest)) == 0;
}
