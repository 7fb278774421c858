/* The file is mapped to be read; it is written with pwrite(), which makes pages faster than faults do. Far
 * more addresses than bytes: a place for a text is the next free one behind the last, and there is one nearly
 * always. */
#include "base/page_file.h"

#include "base/check.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#define KERNEL_MM            "/sys/kernel/mm"
#define TRANSPARENT_HUGEPAGE KERNEL_MM "/transparent_hugepage"
enum { PAGE = 4096, ADDRESSES = 8 /* times as many as bytes */ };

struct page_file {
    int fd;
    const char *at;
    size_t pages, used, most;
    size_t next;          /* where the last text ended */
    unsigned char *taken; /* of each page */
};

/* Whether a file of the system chooses larger pages for files in memory; one that cannot be read might. */
static bool makes_large_pages(const char *path)
{
    char text[128];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno != ENOENT;
    ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n <= 0 || strstr(text, "[always]") || strstr(text, "[within_size]") || strstr(text, "[force]");
}

/* The one for all sizes, and one for each. Where the system does not show itself (no /sys, as in some
 * containers) it might. */
static bool has_small_pages_only(void)
{
    glob_t sizes;
    if (access(KERNEL_MM, X_OK) != 0)
        return false;
    bool small = !makes_large_pages(TRANSPARENT_HUGEPAGE "/shmem_enabled");
    int status = glob(TRANSPARENT_HUGEPAGE "/hugepages-*/shmem_enabled", 0, NULL, &sizes);
    for (size_t i = 0; status == 0 && i < sizes.gl_pathc; i++)
        small = small && !makes_large_pages(sizes.gl_pathv[i]);
    if (status == 0)
        globfree(&sizes);
    return small && (status == 0 || status == GLOB_NOMATCH);
}

/* A file that grows beyond such a limit kills the process (SIGXFSZ). */
static bool may_be_large(size_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

/* Linux 6.3 and newer want to be told that nobody runs it, and may be set to demand that. */
static int create(void)
{
    int fd = memfd_create("viewtally-kept", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    return fd < 0 && errno == EINVAL ? memfd_create("viewtally-kept", MFD_CLOEXEC) : fd;
}

static bool open_file(struct page_file *f)
{
    const size_t bytes = f->pages * PAGE;
    f->fd = create();
    if (f->fd < 0)
        return false;
    void *at =
        ftruncate(f->fd, (off_t)bytes) == 0 ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, f->fd, 0) : MAP_FAILED;
    if (at == MAP_FAILED) {
        (void)close(f->fd);
        return false;
    }
    f->at = at;
    return true;
}

struct page_file *page_file_new(size_t bytes)
{
    if (bytes < PAGE || sysconf(_SC_PAGESIZE) != PAGE || !has_small_pages_only() ||
        !may_be_large(bytes * ADDRESSES))
        return NULL;
    struct page_file *f = xcalloc(1, sizeof *f);
    f->most = bytes / PAGE;
    f->pages = f->most * ADDRESSES;
    if (!open_file(f)) {
        free(f);
        return NULL;
    }
    f->taken = xcalloc(f->pages, 1);
    return f;
}

void page_file_free(struct page_file *f)
{
    if (!f)
        return;
    (void)munmap((void *)(uintptr_t)f->at, f->pages * PAGE);
    (void)close(f->fd);
    free(f->taken);
    free(f);
}

static size_t pages_of(size_t len)
{
    return (len + PAGE - 1) / PAGE;
}

size_t page_file_room(size_t len)
{
    return pages_of(len) * PAGE;
}

/* `count` free pages in a row from `first` on, before `end`; `end` when there are none. */
static size_t free_run(const struct page_file *f, size_t first, size_t end, size_t count)
{
    size_t found = 0;
    for (size_t i = first; i < end; i++) {
        found = f->taken[i] ? 0 : found + 1;
        if (found == count)
            return i + 1 - count;
    }
    return end;
}

static bool find_room(const struct page_file *f, size_t count, size_t *first)
{
    if (count == 0 || count > f->most - f->used)
        return false;
    *first = free_run(f, f->next, f->pages, count);
    if (*first == f->pages)
        *first = free_run(f, 0, f->pages, count);
    return *first != f->pages;
}

static bool punch(const struct page_file *f, size_t first, size_t count)
{
    return fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(first * PAGE),
                     (off_t)(count * PAGE)) == 0;
}

static void take(struct page_file *f, size_t first, size_t count)
{
    memset(f->taken + first, 1, count);
    f->used += count;
    f->next = first + count;
}

struct str page_file_keep(struct page_file *f, struct str text)
{
    const struct str none = {NULL, 0};
    const size_t count = pages_of(text.len);
    size_t first;
    if (!find_room(f, count, &first))
        return none;
    if (pwrite(f->fd, text.p, text.len, (off_t)(first * PAGE)) != (ssize_t)text.len) {
        if (!punch(f, first, count))
            take(f, first, count);
        return none;
    }
    take(f, first, count);
    return str_make(f->at + first * PAGE, text.len);
}

static size_t offset_of(const struct page_file *f, struct str part)
{
    const size_t offset = (size_t)(part.p - f->at);
    CHECK(part.p >= f->at && offset + part.len <= f->pages * PAGE);
    return offset;
}

void page_file_drop(struct page_file *f, struct str kept)
{
    const size_t first = offset_of(f, kept) / PAGE, count = pages_of(kept.len);
    CHECK(f->taken[first]);
    if (!punch(f, first, count))
        return; /* its place is lost: what is written there might show in an answer that is still on its way
                 */
    memset(f->taken + first, 0, count);
    f->used -= count;
}

long page_file_send(const struct page_file *f, struct str part, int socket)
{
    off_t at = (off_t)offset_of(f, part);
    return sendfile(socket, f->fd, &at, part.len);
}
