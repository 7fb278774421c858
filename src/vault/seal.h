/* Sealing what must not be read from a copy of the database: XChaCha20-Poly1305 (libsodium's IETF form) under
 * a key of the operator's key file.
 *
 *     sealed = key id (4) | nonce (24, random) | ciphertext | tag (16)
 *
 * The associated data are author, API, account and column: sealed bytes that were moved to another row or
 * column do not open. Key file: lines `ID KEY`, both hexadecimal (8 and 64 digits), `#` begins a comment. The
 * first key seals; the others only open.
 *
 * The file may get a new key while a server runs (`viewtally secrets rotate`). Who seals does it inside the
 * write transaction that stores the bytes: the file is looked at there, and `rotate` takes an old key out of
 * it inside one too, so no row is ever written under a key that has gone. */
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
    SEAL_OVERHEAD = SEAL_ID_LEN + 24 + 16, /* sealed bytes are so much longer */
    SEAL_KEYS_MAX = 16,
    SEAL_PLAIN_MAX = 64 * 1024,
};

enum seal_column { SEAL_ACCESS, SEAL_REFRESH, SEAL_VERIFIER };

/* Where the bytes stand. */
struct seal_place {
    int64_t author_row;
    int api;
    struct str account_id;
    enum seal_column column;
};

/* The keys of a file, in memory that is locked where the system lets us. One thread at a time. */
struct seal_keys;

/* Reads the file; `path` "" or NULL: there are no keys, and sealing and opening answer ERR_NOT_FOUND. On
 * failure `why` (of `why_size` bytes) is a sentence that names the file and holds none of its contents: it is
 * not there (ERR_NOT_FOUND), others may read it, it is another user's, it is not a key file
 * (ERR_INVALID), it cannot be read (ERR_IO). */
MUST_USE enum err seal_keys_open(struct seal_keys **out, const char *path, char *why, size_t why_size);
void seal_keys_close(struct seal_keys *keys); /* wipes them; NULL is harmless */
bool seal_has_keys(const struct seal_keys *keys);

/* Appends sealed bytes, under the first key of the file as it is now: inside the transaction that writes
 * them. ERR_NOT_FOUND: there is no key. ERR_FULL: too long for the buffer or for sealing. */
MUST_USE enum err seal_encrypt(struct seal_keys *keys, const struct seal_place *place, struct str plain,
                               struct buf *out);

/* Opens them into `out`, which has room for `sealed.len` bytes; `*len` is how many they were. The caller
 * wipes. ERR_NOT_FOUND: the key is not in the file (which is read again to make sure). ERR_CORRUPT: these are
 * not the bytes that were put there. */
MUST_USE enum err seal_decrypt(struct seal_keys *keys, const struct seal_place *place, struct str sealed,
                               char *out, size_t *len);

/* By which key; 0: these are no sealed bytes. Ids are never 0. */
uint32_t seal_key_id(struct str sealed);
bool seal_has_key(const struct seal_keys *keys, uint32_t id);

/* ---- the key file ---- */

/* Makes one with one random key, 0600. ERR_EXISTS: never overwrites. `why` as above. */
MUST_USE enum err seal_create_key_file(const char *path, char *why, size_t why_size);
/* Puts a new random key in front; the others stay. Atomic and on disk when it returns, as is the next. */
MUST_USE enum err seal_add_key(const char *path, uint32_t *id, char *why, size_t why_size);
/* Takes all keys but the first out. */
MUST_USE enum err seal_remove_old_keys(const char *path, char *why, size_t why_size);
/* The ids, the first first; `*count` of them. */
void seal_list_key_ids(const struct seal_keys *keys, uint32_t ids[SEAL_KEYS_MAX], size_t *count);

#endif
