/* Reading and replacing the key file. */
#include "vault/key_file.h"

#include "base/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 8 * 1024, ID_DIGITS = 8, KEY_DIGITS = 2 * SEAL_KEY_LEN };

static enum err refuse(enum err err, char *why, size_t why_size, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static enum err refuse(enum err err, char *why, size_t why_size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(why, why_size, fmt, ap);
    va_end(ap);
    return err;
}

/* ---- reading ---- */

static enum err check_file(int fd, const char *path, struct stat *is, char *why, size_t why_size)
{
    if (fstat(fd, is) != 0)
        return refuse(ERR_IO, why, why_size, "the key file %s cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(is->st_mode))
        return refuse(ERR_INVALID, why, why_size, "the key file %s is not a file", path);
    /* The superuser's commands work on a server's file. */
    if (is->st_uid != geteuid() && geteuid() != 0)
        return refuse(
            ERR_INVALID, why, why_size,
            "the key file %s belongs to user %u, and this process runs as user %u: give it to that one", path,
            (unsigned)is->st_uid, (unsigned)geteuid());
    if (is->st_mode & (S_IRWXG | S_IRWXO))
        return refuse(ERR_INVALID, why, why_size,
                      "the key file %s is open to others (mode %03o): chmod 600 %s", path,
                      (unsigned)is->st_mode & 0777, path);
    if (is->st_size > FILE_MAX_BYTES)
        return refuse(ERR_INVALID, why, why_size, "the key file %s is too long for one", path);
    return OK;
}

/* True: all of it is in `text`. */
static bool read_all(int fd, char *text, size_t *len)
{
    *len = 0;
    while (*len < FILE_MAX_BYTES) {
        ssize_t n = read(fd, text + *len, FILE_MAX_BYTES - *len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        *len += (size_t)n;
    }
    return true;
}

static bool read_hex(struct str text, uint8_t *out, size_t size)
{
    size_t got = 0;
    const char *end = NULL;
    return text.len == 2 * size && sodium_hex2bin(out, size, text.p, text.len, NULL, &got, &end) == 0 &&
           got == size && end == text.p + text.len;
}

static bool has_id(const struct key_list *keys, uint32_t id)
{
    for (size_t i = 0; i < keys->count; i++)
        if (keys->entries[i].id == id)
            return true;
    return false;
}

static uint32_t id_of(const uint8_t b[SEAL_ID_LEN])
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static bool read_line(struct str line, struct key_list *out)
{
    struct str id, key;
    uint8_t number[SEAL_ID_LEN];
    line = str_trim(line);
    if (!line.len || line.p[0] == '#')
        return true;
    key = str_trim(str_cut(line, ' ', &id));
    if (out->count == SEAL_KEYS_MAX || !read_hex(id, number, sizeof number) || !id_of(number) ||
        has_id(out, id_of(number)) || !read_hex(key, out->entries[out->count].key, SEAL_KEY_LEN))
        return false;
    out->entries[out->count++].id = id_of(number);
    return true;
}

static enum err read_lines(struct str text, const char *path, struct key_list *out, char *why,
                           size_t why_size)
{
    struct str line;
    out->count = 0;
    for (int number = 1; text.p && text.len; number++) {
        text = str_cut(text, '\n', &line);
        if (!read_line(line, out))
            return refuse(
                ERR_INVALID, why, why_size,
                "the key file %s, line %d: wants an id of 8 and a key of 64 hexadecimal digits, at most "
                "%d keys, each id once",
                path, number, SEAL_KEYS_MAX);
    }
    if (!out->count)
        return refuse(ERR_INVALID, why, why_size, "the key file %s holds no key", path);
    return OK;
}

enum err key_file_read(const char *path, struct key_list *out, struct stat *is, char *why, size_t why_size)
{
    char text[FILE_MAX_BYTES];
    size_t len = 0;
    /* Not to wait for the other end of a pipe. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return refuse(
            ERR_NOT_FOUND, why, why_size,
            "the key file %s is not there (viewtally secrets init makes one; tokens that were sealed "
            "with another stay unreadable)",
            path);
    if (fd < 0)
        return refuse(ERR_IO, why, why_size, "the key file %s cannot be opened: %s", path, strerror(errno));
    enum err err = check_file(fd, path, is, why, why_size);
    if (!err && !read_all(fd, text, &len))
        err = refuse(ERR_IO, why, why_size, "the key file %s cannot be read: %s", path, strerror(errno));
    (void)close(fd);
    if (!err)
        err = read_lines(str_make(text, len), path, out, why, why_size);
    sodium_memzero(text, sizeof text);
    return err;
}

/* ---- writing ---- */

void key_file_generate(const struct key_list *beside, struct key_entry *out)
{
    do
        out->id = randombytes_random();
    while (!out->id || has_id(beside, out->id));
    randombytes_buf(out->key, sizeof out->key);
}

static size_t print_keys(const struct key_list *keys, char text[FILE_MAX_BYTES])
{
    char hex[KEY_DIGITS + 1];
    size_t len =
        (size_t)snprintf(text, FILE_MAX_BYTES,
                         "# The keys that seal the platforms' tokens in viewtally's database. The first\n"
                         "# seals, the others still open. Keep a copy, but never beside a backup of the\n"
                         "# database: together they are the tokens.\n");
    for (size_t i = 0; i < keys->count; i++) {
        (void)sodium_bin2hex(hex, sizeof hex, keys->entries[i].key, SEAL_KEY_LEN);
        len += (size_t)snprintf(text + len, FILE_MAX_BYTES - len, "%08x %s\n", keys->entries[i].id, hex);
    }
    sodium_memzero(hex, sizeof hex);
    return len;
}

static bool write_all(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return fsync(fd) == 0;
}

/* Whose it was it stays, when the superuser writes it: the server has to be able to read it. */
static bool keep_owner(int fd, const char *of)
{
    struct stat is;
    return geteuid() != 0 || stat(of, &is) != 0 || fchown(fd, is.st_uid, is.st_gid) == 0;
}

/* A file that is there whole or not at all, under a name of its own. */
static bool write_beside(const char *path, const char *of, const struct key_list *keys)
{
    char text[FILE_MAX_BYTES];
    if (unlink(path) != 0 && errno != ENOENT)
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool ok = keep_owner(fd, of) && write_all(fd, text, print_keys(keys, text));
    sodium_memzero(text, sizeof text);
    return close(fd) == 0 && ok;
}

static bool sync_directory(const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    if (slash == path)
        len = 1;
    (void)snprintf(dir, sizeof dir, "%.*s", slash ? (int)len : 1, slash ? path : ".");
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = fsync(fd) == 0;
    (void)close(fd);
    return ok;
}

enum err key_file_write(const char *path, const struct key_list *keys, bool replace, char *why,
                        size_t why_size)
{
    char beside[PATH_MAX];
    if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside)
        return refuse(ERR_INVALID, why, why_size, "the path of the key file is too long");
    bool ok = write_beside(beside, path, keys);
    /* A link, unlike a rename, never takes the place of a file that is there. */
    ok = ok && (replace ? rename(beside, path) : link(beside, path)) == 0;
    int code = errno;
    if (!ok || !replace)
        (void)unlink(beside);
    if (!ok && code == EEXIST)
        return refuse(ERR_EXISTS, why, why_size, "%s is there already: nothing was changed", path);
    if (!ok)
        return refuse(code == ENOSPC ? ERR_FULL : ERR_IO, why, why_size,
                      "the key file %s cannot be written: %s", path, strerror(code));
    if (!sync_directory(path))
        return refuse(ERR_IO, why, why_size, "the directory of the key file %s cannot be synced: %s", path,
                      strerror(errno));
    return OK;
}
