/* Preloaded (LD_PRELOAD) into a service, so that it uses the fake wall clock of test/lib/clock.py: the first
 * of the two int64 in the file $WALLCLOCK, in ms since 1970. Its other clocks stay real. (libfaketime is not
 * used, because it hangs in a Redis that uses jemalloc, and could not share the file with the servers.) */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *wall;

__attribute__((constructor)) static void map_clock(void)
{
    const char *path = getenv("WALLCLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *p = fd < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        abort();
    wall = p;
    close(fd);
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    if (!wall || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
        return (int)syscall(SYS_clock_gettime, id, out);
    out->tv_sec = *wall / 1000;
    out->tv_nsec = *wall % 1000 * 1000000;
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
