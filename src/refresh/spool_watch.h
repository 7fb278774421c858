/* Reports new files in the spool as soon as they arrive (inotify). Correctness does not depend on the watch:
 * the next scheduled run finds files that the watch misses, for example on a network file system.
 *
 * The directory may be removed and created again. The path is checked every second; if it leads to another
 * directory, that directory is watched. */
#ifndef VT_REFRESH_SPOOL_WATCH_H
#define VT_REFRESH_SPOOL_WATCH_H

#include <uv.h>

struct spool_watch;

/* Starts to watch the directory `path`, which is copied. Calls `changed` on the loop shortly after one or
 * more files have arrived. */
struct spool_watch *spool_watch_open(uv_loop_t *loop, const char *path, void (*changed)(void *ctx),
                                     void *ctx);

/* Stops watching; `changed` is not called any more. `w` is freed when the loop has closed the handles. */
void spool_watch_close(struct spool_watch *w);

#endif
