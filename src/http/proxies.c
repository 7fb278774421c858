/* Matches addresses against the networks of trusted proxies. */
#include "http/proxies.h"

#include <arpa/inet.h>

enum { ADDRESS_TEXT_MAX = 46, V4_PREFIX_BITS = 96 };

/* Converts IPv4 to its IPv6-mapped form, so that all addresses have 16 bytes. */
static bool parse_address(struct str s, unsigned char out[16], bool *is_v4)
{
    static const unsigned char v4_prefix[12] = {[10] = 0xFF, [11] = 0xFF};
    char text[ADDRESS_TEXT_MAX + 1];
    if (s.len == 0 || s.len > ADDRESS_TEXT_MAX)
        return false;
    memcpy(text, s.p, s.len);
    text[s.len] = '\0';
    *is_v4 = inet_pton(AF_INET, text, out + 12) == 1;
    if (!*is_v4)
        return inet_pton(AF_INET6, text, out) == 1;
    memcpy(out, v4_prefix, sizeof v4_prefix);
    return true;
}

bool proxies_add(struct proxies *p, struct str text)
{
    struct str address, bits = str_cut(text, '/', &address);
    unsigned long long n;
    bool is_v4;
    if (str_eq(text, STR("unix"))) {
        p->unix_sockets = true;
        return true;
    }
    if (p->count == PROXIES_MAX || !parse_address(address, p->networks[p->count].address, &is_v4))
        return false;
    unsigned long long most = is_v4 ? 32 : 128;
    if (!bits.p)
        n = most;
    else if (!str_to_u64(bits, most, &n))
        return false;
    p->networks[p->count++].bits = (unsigned)n + (is_v4 ? V4_PREFIX_BITS : 0);
    return true;
}

static bool is_inside(const unsigned char *address, const unsigned char *network, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(address, network, whole) != 0)
        return false;
    return rest == 0 || ((address[whole] ^ network[whole]) >> (8 - rest)) == 0;
}

static bool is_trusted(const struct proxies *p, struct str text)
{
    unsigned char address[16];
    bool is_v4;
    if (!parse_address(text, address, &is_v4))
        return false;
    for (size_t i = 0; i < p->count; i++)
        if (is_inside(address, p->networks[i].address, p->networks[i].bits))
            return true;
    return false;
}

/* Removes the port that some proxies append: "1.2.3.4:5678", "[::1]:5678". */
static struct str without_port(struct str item)
{
    struct str host, rest = str_cut(item, ':', &host);
    if (item.len && item.p[0] == '[') {
        rest = str_cut(item, ']', &host);
        return rest.p ? str_make(host.p + 1, host.len - 1) : item;
    }
    bool is_v4_with_port = rest.p && !memchr(rest.p, ':', rest.len);
    return is_v4_with_port ? host : item;
}

static bool is_address(struct str text)
{
    unsigned char address[16];
    bool is_v4;
    return parse_address(text, address, &is_v4);
}

/* Removes the last item of a comma-separated list. */
static struct str pop_last(struct str *list)
{
    size_t i = list->len;
    while (i > 0 && list->p[i - 1] != ',')
        i--;
    struct str item = str_trim(str_make(list->p + i, list->len - i));
    *list = i > 0 ? str_make(list->p, i - 1) : (struct str){NULL, 0};
    return item;
}

bool proxies_trust(const struct proxies *p, struct str peer, bool is_unix)
{
    return is_unix ? p->unix_sockets : is_trusted(p, peer);
}

struct str proxies_client(const struct proxies *p, struct str peer, bool trusted, struct str forwarded)
{
    struct str client = peer;
    while (trusted && forwarded.p) {
        struct str item = without_port(pop_last(&forwarded));
        if (!is_address(item))
            break;
        client = item;
        trusted = is_trusted(p, item);
    }
    return client;
}
