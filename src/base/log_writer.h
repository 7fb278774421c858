/* Writes the log to standard error without ever making its callers wait.
 *
 *   log_at() --> queue (256 KiB) --> writer thread --> standard error
 *
 * Without log_writer_start(), as in commands, log_at() writes by itself and waits for a slow reader. A server
 * must not: a pipe that nobody reads would stop its event loop. O_NONBLOCK is no way out, for the flag
 * belongs to the open file, which other processes may share. */
#ifndef VT_BASE_LOG_WRITER_H
#define VT_BASE_LOG_WRITER_H

#include "base/error.h"
#include "base/str.h"

#include <stdint.h>
#include <sys/types.h>

/* Writes the line that reports how many were dropped to `room`, once there is room again; returns its length.
 */
typedef size_t log_writer_report_fn(char *room, size_t size, uint64_t dropped);

/* Starts the thread. ERR_NOMEM: it could not be created; log_at() then goes on writing by itself. */
MUST_USE enum err log_writer_start(log_writer_report_fn *report);

/* Writes what is queued, for at most `timeout_ms`, and ends the thread. Harmless if it does not run. Later
 * lines are written directly, or lost if the queue could not be emptied: standard error is stuck then. */
void log_writer_stop(int timeout_ms);

/* Before an abort: waits until what is queued is written, for at most `timeout_ms`. Takes no lock that it
 * would have to wait for. */
void log_writer_flush(int timeout_ms);

/* Queues one whole line, or drops and counts it if the queue is full. False: no thread runs, and the caller
 * writes. Any thread. */
bool log_writer_enqueue(struct str line);

/* Lines dropped since the process began. */
uint64_t log_writer_dropped(void);

/* Writes at most PIPE_BUF bytes to standard error if that can be done now; -1 with errno EAGAIN if not. Safe
 * beside the thread: of two writers that both saw room, one would wait. */
ssize_t log_writer_write_some(const char *p, size_t n);

#endif
