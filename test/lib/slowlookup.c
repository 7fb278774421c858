/* Preloaded (LD_PRELOAD) into a process: looking up a name takes $SLOWLOOKUP_MS longer, as with a slow name
 * server. Numeric addresses need no lookup and are not delayed. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    const char *ms = getenv("SLOWLOOKUP_MS");
    unsigned char bytes[16];
    int is_name = node && inet_pton(AF_INET, node, bytes) != 1 && inet_pton(AF_INET6, node, bytes) != 1;
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    poll(NULL, 0, is_name && ms ? (int)strtol(ms, NULL, 10) : 0);
    return real(node, service, hints, found);
}
