/* Process metrics, read from /proc and getrusage(). */
#include "admin/process_metrics.h"

#include "base/clock.h"
#include "base/metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

enum { START_TIME_FIELD = 22, COMMAND_FIELD = 2 };

static void write_cpu(struct buf *b)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return;
    int64_t us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000) + usage.ru_utime.tv_usec +
                 usage.ru_stime.tv_usec;
    metrics_write_family(b, "process_cpu_seconds_total", METRICS_COUNTER,
                         "User and system CPU time of the process in seconds.");
    metrics_write_seconds(b, "process_cpu_seconds_total", NULL, us);
}

static void write_memory(struct buf *b)
{
    size_t resident;
    if (uv_resident_set_memory(&resident) == 0)
        metrics_write_gauge(b, "process_resident_memory_bytes", "Resident memory of the process in bytes.",
                            (int64_t)resident);
}

static void write_files(struct buf *b)
{
    struct rlimit limit;
    DIR *dir = opendir("/proc/self/fd");
    if (dir) {
        int64_t count = -3; /* ".", "..", and the descriptor of the directory itself are not counted */
        while (readdir(dir))
            count++;
        (void)closedir(dir);
        metrics_write_gauge(b, "process_open_fds", "Open file descriptors of the process.", count);
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        metrics_write_gauge(b, "process_max_fds",
                            "Largest number of file descriptors that the process may open.",
                            (int64_t)limit.rlim_cur);
}

/* Reads the start time of this process from /proc/self/stat. Its fields are separated by spaces, but the
 * command name, in parentheses, may contain any character, so skip to the last closing parenthesis. */
static bool read_start_ticks(unsigned long long *ticks)
{
    char text[1024];
    FILE *f = fopen("/proc/self/stat", "re");
    if (!f)
        return false;
    size_t len = fread(text, 1, sizeof text, f);
    (void)fclose(f);
    struct str rest = str_make(text, len), field;
    while (rest.p && memchr(rest.p, ')', rest.len))
        rest = str_cut(rest, ')', &field);
    for (int i = COMMAND_FIELD; i < START_TIME_FIELD && rest.p; i++)
        rest = str_cut(rest, ' ', &field);
    if (!rest.p)
        return false;
    (void)str_cut(rest, ' ', &field);
    return str_to_u64(field, INT64_MAX, ticks);
}

/* Returns the start time in us since 1970, or 0 if it is unknown. The kernel reports it in ticks since boot.
 * The time of boot is CLOCK_REALTIME minus CLOCK_BOOTTIME. */
static int64_t compute_start_us(void)
{
    unsigned long long ticks;
    struct timespec up;
    long hertz = sysconf(_SC_CLK_TCK);
    if (hertz <= 0 || !read_start_ticks(&ticks) || clock_gettime(CLOCK_BOOTTIME, &up) != 0)
        return 0;
    int64_t boot_us = clock_wall_ms() * 1000 - up.tv_sec * INT64_C(1000000) - up.tv_nsec / 1000;
    return boot_us + (int64_t)ticks * 1000000 / hertz;
}

/* Computes the start time only once: each computation has a slightly different result, and Prometheus counts
 * each change as a restart. */
static void write_start(struct buf *b)
{
    static int64_t start_us;
    if (!start_us)
        start_us = compute_start_us();
    if (!start_us)
        return;
    metrics_write_family(b, "process_start_time_seconds", METRICS_GAUGE,
                         "Unix time at which the process started.");
    metrics_write_seconds(b, "process_start_time_seconds", NULL, start_us);
}

void process_metrics_write(struct buf *b)
{
    write_cpu(b);
    write_memory(b);
    write_files(b);
    write_start(b);
}
