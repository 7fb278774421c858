/* Accepts only URL syntax that all parsers read alike, so that this check and curl cannot see different
 * hosts.
 */
#include "webhook/webhook_url.h"

#include "config/key_rows.h"
#include "http/grammar.h"
#include "store/webhooks.h"

static const struct str scheme = {"https://", 8};

static const char *check_characters(struct str url)
{
    for (size_t i = 0; i < url.len; i++) {
        const char c = url.p[i];
        if (c == '#')
            return "must not contain a fragment (#…)";
        if (c <= ' ' || c >= 0x7F || strchr("\"<>\\^`{|}", c))
            return "contains a character that must be percent-encoded (%XX)";
    }
    return NULL;
}

/* Returns host[:port]. */
static struct str authority_of(struct str url)
{
    size_t end = scheme.len;
    while (end < url.len && url.p[end] != '/' && url.p[end] != '?')
        end++;
    return str_make(url.p + scheme.len, end - scheme.len);
}

static struct str host_of(struct str authority)
{
    struct str host;
    if (authority.p[0] == '[') {
        (void)str_cut(authority, ']', &host);
        return str_make(host.p + 1, host.len - 1);
    }
    (void)str_cut(authority, ':', &host);
    return host;
}

/* The grammar of Host allows any digits after the colon. No port means 443. */
static bool has_valid_port(struct str authority)
{
    const char *colon = authority.p + authority.len;
    unsigned long long port;
    while (colon > authority.p && colon[-1] >= '0' && colon[-1] <= '9')
        colon--;
    if (colon == authority.p || colon[-1] != ':')
        return true;
    return str_to_u64(str_make(colon, (size_t)(authority.p + authority.len - colon)), 65535, &port) && port;
}

const char *webhook_url_check(struct str url, const struct address_policy *policy)
{
    struct ip_address address;
    if (url.len > WEBHOOK_URL_MAX)
        return "must have at most 1,000 characters";
    if (!str_starts_with(url, scheme))
        return "must begin with https://";
    const char *why = check_characters(url);
    if (why)
        return why;
    const struct str authority = authority_of(url);
    if (memchr(authority.p, '@', authority.len))
        return "must not contain a user name or password";
    if (!authority.len || !grammar_is_host(authority) || !host_of(authority).len)
        return "has no valid host name";
    if (!has_valid_port(authority))
        return "must have a port from 1 to 65535";
    const size_t end = scheme.len + authority.len;
    if (end < url.len && url.p[end] == '?')
        return "needs a path before the query, such as https://example.com/?…";
    if (ip_address_parse(host_of(authority), &address, NULL) && !address_policy_allows(policy, &address))
        return "has an address that is not public";
    return NULL;
}

void webhook_url_split(struct str url, struct str *origin, struct str *path)
{
    const size_t end = scheme.len + authority_of(url).len;
    *origin = str_make(url.p, end);
    *path = end < url.len ? str_make(url.p + end, url.len - end) : STR("/");
}

enum err config_check_webhook_networks(struct str value, struct error *error)
{
    struct address_policy policy;
    return config_rule(address_policy_init(&policy, value),
                       "must be a list of at most 64 addresses or networks such as 10.1.0.0/16", error);
}
