/* Reservations of file descriptors. */
#include "http/descriptors.h"

#include "base/check.h"
#include "base/log.h"

#include <sys/resource.h>

enum {
    SPARE_FILES = 64,   /* reserved for the database, Redis and logs */
    FILES_FRACTION = 4, /* memory files use only the lowest quarter of the descriptors */
};

static int reserved; /* for the connections of all servers of the process */

int descriptors_reserve(int wanted)
{
    struct rlimit limit;
    int count = wanted;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
        const rlim_t most =
            limit.rlim_cur > 2 * SPARE_FILES ? limit.rlim_cur - SPARE_FILES : limit.rlim_cur / 2;
        if (limit.rlim_cur != RLIM_INFINITY && (rlim_t)wanted > most) {
            log_warn("the limit on open files (ulimit -n) allows only %llu connections; raise it to allow "
                     "[server] max_connections",
                     (unsigned long long)most);
            count = (int)most;
        }
    }
    reserved += count;
    return count;
}

void descriptors_unreserve(int n)
{
    CHECK(n <= reserved);
    reserved -= n;
}

/* The kernel assigns the lowest free descriptor, so an `fd` above the lowest quarter means that few are free.
 * This alone is not sufficient, because connections can be opened after the files. */
bool descriptors_allow_memory_file(int fd, int files)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd < limit.rlim_cur / FILES_FRACTION &&
           (rlim_t)files + (rlim_t)reserved + SPARE_FILES < limit.rlim_cur;
}
