/* Finds the credential, and locks the file `<database>-key-lock`. The file exists only if a server has read
 * its keys from a credential. */
#include "vault/key_credential.h"

#include "store/database_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY_LOCK_ENDING "-key-lock"

static const char *directory(void)
{
    const char *path = getenv("CREDENTIALS_DIRECTORY");
    return path && *path ? path : NULL;
}

bool key_credential_find(const char *key_file, char *out, size_t size)
{
    const char *slash = strrchr(key_file, '/'), *name = slash ? slash + 1 : key_file;
    if (!directory() || !*name || snprintf(out, size, "%s/%s", directory(), name) >= (int)size)
        return false;
    return access(out, F_OK) == 0;
}

bool key_credential_contains(const char *path)
{
    const size_t len = directory() ? strlen(directory()) : 0;
    return len && strncmp(path, directory(), len) == 0 && path[len] == '/';
}

static enum err lock_error(const char *path, struct error *error)
{
    return error_set(error, ERR_IO, "cannot lock %s: %s", path, strerror(errno));
}

enum err key_credential_lock_shared(struct file_lock *lock, const struct config *config, struct error *error)
{
    char path[DATABASE_FILE_PATH_MAX];
    lock->fd = -1;
    if (!key_credential_find(config->secrets.key_file, path, sizeof path))
        return OK;
    if (!database_file_path(path, config->store.path, KEY_LOCK_ENDING))
        return lock_error(config->store.path, error);
    if (!file_lock_open(lock, path, config->store.path))
        return lock_error(path, error);
    if (file_lock_set(lock, FILE_LOCK_SHARED, false))
        return OK;
    return errno == EWOULDBLOCK
               ? error_set(error, ERR_BUSY,
                           "the keys are being rotated: start the server again when `viewtally secrets "
                           "rotate` has finished")
               : lock_error(path, error);
}

enum err key_credential_lock_exclusive(struct file_lock *lock, const struct config *config,
                                       struct error *error)
{
    char path[DATABASE_FILE_PATH_MAX];
    lock->fd = -1;
    if (!database_file_path(path, config->store.path, KEY_LOCK_ENDING) || access(path, F_OK) != 0)
        return OK;
    if (!file_lock_open(lock, path, config->store.path))
        return lock_error(path, error);
    if (file_lock_set(lock, FILE_LOCK_EXCLUSIVE, false))
        return OK;
    if (errno != EWOULDBLOCK)
        return lock_error(path, error);
    /* Servers hold the lock shared. */
    if (!file_lock_set(lock, FILE_LOCK_SHARED, false))
        return error_set(error, ERR_BUSY,
                         "the keys are being rotated by another process: wait until it has finished");
    return error_set(
        error, ERR_BUSY,
        "a running server reads its key from a systemd credential (LoadCredential=), a copy that a "
        "rotation does not change. Stop the servers, and also their sockets, because these would start the "
        "servers again: systemctl stop 'viewtally*.socket' 'viewtally*.service'. Then rotate the keys, and "
        "start the sockets and the servers");
}
