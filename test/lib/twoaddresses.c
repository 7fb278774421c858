/* Preloaded (LD_PRELOAD) into a process: the name two.test has the addresses 127.0.0.1 and 127.0.0.2, in this
 * order. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>

typedef int lookup(const char *node, const char *service, const struct addrinfo *hints,
                   struct addrinfo **found);

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    lookup *real;
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!node || strcmp(node, "two.test") != 0)
        return real(node, service, hints, found);
    const int code = real("127.0.0.1", service, hints, found);
    return code ? code : real("127.0.0.2", service, hints, &(*found)->ai_next);
}
