/* A response body that several responses share. It is immutable and reference counted. A small body is stored
 * in memory; sending it copies it to the socket. A body of 16 KiB or more is stored in a sealed memory file
 * (memfd_create(2), and the seals of fcntl(2) against writing, resizing and further seals), and sendfile(2)
 * sends it without a copy, which halves the processor time of a response of 40 KB. The seals prevent changes
 * to memory that the kernel is still sending. */
#ifndef VT_HTTP_SHARED_BODY_H
#define VT_HTTP_SHARED_BODY_H

#include "base/str.h"

#include <sys/types.h>

struct shared_body;

enum {
    SHARED_BODY_FILE_MIN_BYTES = 16 << 10,
    SHARED_BODY_MAX_BYTES = 2000000000 /* libuv takes lengths as unsigned int and returns them as int */
};

/* Creates a body from a copy of `text`. The caller owns the first reference. If no file can be
 * created (no memory, or all free descriptors are reserved for connections), the body is stored in memory. */
struct shared_body *shared_body_new(struct str text);

/* Creates a body from the first `len` bytes of a file. Preconditions: the file does not change any more;
 * `len` is at most SHARED_BODY_MAX_BYTES. Takes ownership of the descriptor, even on failure. Returns NULL if
 * the file cannot be mapped. */
struct shared_body *shared_body_from_file(int fd, size_t len);

/* Attaches a compressed form of the same content. `body` takes ownership of the caller's reference to
 * `compressed`. Precondition: `body` has no compressed form. */
void shared_body_set_compressed(struct shared_body *body, struct shared_body *compressed);

/* Returns the compressed form, or NULL. */
struct shared_body *shared_body_compressed(const struct shared_body *body);

/* Returns true only on the first call for `body`; the caller that receives true compresses it. So a body is
 * compressed at most once, even if the compression fails. */
bool shared_body_claim_compression(struct shared_body *body);

/* Adds a reference and returns `body`. */
struct shared_body *shared_body_acquire(struct shared_body *body);

/* Releases a reference, and frees the body if it was the last. `body` may be NULL. */
void shared_body_release(struct shared_body *body);

/* Returns the content, which is valid as long as the caller holds its reference. */
struct str shared_body_text(const struct shared_body *body);

/* Returns true if the body is stored in a file. */
bool shared_body_is_file(const struct shared_body *body);

/* Sends the body from its first byte, as much as the socket accepts. Returns the number of bytes sent, or -1
 * with errno set. Precondition: shared_body_is_file(). */
ssize_t shared_body_send(const struct shared_body *body, int socket);

#endif
