/* A response body that several responses share. It is immutable and reference counted. A small body is
 * stored in memory; sending it copies it to the socket. A body of 16 KiB or more is stored in a sealed
 * memory file (memfd_create(2) with all seals of fcntl(2)), and sendfile(2) sends it without a copy, which
 * halves the processor time of a response of 40 KB. The seals prevent changes to pages that the kernel is
 * still sending. */
#ifndef VT_HTTP_SHARED_BODY_H
#define VT_HTTP_SHARED_BODY_H

#include "base/str.h"

#include <sys/types.h>

struct shared_body;

enum { SHARED_BODY_FILE_MIN_BYTES = 16 << 10 };

/* Creates a body from a copy of `text`. The caller owns the first reference. If the system cannot create a
 * file (no memory or descriptor), the body is stored in memory. */
struct shared_body *shared_body_new(struct str text);

/* Adds a reference and returns `body`. */
struct shared_body *shared_body_acquire(struct shared_body *body);

/* Releases a reference, and frees the body if it was the last. `body` may be NULL. */
void shared_body_release(struct shared_body *body);

/* Returns the content, which is valid as long as the reference. */
struct str shared_body_text(const struct shared_body *body);

/* Returns true if the body is stored in a file. */
bool shared_body_is_file(const struct shared_body *body);

/* Sends the body from its first byte, as much as the socket accepts. Returns the number of bytes sent, or -1
 * with errno set. Precondition: shared_body_is_file(). */
ssize_t shared_body_send(const struct shared_body *body, int socket);

#endif
