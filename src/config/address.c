/* Parses listen addresses. */
#include "config/address.h"

#include "base/str.h"

#include <uv.h>

const char *address_unix_path(const char *address)
{
    static const char PREFIX[] = "unix:";
    return strncmp(address, PREFIX, sizeof PREFIX - 1) == 0 ? address + sizeof PREFIX - 1 : NULL;
}

bool address_parse_tcp(const char *address, struct sockaddr_storage *out)
{
    const char *colon = strrchr(address, ':');
    unsigned long long port;
    char host[64];
    if (!colon || !str_to_u64(str_from_cstr(colon + 1), 65535, &port))
        return false;
    size_t len = (size_t)(colon - address);
    bool brackets = len >= 2 && address[0] == '[' && colon[-1] == ']';
    if (brackets) {
        address++;
        len -= 2;
    }
    if (len >= sizeof host)
        return false;
    memcpy(host, address, len);
    host[len] = '\0';
    return (brackets ? uv_ip6_addr(host, (int)port, (struct sockaddr_in6 *)out)
                     : uv_ip4_addr(host, (int)port, (struct sockaddr_in *)out)) == 0;
}
