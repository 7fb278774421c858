/* The key file as bytes: reading one with all its checks, and replacing one so that a crash leaves the old or
 * the new. For seal.c, which knows what the keys are for. */
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

/* `*is`: of the file that was read. Errors and `why` as of seal_keys_open(). The caller wipes `*out`, also on
 * failure.
 */
MUST_USE enum err key_file_read(const char *path, struct key_list *out, struct stat *is, char *why,
                                size_t why_size);

/* `replace` false: ERR_EXISTS when there is a file. */
MUST_USE enum err key_file_write(const char *path, const struct key_list *keys, bool replace, char *why,
                                 size_t why_size);

/* A random key with an id that the list does not have. */
void key_file_generate(const struct key_list *beside, struct key_entry *out);

#endif
