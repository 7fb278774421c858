/* The reply of a server to the process that has sent it SIGHUP: a datagram to an abstract Unix socket whose
 * name contains the server's process id. If no process waits for the reply, the datagram is lost. Any local
 * user could create the socket, so the reply contains names of configuration keys but no values. */
#ifndef VT_BASE_RELOAD_REPLY_H
#define VT_BASE_RELOAD_REPLY_H

#include "base/str.h"

#include <sys/types.h>

enum { RELOAD_KEYS_MAX = 8192 }; /* more than all keys of the configuration need */

enum reload_result { RELOAD_APPLIED = 'A', RELOAD_REJECTED = 'R' };

struct reload_reply {
    enum reload_result result;
    char restart_keys[RELOAD_KEYS_MAX + 1]; /* "[server] listen, [store] path"; "" if no restart is needed */
};

/* Called by the server when it has handled SIGHUP. `restart_keys` names the changed keys that need a restart;
 * everything after RELOAD_KEYS_MAX bytes is cut off. */
void reload_reply_send(enum reload_result result, struct str restart_keys);

/* Opens the socket for the reply of the server `pid`. Call it before sending SIGHUP. Returns the file
 * descriptor, or -1 with errno set; EADDRINUSE if another process waits for a reply of the same server. */
int reload_reply_open(pid_t pid);

/* Waits for the reply of the process `pid` and ignores datagrams of other processes. Returns false if none
 * arrives within `timeout_ms`. */
bool reload_reply_wait(int fd, pid_t pid, int timeout_ms, struct reload_reply *reply);

#endif
