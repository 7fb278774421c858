/* Prepares exports of authors (import/author_export.h) for the account page. Each export is a job on the
 * thread pool with its own database connection. It writes to a temporary file without a name, because an
 * export may be too large for memory, and because a slow client must not keep a snapshot of the database
 * open. */
#ifndef VT_WEB_EXPORT_JOB_H
#define VT_WEB_EXPORT_JOB_H

#include "base/error.h"
#include "base/next.h"
#include "base/uuid.h"

#include <stdbool.h>
#include <uv.h>

/* Maximum number of exports that run at the same time in this process, so that they do not occupy all threads
 * of the pool. */
enum { EXPORT_JOBS_MAX = 1 };

struct config;
struct exports;
/* Creates the runner of export jobs. `config` must outlive it. */
struct exports *exports_new(uv_loop_t *loop, const struct config *config);
/* Frees the runner. Call after the loop has ended. `e` may be NULL. */
void exports_free(struct exports *e);

/* The result of an export. */
struct export_call {
    bool is_busy;      /* too many exports are running; `err` and `body` are not set */
    bool is_too_large; /* the export exceeds SHARED_BODY_MAX_BYTES; `err` is ERR_FULL */
    enum err err; /* ERR_NOT_FOUND: there is no such author; or an error of the database or of the file */
    struct shared_body *body; /* the export, or NULL on failure; the caller owns the reference */
};

/* Starts to export an author. Set r->step before you call this function. Returns NEXT_WAIT, or NEXT_MORE if
 * call->is_busy is true. When the waiter completes, `*call` contains the result; `*call` must live as long as
 * the waiter. */
enum next exports_start(struct exports *e, struct waiter *waiter, struct export_call *call,
                        const struct uuid *author_id);

#endif
