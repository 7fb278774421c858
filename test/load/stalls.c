/* How long a machine keeps a program waiting that nothing else may interrupt: a host that gives its
 * processors to others now and then, above all. What a bench says of the slowest answers can be no better.
 *
 *   stalls SECONDS CPU
 *
 * Looks at the clock all the time, on that processor (-1: any) and at real-time priority where that is
 * allowed, for less than the part of a second that Linux lets such programs run. Prints `RESULT {…}`:
 * milliseconds of the longest gap, of all gaps above one, and how many of those there were. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUN_MS = 900, REST_MS = 150 }; /* sched_rt_runtime_us: 950 ms of each second */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void take_processor(int number)
{
    const struct sched_param priority = {.sched_priority = 1};
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(number, &set);
    if (number >= 0)
        sched_setaffinity(0, sizeof set, &set);
    sched_setscheduler(0, SCHED_FIFO, &priority);
}

int main(int argc, char **argv)
{
    const struct timespec rest = {.tv_nsec = REST_MS * INT64_C(1000000)};
    int64_t longest = 0, sum = 0, count = 0;
    if (argc != 3)
        return 2;
    take_processor(atoi(argv[2]));
    for (int seconds = atoi(argv[1]); seconds > 0; seconds--) {
        int64_t start = now_ns(), last = start, now;
        while ((now = now_ns()) - start < RUN_MS * INT64_C(1000000)) {
            int64_t gap = now - last;
            longest = gap > longest ? gap : longest;
            sum += gap > 1000000 ? gap : 0;
            count += gap > 1000000;
            last = now;
        }
        nanosleep(&rest, NULL);
    }
    printf("RESULT {\"longest_ms\": %.2f, \"sum_ms\": %.2f, \"count\": %lld}\n", (double)longest / 1e6,
           (double)sum / 1e6, (long long)count);
    return 0;
}
