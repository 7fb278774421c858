/* Bodies in memory and in sealed memory files. A file is also mapped, so that libuv can send the part that
 * sendfile(2) did not send. */
#include "http/shared_body.h"

#include "base/check.h"
#include "http/descriptors.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

enum {
    MAGIC = 0x426f6479,
    SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE,
};

struct shared_body {
    unsigned magic;
    int references;
    int fd; /* -1 if the text is in `memory` */
    bool compression_claimed;
    struct shared_body *compressed; /* NULL if there is no compressed form (yet) */
    struct str text;
    char memory[];
};

static int file_count; /* bodies that are stored in files */

static bool write_all(int fd, struct str text)
{
    while (text.len) {
        ssize_t n = write(fd, text.p, text.len);
        if (n <= 0)
            return false;
        text = str_make(text.p + n, text.len - (size_t)n);
    }
    return true;
}

/* Creates a sealed memory file with the text. Returns its descriptor, or -1 on any failure. */
static int make_sealed_file(struct str text)
{
    const int fd = memfd_create("viewtally-response", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (descriptors_allow_memory_file(fd, file_count) && write_all(fd, text) &&
        fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

struct shared_body *shared_body_from_file(int fd, size_t len)
{
    CHECK(len <= SHARED_BODY_MAX_BYTES);
    const char *map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
        (void)close(fd);
        return NULL;
    }
    struct shared_body *body = xmalloc(sizeof *body);
    *body = (struct shared_body){MAGIC, .references = 1, .fd = fd, .text = str_make(map, len)};
    file_count++;
    return body;
}

static struct shared_body *new_in_file(struct str text)
{
    const int fd = make_sealed_file(text);
    return fd < 0 ? NULL : shared_body_from_file(fd, text.len);
}

static struct shared_body *new_in_memory(struct str text)
{
    struct shared_body *body = xmalloc(sizeof *body + text.len);
    *body = (struct shared_body){MAGIC, .references = 1, .fd = -1};
    if (text.len)
        memcpy(body->memory, text.p, text.len);
    body->text = str_make(body->memory, text.len);
    return body;
}

struct shared_body *shared_body_new(struct str text)
{
    struct shared_body *body = text.len >= SHARED_BODY_FILE_MIN_BYTES ? new_in_file(text) : NULL;
    return body ? body : new_in_memory(text);
}

struct shared_body *shared_body_acquire(struct shared_body *body)
{
    CHECK(body->magic == MAGIC && body->references > 0);
    body->references++;
    return body;
}

void shared_body_release(struct shared_body *body)
{
    if (!body)
        return;
    CHECK(body->magic == MAGIC && body->references > 0);
    if (--body->references > 0)
        return;
    if (body->fd >= 0) {
        (void)munmap((void *)(uintptr_t)body->text.p, body->text.len);
        (void)close(body->fd);
        file_count--;
    }
    shared_body_release(body->compressed);
    body->magic = 0;
    free(body);
}

void shared_body_set_compressed(struct shared_body *body, struct shared_body *compressed)
{
    CHECK(!body->compressed);
    body->compressed = compressed;
}

struct shared_body *shared_body_compressed(const struct shared_body *body)
{
    return body->compressed;
}

bool shared_body_claim_compression(struct shared_body *body)
{
    const bool first = !body->compression_claimed;
    body->compression_claimed = true;
    return first;
}

struct str shared_body_text(const struct shared_body *body)
{
    return body->text;
}

bool shared_body_is_file(const struct shared_body *body)
{
    return body->fd >= 0;
}

ssize_t shared_body_send(const struct shared_body *body, int socket)
{
    CHECK(body->fd >= 0);
    off_t offset = 0;
    return sendfile(socket, body->fd, &offset, body->text.len);
}
