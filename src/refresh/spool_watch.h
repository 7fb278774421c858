/* Tells that a file has come into the spool, as soon as the system says so. Only a hint: what the watch
 * misses (the directory was away, another machine wrote into it) the next run finds by looking.
 *
 * The directory may be moved away, removed and made anew: it is looked for again every few seconds, and when
 * another one has its name, that one is watched. */
#ifndef VT_REFRESH_SPOOL_WATCH_H
#define VT_REFRESH_SPOOL_WATCH_H

#include <uv.h>

struct spool_watch;

/* `changed` is called on the loop, a moment after one or more files came. The path is copied. */
struct spool_watch *spool_watch_open(uv_loop_t *loop, const char *path, void (*changed)(void *ctx),
                                     void *ctx);

/* No call of `changed` afterwards; frees itself when the loop has closed its handles. */
void spool_watch_close(struct spool_watch *w);

#endif
