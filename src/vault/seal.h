/* Seals secrets, so that a copy of the database does not reveal them. Sealing is encryption with
 * XChaCha20-Poly1305 (libsodium's IETF variant) and a key from the operator's key file.
 *
 *   sealed = key id (4 bytes) | random nonce (24) | ciphertext | tag (16)
 *
 * Author, API, account and column are authenticated with the text, so that sealed bytes that were moved to
 * another row or column cannot be decrypted. A line of the key file is `ID KEY`, both hexadecimal (8 and 64
 * digits); `#` begins a comment. The first key encrypts; all keys decrypt.
 *
 * Key rotation may change the file while a server runs. Call seal_encrypt() in the write transaction that
 * stores the sealed bytes: it reads the file again if it has changed. Key rotation, for its part, removes old
 * keys only inside a write transaction. So no row is ever stored that was sealed with a removed key. */
#ifndef VT_VAULT_SEAL_H
#define VT_VAULT_SEAL_H

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SEAL_ID_LEN = 4,
    SEAL_OVERHEAD = SEAL_ID_LEN + 24 + 16, /* added to the length of the plain text */
    SEAL_KEYS_MAX = 16,
    SEAL_PLAIN_MAX = 64 * 1024,
};

enum seal_column { SEAL_ACCESS, SEAL_REFRESH, SEAL_VERIFIER };

/* The place of sealed bytes in the database. Sealed bytes can be decrypted only for the place for which they
 * were encrypted. */
struct seal_place {
    int64_t author_row;
    int api;
    struct str account_id;
    enum seal_column column;
};

/* The keys of a key file, in locked memory if the system permits. Not thread-safe. */
struct seal_keys;

/* Reads the key file `path`, or the credential that replaces it (key_credential.h). If `path` is NULL or "",
 * there are no keys: encryption and decryption return ERR_NOT_FOUND. Returns ERR_NOT_FOUND if the file does
 * not exist, ERR_INVALID if it is not a key file, belongs to another user, or can be accessed by other users
 * or not by this process, or ERR_IO if it cannot be read. The error's text names the file but does not quote
 * its contents. */
MUST_USE enum err seal_keys_open(struct seal_keys **out, const char *path, struct error *error);
/* Wipes and frees the keys. `keys` may be NULL. */
void seal_keys_close(struct seal_keys *keys);
/* Returns true if the key file contains at least one key. */
bool seal_has_keys(const struct seal_keys *keys);

/* Encrypts `plain` with the file's current first key and appends the sealed bytes to `out`. Call in the write
 * transaction that stores them. Returns ERR_NOT_FOUND if there is no key, ERR_FULL if the text is too long
 * for sealing or for the buffer, or the error of seal_keys_open() if the file has changed and cannot be read.
 */
MUST_USE enum err seal_encrypt(struct seal_keys *keys, const struct seal_place *place, struct str plain,
                               struct buf *out);

/* Decrypts `sealed` into `out`, which has room for `sealed.len` bytes. The caller wipes `out`. Returns
 * ERR_NOT_FOUND if the key is not in the file, even after reading the file again if it has changed, or
 * ERR_CORRUPT if the bytes were not sealed for this place with the key of this id. */
MUST_USE enum err seal_decrypt(struct seal_keys *keys, const struct seal_place *place, struct str sealed,
                               char *out, size_t *len);

/* Returns the id of the key that sealed the bytes, or 0 if they are not sealed bytes. Ids are never 0. */
uint32_t seal_key_id(struct str sealed);
/* Returns true if the key with this id is among `keys`. */
bool seal_has_key(const struct seal_keys *keys, uint32_t id);

/* ---- the key file ---- */

/* Creates a key file with one random key and mode 0600. Returns ERR_EXISTS if the file exists. If the
 * superuser calls it, the key file gets the owner of the file `model` or, if `model` does not exist, of the
 * directory of `model`. */
MUST_USE enum err seal_create_key_file(const char *path, const char *model, struct error *error);
/* Inserts a new random key as the first one; `*id` receives its id. Replaces the file atomically and syncs it
 * to disk. */
MUST_USE enum err seal_add_key(const char *path, uint32_t *id, struct error *error);
/* Removes all keys but the first. Replaces the file atomically and syncs it to disk. */
MUST_USE enum err seal_remove_old_keys(const char *path, struct error *error);
/* Lists the ids of the keys in the order of the file. */
void seal_list_key_ids(const struct seal_keys *keys, uint32_t ids[SEAL_KEYS_MAX], size_t *count);

#endif
