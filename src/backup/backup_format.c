/* Compares the first bytes of a file with those of an SQLite database
 * (https://www.sqlite.org/fileformat.html) and of formats in which backups are often kept. */
#include "backup/backup_format.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_BYTES = 100, PAGE_BYTES_MAX = 65536 };

static const struct wrapping {
    struct str magic;
    const char *what, *unpack; /* `unpack` writes the content of the file to standard output */
} wrappings[] = {
    {STR("\x1f\x8b"), "compressed with gzip", "gzip -dc"},
    {STR("\x28\xb5\x2f\xfd"), "compressed with zstd", "zstd -dc"},
    {STR("\xfd"
         "7zXZ"),
     "compressed with xz", "xz -dc"},
    {STR("BZh"), "compressed with bzip2", "bzip2 -dc"},
    {STR("PK\x03\x04"), "a zip archive", "unzip -p"},
    {STR("age-encryption.org/"), "encrypted with age", "age -d -i KEYFILE"},
    {STR("-----BEGIN PGP MESSAGE-----"), "encrypted with gpg", "gpg -d"},
};

static uint32_t number_at(const uint8_t *p, int bytes)
{
    uint32_t n = 0;
    while (bytes-- > 0)
        n = n << 8 | *p++;
    return n;
}

static enum err reject_unknown(struct str head, const char *shown, struct error *error)
{
    for (size_t i = 0; i < sizeof wrappings / sizeof *wrappings; i++)
        if (str_starts_with(head, wrappings[i].magic))
            return error_set(error, ERR_CORRUPT,
                             "%s is %s: unpack it first (%s FILE >viewtally.db), or restore its content with "
                             "%s FILE | viewtally restore -",
                             shown, wrappings[i].what, wrappings[i].unpack, wrappings[i].unpack);
    return error_set(error, ERR_CORRUPT, "%s is not a database: use a file that viewtally backup has written",
                     shown);
}

/* Compares the size of the file with the page count in the header. The page count is valid only if the two
 * counters at offsets 24 and 92 are equal. If the file has a write-ahead log, the log may contain the missing
 * pages, so any size is accepted. */
static enum err check_size(const uint8_t *header, int64_t size, const char *path, const char *shown,
                           struct error *error)
{
    char log[PATH_MAX];
    struct stat st;
    const uint32_t page = number_at(header + 16, 2) == 1 ? PAGE_BYTES_MAX : number_at(header + 16, 2);
    const int64_t expected = (int64_t)page * number_at(header + 28, 4);
    if (size >= expected || number_at(header + 24, 4) != number_at(header + 92, 4))
        return OK;
    const int n = snprintf(log, sizeof log, "%s-wal", path);
    if (n > 0 && (size_t)n < sizeof log && stat(log, &st) == 0)
        return OK;
    return error_set(error, ERR_CORRUPT,
                     "%s is incomplete: it has %lld of %lld bytes. Copy it again, or use another backup",
                     shown, (long long)size, (long long)expected);
}

static enum err check_header(int fd, const char *path, const char *shown, struct error *error)
{
    uint8_t header[HEADER_BYTES];
    struct stat st;
    const ssize_t n = pread(fd, header, sizeof header, 0);
    if (n < 0 || fstat(fd, &st) != 0)
        return error_set(error, ERR_IO, "cannot read %s: %s", shown, strerror(errno));
    if (n == 0)
        return error_set(error, ERR_CORRUPT,
                         "%s is empty, so it was not copied completely: copy it again, or use another backup",
                         shown);
    const struct str head = str_make((const char *)header, (size_t)n);
    if (!str_starts_with(head, STR("SQLite format 3\0")))
        return reject_unknown(head, shown, error);
    if (n < HEADER_BYTES)
        return error_set(error, ERR_CORRUPT,
                         "%s is incomplete: it has only %lld bytes. Copy it again, or use another backup",
                         shown, (long long)n);
    return check_size(header, st.st_size, path, shown, error);
}

enum err backup_format_check(const char *path, const char *shown, struct error *error)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return error_set(error, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot read %s: %s", shown,
                         strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(error, ERR_INVALID, "%s is not a regular file", shown);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(error, ERR_IO, "cannot read %s: %s", shown, strerror(errno));
    const enum err err = check_header(fd, path, shown, error);
    (void)close(fd);
    return err;
}
