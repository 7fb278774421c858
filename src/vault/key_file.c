/* Reads and replaces the key file. */
#include "vault/key_file.h"

#include "base/check.h"
#include "base/file_owner.h"
#include "base/file_write.h"
#include "vault/key_credential.h"
#include "base/file_target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 8 * 1024, ID_DIGITS = 8, KEY_DIGITS = 2 * SEAL_KEY_LEN };

/* ---- reading the key file ---- */

static enum err check_file(int fd, const char *path, struct stat *st, struct error *error)
{
    if (fstat(fd, st) != 0)
        return error_set(error, ERR_IO, "cannot read the key file %s: %s", path, strerror(errno));
    if (!S_ISREG(st->st_mode))
        return error_set(error, ERR_INVALID, "the key file %s is not a regular file", path);
    if (st->st_size > FILE_MAX_BYTES)
        return error_set(error, ERR_INVALID, "%s is too large to be a key file", path);
    /* systemd protects the directory of a credential. The file's group permissions may be the mask of an ACL.
     */
    if (key_credential_contains(path))
        return OK;
    /* Root may run commands on the key file of a server that runs as another user. */
    if (st->st_uid != geteuid() && geteuid() != 0)
        return error_set(error, ERR_INVALID,
                         "the key file %s belongs to user %u, but this process runs as user %u: change the "
                         "owner with chown",
                         path, (unsigned)st->st_uid, (unsigned)geteuid());
    if (st->st_mode & (S_IRWXG | S_IRWXO))
        return error_set(error, ERR_INVALID,
                         "other users can access the key file %s (mode %03o): run chmod 600 %s", path,
                         (unsigned)st->st_mode & 0777, path);
    return OK;
}

/* Returns false with errno set if reading fails. */
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

/* An error must not quote the line, because it may contain a key. */
static enum err read_line(struct str line, const char *path, int number, struct key_list *out,
                          struct error *error)
{
    struct str id, key;
    uint8_t bytes[SEAL_ID_LEN];
    line = str_trim(line);
    if (!line.len || line.p[0] == '#')
        return OK;
    if (out->count == SEAL_KEYS_MAX)
        return error_set(error, ERR_INVALID, "the key file %s, line %d: more than %d keys", path, number,
                         SEAL_KEYS_MAX);
    key = str_trim(str_cut(line, ' ', &id));
    if (!read_hex(id, bytes, sizeof bytes) || !id_of(bytes) ||
        !read_hex(key, out->entries[out->count].key, SEAL_KEY_LEN))
        return error_set(error, ERR_INVALID,
                         "the key file %s, line %d: expected `ID KEY`: 8 hexadecimal digits other than "
                         "00000000, then a key of 64 hexadecimal digits",
                         path, number);
    if (has_id(out, id_of(bytes)))
        return error_set(error, ERR_INVALID, "the key file %s, line %d: the id %08x is used twice", path,
                         number, (unsigned)id_of(bytes));
    out->entries[out->count++].id = id_of(bytes);
    return OK;
}

static enum err read_lines(struct str text, const char *path, struct key_list *out, struct error *error)
{
    struct str line;
    out->count = 0;
    for (int number = 1; text.p && text.len; number++) {
        text = str_cut(text, '\n', &line);
        enum err err = read_line(line, path, number, out, error);
        if (err)
            return err;
    }
    if (!out->count)
        return error_set(error, ERR_INVALID, "the key file %s contains no key", path);
    return OK;
}

enum err key_file_read(const char *path, struct key_list *out, struct stat *st, struct error *error)
{
    char text[FILE_MAX_BYTES];
    size_t len = 0;
    /* O_NONBLOCK: opening a named pipe must not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return error_set(
            error, ERR_NOT_FOUND,
            "the key file %s does not exist (`viewtally secrets init` creates one, but a new key "
            "cannot decrypt tokens that were sealed with another key)",
            path);
    if (fd < 0)
        return error_set(error, errno == EACCES ? ERR_INVALID : ERR_IO, "cannot open the key file %s: %s",
                         path, strerror(errno));
    enum err err = check_file(fd, path, st, error);
    if (!err && !read_all(fd, text, &len))
        err = error_set(error, ERR_IO, "cannot read the key file %s: %s", path, strerror(errno));
    (void)close(fd);
    if (!err)
        err = read_lines(str_make(text, len), path, out, error);
    sodium_memzero(text, sizeof text);
    return err;
}

/* ---- writing the key file ---- */

void key_entry_generate(const struct key_list *existing, struct key_entry *out)
{
    do
        out->id = randombytes_random();
    while (!out->id || has_id(existing, out->id));
    randombytes_buf(out->key, sizeof out->key);
}

static size_t print_keys(const struct key_list *keys, char text[FILE_MAX_BYTES])
{
    char hex[KEY_DIGITS + 1];
    size_t len =
        (size_t)snprintf(text, FILE_MAX_BYTES,
                         "# The keys that encrypt the platforms' tokens and the secrets of webhooks in\n"
                         "# viewtally's database. New ones are encrypted with the first key. Keep a copy of\n"
                         "# this file, but never together with a backup of the database: both together\n"
                         "# reveal the tokens and secrets.\n");
    for (size_t i = 0; i < keys->count; i++) {
        (void)sodium_bin2hex(hex, sizeof hex, keys->entries[i].key, SEAL_KEY_LEN);
        len += (size_t)snprintf(text + len, FILE_MAX_BYTES - len, "%08x %s\n", keys->entries[i].id, hex);
    }
    sodium_memzero(hex, sizeof hex);
    return len;
}

/* If root writes the file, it gets the owner of `model`, so that the server can read it. */
static bool copy_owner(int fd, const char *model)
{
    struct file_owner owner;
    return geteuid() != 0 || !file_owner_of(model, &owner) || fchown(fd, owner.uid, owner.gid) == 0;
}

/* Writes a new file and syncs it. The caller moves it to its final name. */
static bool write_new_file(const char *path, const char *model, const struct key_list *keys)
{
    char text[FILE_MAX_BYTES];
    if (unlink(path) != 0 && errno != ENOENT)
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool ok = copy_owner(fd, model) && file_write_all(fd, text, print_keys(keys, text)) && fsync(fd) == 0;
    sodium_memzero(text, sizeof text);
    return file_close(fd, ok);
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

enum err key_file_write(const char *path, const char *model, const struct key_list *keys, bool replace,
                        struct error *error)
{
    char new_path[PATH_MAX], resolved[FILE_PATH_MAX];
    /* Follows a symbolic link: if the link itself were replaced, its target would still contain the old keys.
     */
    if (replace) {
        enum err err = file_target_resolve(path, resolved, error);
        if (err)
            return err;
        path = resolved;
    }
    if (snprintf(new_path, sizeof new_path, "%s.new", path) >= (int)sizeof new_path)
        return error_set(error, ERR_INVALID, "the path of the key file is too long");
    bool ok = write_new_file(new_path, model, keys);
    /* link() fails if the file exists; rename() would replace it. */
    ok = ok && (replace ? rename(new_path, path) : link(new_path, path)) == 0;
    int code = errno;
    if (!ok || !replace)
        (void)unlink(new_path);
    if (!ok && code == EEXIST)
        return error_set(error, ERR_EXISTS, "%s already exists; nothing was changed", path);
    if (!ok)
        return error_set(error, code == ENOSPC ? ERR_FULL : ERR_IO, "cannot write the key file %s: %s", path,
                         strerror(code));
    if (!sync_directory(path))
        return error_set(error, ERR_IO, "cannot sync the directory of the key file %s: %s", path,
                         strerror(errno));
    return OK;
}
