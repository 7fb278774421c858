/* A response body that several responses share: immutable and reference counted. The socket copies a body
 * that is in memory. A body of 16 KiB or more is in a sealed memory file instead (memfd_create(2) with all
 * seals of fcntl(2)), whose pages sendfile(2) passes to the socket without a copy; the seals protect the
 * pages while the network still needs them. This halves the processor time of a response of 40 KB. */
#ifndef VT_HTTP_SHARED_BODY_H
#define VT_HTTP_SHARED_BODY_H

#include "base/str.h"

#include <sys/types.h>

struct shared_body;

enum { SHARED_BODY_FILE_MIN_BYTES = 16 << 10 };

/* Copies `text`. The caller owns the only reference. If no file can be made (no memory or descriptor), the
 * body is in memory. */
struct shared_body *shared_body_new(struct str text);
struct shared_body *shared_body_acquire(struct shared_body *body);
/* Frees the body with the last reference. NULL is ignored. */
void shared_body_release(struct shared_body *body);

/* Valid as long as the reference. */
struct str shared_body_text(const struct shared_body *body);

bool shared_body_is_file(const struct shared_body *body);
/* Precondition: shared_body_is_file(). Sends what the socket accepts, from the first byte on. Returns the
 * number of bytes, or -1 with errno. */
ssize_t shared_body_send(const struct shared_body *body, int socket);

#endif
