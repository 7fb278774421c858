/* A key file that systemd passes to the service as a credential (LoadCredential=NAME:FILE, systemd.exec(5)),
 * so that the file itself may belong to root. If NAME is the last part of [secrets] key_file, the server
 * reads $CREDENTIALS_DIRECTORY/NAME instead of the file. Commands that root runs read the file itself.
 *
 * systemd copies the file into the credential when the service starts, so a running server would not see a
 * new key. Therefore the server holds a lock, and key rotation refuses to run while this lock is held. */
#ifndef VT_VAULT_KEY_CREDENTIAL_H
#define VT_VAULT_KEY_CREDENTIAL_H

#include "base/error.h"
#include "base/file_lock.h"
#include "config/config.h"

#include <stddef.h>

/* Writes the path of the credential for `key_file` to `out`. Returns false if no such credential exists. */
bool key_credential_find(const char *key_file, char *out, size_t size);

/* Returns true if `path` is in $CREDENTIALS_DIRECTORY. Such a file may belong to root and have an ACL. */
bool key_credential_contains(const char *path);

/* Acquires the lock for a server, if it reads its keys from a credential. Returns ERR_BUSY during a rotation.
 */
MUST_USE enum err key_credential_lock_shared(struct file_lock *lock, const struct config *config,
                                             struct error *error);

/* Acquires the lock for a rotation. Returns ERR_BUSY while a server reads its keys from a credential, or
 * during another rotation. */
MUST_USE enum err key_credential_lock_exclusive(struct file_lock *lock, const struct config *config,
                                                struct error *error);

#endif
