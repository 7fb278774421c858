/* A job that a server repeats in the background, such as the refresh: never twice at the same time, on a
 * thread of its own, with a pause after a failure. The owner decides when the job is due. It checks the
 * wall clock every second, so clock changes and suspends have no lasting effect.
 *
 *   IDLE --background_job_start()--> RUNNING --on_ended()--> IDLE
 *   any --background_job_close()--> CLOSING --work() returned, handles closed--> closed() */
#ifndef VT_JOBS_BACKGROUND_JOB_H
#define VT_JOBS_BACKGROUND_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* The functions receive the owner's `ctx`. All except work() are called on the loop. */
struct background_job_type {
    int nice;                    /* nice value of the thread, so that requests have priority */
    int64_t failed_pause_ms;     /* pause after a failure; doubled after each further failure */
    int64_t failed_pause_max_ms; /* upper bound of the doubled pause */
    /* Starts the job if it is due. Called every second while the job is idle, and after each run. */
    void (*check)(void *ctx);
    void (*work)(void *ctx);   /* the job, on its thread; must end soon after `stop` becomes true */
    void (*ended)(void *ctx);  /* called after work() has returned */
    void (*closed)(void *ctx); /* called once after background_job_close(); may free the job */
};

struct background_job {
    const struct background_job_type *type;
    void *ctx;
    atomic_bool stop; /* work() must end soon; set by background_job_close() */

    uv_timer_t timer;
    uv_async_t async;
    uv_thread_t thread;
    bool is_running, is_closing;
    int64_t not_before_mono; /* paused until this monotonic time, ms */
    int64_t failed_pause_ms; /* length of the most recent pause after a failure; 0 if a success followed */
    int open_handles;
};

/* Starts the timer that calls check(), for the first time in the next loop iteration. */
void background_job_open(struct background_job *job, uv_loop_t *loop, const struct background_job_type *type,
                         void *ctx);

/* Stops the job if it is running, then calls closed(), but never before this function has returned. */
void background_job_close(struct background_job *job);

/* Calls check() now if the job is idle. */
void background_job_check(struct background_job *job);

/* Starts the job. Precondition: it is idle. Returns 0, or an error of libuv if no thread can be created. */
int background_job_start(struct background_job *job);

/* Returns true during a pause, in which check() must not start the job. */
bool background_job_is_paused(const struct background_job *job);
/* Pauses for five seconds. Call if another process holds the lease. */
void background_job_pause_while_busy(struct background_job *job);
/* Call after a failure: pauses, and returns the length of the pause in ms. */
int64_t background_job_pause_after_failure(struct background_job *job);
/* Call after a success: the next failure causes the shortest pause again. */
void background_job_clear_failures(struct background_job *job);

#endif
