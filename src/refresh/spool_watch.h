/* Reports new files in the spool as soon as they arrive (inotify). Only a hint: the next run finds files that
 * the watch misses, for example on a network file system.
 *
 * The directory may be removed and created again: its path is checked every second, and the directory that
 * has the path then is watched. */
#ifndef VT_REFRESH_SPOOL_WATCH_H
#define VT_REFRESH_SPOOL_WATCH_H

#include <uv.h>

struct spool_watch;

/* `changed` is called on the loop, shortly after one or more files have arrived. Copies the path. */
struct spool_watch *spool_watch_open(uv_loop_t *loop, const char *path, void (*changed)(void *ctx),
                                     void *ctx);

/* `changed` is not called after this returns. The watch is freed once the loop has closed its handles. */
void spool_watch_close(struct spool_watch *w);

#endif
