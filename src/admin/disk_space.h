/* Watches the free space of the file system that contains the database. statfs() may block, for example on a
 * network file system, so it runs on the thread pool, and the pages show the last result. */
#ifndef VT_ADMIN_DISK_SPACE_H
#define VT_ADMIN_DISK_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct disk_space {
    uv_timer_t timer;
    uv_fs_t request;
    const char *path;
    bool is_known; /* the free space is known: false until the first result, and after a failure */
    int64_t free_bytes, size_bytes; /* `free_bytes` excludes blocks that are reserved for root */
};

/* Reads once, which may block, and then every five seconds. `path` must outlive the struct; if it is NULL,
 * the space stays unknown. The timer does not keep the loop alive. */
void disk_space_open(struct disk_space *d, uv_loop_t *loop, const char *path);

/* Returns true if less than `min_bytes` are free. Returns false while the space is unknown. */
bool disk_space_is_low(const struct disk_space *d, int64_t min_bytes);

/* Stops watching. The struct must stay valid until the loop has ended. */
void disk_space_close(struct disk_space *d);

#endif
