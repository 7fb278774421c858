/* Matches addresses against the networks of trusted proxies. */
#include "http/proxies.h"

#include "config/key_rows.h"

bool proxies_add(struct proxies *p, struct str text)
{
    if (str_eq(text, STR("unix"))) {
        p->unix_sockets = true;
        return true;
    }
    if (p->count == PROXIES_MAX || !ip_network_parse(text, &p->networks[p->count]))
        return false;
    p->count++;
    return true;
}

static bool is_trusted(const struct proxies *p, struct str text)
{
    struct ip_address address;
    if (!ip_address_parse(text, &address, NULL))
        return false;
    for (size_t i = 0; i < p->count; i++)
        if (ip_network_contains(&p->networks[i], &address))
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
    struct ip_address address;
    return ip_address_parse(text, &address, NULL);
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

bool proxies_is_trusted(const struct proxies *p, struct str peer, bool is_unix)
{
    return is_unix ? p->unix_sockets : is_trusted(p, peer);
}

struct str proxies_find_client(const struct proxies *p, struct str peer, bool trusted, struct str forwarded)
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

static bool is_valid_proxies(struct str value)
{
    struct proxies proxies = {0};
    struct str rest = value, item;
    while (rest.p) {
        rest = str_cut(rest, ',', &item);
        item = str_trim(item);
        if (item.len && !proxies_add(&proxies, item))
            return false;
    }
    return true;
}

enum err config_check_proxies(struct str value, struct error *error)
{
    return config_rule(is_valid_proxies(value),
                       "must be a list of at most 64 addresses, networks such as 10.0.0.0/8, or unix", error);
}
