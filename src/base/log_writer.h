/* Writes log lines to standard error without blocking the caller.
 *
 *   log_at() --> queue (256 KiB) --> writer thread --> standard error
 *
 * A server needs it because a pipe that is not read would block its event loop. O_NONBLOCK is no alternative:
 * the flag belongs to the open file description, which other processes may share. Without log_writer_start(),
 * as in commands, log_at() writes directly. */
#ifndef VT_BASE_LOG_WRITER_H
#define VT_BASE_LOG_WRITER_H

#include "base/error.h"
#include "base/str.h"

#include <stdint.h>
#include <sys/types.h>

/* Writes the line that reports `dropped` lines to `room` and returns its length. */
typedef size_t log_writer_report_fn(char *room, size_t size, uint64_t dropped);

/* Starts the thread. ERR_NOMEM: it could not be created, and log_at() continues to write directly. */
MUST_USE enum err log_writer_start(log_writer_report_fn *report);

/* Writes the queued lines for at most `timeout_ms` and ends the thread. Does nothing if it is not running.
 * Later lines are written directly; if the queue could not be written in time, they are dropped. */
void log_writer_stop(int timeout_ms);

/* Waits up to `timeout_ms` until the queued lines are written. Never blocks on a lock, so that it can be
 * called before abort(). */
void log_writer_flush(int timeout_ms);

/* Queues one whole line, or drops and counts it if the queue is full. Returns false if no writer thread is
 * running; then the caller must write the line. Any thread. */
bool log_writer_enqueue(struct str line);

/* Number of lines dropped since the process started. */
uint64_t log_writer_dropped(void);

/* Writes at most PIPE_BUF bytes to standard error without blocking; -1 with errno EAGAIN if it would block.
 * Callers other than the writer thread must use this as well: if two threads polled first and then both
 * wrote, one of them could block. */
ssize_t log_writer_write_some(const char *p, size_t n);

#endif
