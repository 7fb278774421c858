/* Writes log lines to standard error without blocking the caller.
 *
 *   log_at() --> queue (256 KiB) --> writer thread --> standard error
 *
 * A server needs the thread because its event loop would block if standard error were a pipe that nothing
 * reads. Setting O_NONBLOCK is not an option: the flag would also affect other processes that share the open
 * file description. Without log_writer_start(), as in commands, log_at() writes directly. */
#ifndef VT_BASE_LOG_WRITER_H
#define VT_BASE_LOG_WRITER_H

#include "base/error.h"
#include "base/str.h"

#include <stdint.h>
#include <sys/types.h>

/* Formats a log line that reports how many lines were dropped: writes it to `room` and returns its length. */
typedef size_t log_writer_report_fn(char *room, size_t size, uint64_t dropped);

/* Starts the thread. Returns ERR_NOMEM if it cannot be created; log_at() then continues to write directly. */
MUST_USE enum err log_writer_start(log_writer_report_fn *format_report);

/* Waits at most `timeout_ms` until the queued lines are written, then ends the thread. Does nothing if the
 * thread is not running. Later lines are written directly, or are dropped if the queued lines could not be
 * written, or not in time. */
void log_writer_stop(int timeout_ms);

/* Waits at most `timeout_ms` until the queued lines are written. Never waits for a lock, so that it can be
 * called before abort(). */
void log_writer_flush(int timeout_ms);

/* Queues one whole line. Drops and counts the line if the queue is full, or if log_writer_stop() could not
 * write the queued lines; still returns true. Returns false if the thread was not started, or was stopped
 * after it had written all lines; the caller must then write the line itself. Thread-safe. */
bool log_writer_enqueue(struct str line);

/* Returns the number of lines dropped since the process started. */
uint64_t log_writer_dropped(void);

/* Writes at most PIPE_BUF bytes to standard error without blocking, and returns their number. Returns -1 with
 * errno EAGAIN if the write would block. All threads must use this function: if two threads called poll() and
 * then both wrote, one of them could block. */
ssize_t log_writer_write_some(const char *p, size_t n);

#endif
