/* Uses inet_pton(3) to parse addresses. */
#include "auth/network.h"

#include <arpa/inet.h>

enum { V4_BYTES = 4, V6_BYTES = 16, V4_AT = V6_BYTES - V4_BYTES, V6_PREFIX_BYTES = 8 };

static bool holds_v4(const unsigned char address[V6_BYTES])
{
    static const unsigned char prefixes[][V4_AT] = {{[10] = 0xff, [11] = 0xff}, {0x00, 0x64, 0xff, 0x9b}};
    return memcmp(address, prefixes[0], V4_AT) == 0 || memcmp(address, prefixes[1], V4_AT) == 0;
}

struct str network_of_address(struct str address, char room[NETWORK_ROOM])
{
    char text[INET6_ADDRSTRLEN + 1] = "";
    unsigned char bytes[V6_BYTES];
    struct str without_zone;
    (void)str_cut(address, '%', &without_zone);
    if (without_zone.len >= sizeof text)
        return address;
    memcpy(text, without_zone.p, without_zone.len);
    if (inet_pton(AF_INET, text, bytes + V4_AT) == 1) {
        memcpy(room, bytes + V4_AT, V4_BYTES);
        return str_make(room, V4_BYTES);
    }
    if (inet_pton(AF_INET6, text, bytes) != 1)
        return address;
    if (holds_v4(bytes)) {
        memcpy(room, bytes + V4_AT, V4_BYTES);
        return str_make(room, V4_BYTES);
    }
    memcpy(room, bytes, V6_PREFIX_BYTES);
    return str_make(room, V6_PREFIX_BYTES);
}
