/* The key file: reads and validates it, and replaces it atomically. Only seal.c uses it. */
#ifndef VT_VAULT_KEY_FILE_H
#define VT_VAULT_KEY_FILE_H

#include "vault/seal.h"

#include <sys/stat.h>

enum { SEAL_KEY_LEN = 32 };

struct key_entry {
    uint32_t id;
    uint8_t key[SEAL_KEY_LEN];
};

struct key_list {
    size_t count;
    struct key_entry entries[SEAL_KEYS_MAX];
};

/* Reads and validates the key file. `*st` receives the file's fstat() result. Returns the errors of
 * seal_keys_open(). The caller wipes `*out`, also after an error. */
MUST_USE enum err key_file_read(const char *path, struct key_list *out, struct stat *st, struct error *error);

/* Writes the key file and syncs it to disk. Returns ERR_EXISTS if the file exists and `replace` is false. If
 * the superuser calls it, the file gets the owner of the file `model`, or if `model` does not exist, of its
 * directory. */
MUST_USE enum err key_file_write(const char *path, const char *model, const struct key_list *keys,
                                 bool replace, struct error *error);

/* Generates a random key with an id that is not in `existing`. */
void key_entry_generate(const struct key_list *existing, struct key_entry *out);

#endif
