/* Encrypts and decrypts with libsodium. */
#include "vault/seal.h"

#include "base/check.h"
#include "vault/key_credential.h"
#include "vault/key_file.h"

#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NONCE_LEN = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
    TAG_LEN = crypto_aead_xchacha20poly1305_ietf_ABYTES,
    PLACE_ID_MAX = 1000,
    PLACE_MAX_BYTES = 32 + PLACE_ID_MAX,
};
_Static_assert(SEAL_OVERHEAD == SEAL_ID_LEN + NONCE_LEN + TAG_LEN, "the layout in seal.h");
_Static_assert(SEAL_KEY_LEN == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "the cipher's key");

struct seal_keys {
    char *path; /* NULL: no key file */
    struct stat is;
    /* Allocated with sodium_malloc(), which locks the memory and wipes it when it is freed. */
    struct key_list *list;
};

static struct key_list *list_new(void)
{
    struct key_list *list = sodium_malloc(sizeof *list);
    CHECK(list);
    sodium_memzero(list, sizeof *list);
    return list;
}

enum err seal_keys_open(struct seal_keys **out, const char *path, struct error *error)
{
    struct seal_keys *keys = xcalloc(1, sizeof *keys);
    char credential[PATH_MAX];
    keys->list = list_new();
    if (path && key_credential_find(path, credential, sizeof credential))
        path = credential;
    if (path && *path) {
        enum err err = key_file_read(path, keys->list, &keys->is, error);
        if (err) {
            seal_keys_close(keys);
            return err;
        }
        keys->path = strdup(path);
        CHECK(keys->path);
    }
    *out = keys;
    return OK;
}

void seal_keys_close(struct seal_keys *keys)
{
    if (!keys)
        return;
    sodium_free(keys->list);
    free(keys->path);
    free(keys);
}

bool seal_has_keys(const struct seal_keys *keys)
{
    return keys->list->count > 0;
}

/* ---- reloading the file ---- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Reads the file again if it has changed. If that fails, returns the error and retains the loaded keys. */
static enum err reload_if_changed(struct seal_keys *keys)
{
    struct stat is;
    if (!keys->path || (stat(keys->path, &is) == 0 && is_same_file(&is, &keys->is)))
        return OK;
    struct key_list *fresh = list_new();
    enum err err = key_file_read(keys->path, fresh, &is, NULL);
    if (!err) {
        struct key_list *old = keys->list;
        keys->list = fresh;
        keys->is = is;
        fresh = old;
    }
    sodium_free(fresh);
    return err;
}

static const struct key_entry *find_key(const struct seal_keys *keys, uint32_t id)
{
    for (size_t i = 0; i < keys->list->count; i++)
        if (keys->list->entries[i].id == id)
            return &keys->list->entries[i];
    return NULL;
}

bool seal_has_key(const struct seal_keys *keys, uint32_t id)
{
    return find_key(keys, id) != NULL;
}

void seal_list_key_ids(const struct seal_keys *keys, uint32_t ids[SEAL_KEYS_MAX], size_t *count)
{
    *count = keys->list->count;
    for (size_t i = 0; i < *count; i++)
        ids[i] = keys->list->entries[i].id;
}

/* ---- sealing and opening ---- */

static void put_i64(uint8_t *out, int64_t v)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)((uint64_t)v >> (56 - 8 * i));
}

static void put_id(uint8_t *out, uint32_t id)
{
    for (int i = 0; i < SEAL_ID_LEN; i++)
        out[i] = (uint8_t)(id >> (24 - 8 * i));
}

/* Writes the authenticated data to `out` and returns its length, or 0 if the account id is too long. The
 * account id, the only part of variable length, comes last, so that the encoding is unambiguous. */
static size_t place_bytes(const struct seal_place *place, uint8_t out[PLACE_MAX_BYTES])
{
    static const char use[] = "viewtally token";
    if (place->account_id.len > PLACE_ID_MAX)
        return 0;
    memcpy(out, use, sizeof use);
    size_t len = sizeof use;
    put_i64(out + len, place->author_row);
    len += 8;
    out[len++] = (uint8_t)place->api;
    out[len++] = (uint8_t)place->column;
    if (place->account_id.len)
        memcpy(out + len, place->account_id.p, place->account_id.len);
    return len + place->account_id.len;
}

enum err seal_encrypt(struct seal_keys *keys, const struct seal_place *place, struct str plain,
                      struct buf *out)
{
    uint8_t place_data[PLACE_MAX_BYTES];
    unsigned long long len = 0;
    enum err err = reload_if_changed(keys);
    if (err)
        return err;
    if (!keys->list->count)
        return ERR_NOT_FOUND;
    const size_t place_len = place_bytes(place, place_data);
    if (plain.len > SEAL_PLAIN_MAX || !place_len)
        return ERR_FULL;
    const struct key_entry *key = &keys->list->entries[0];
    uint8_t *to = (uint8_t *)buf_reserve(out, plain.len + SEAL_OVERHEAD);
    if (!to)
        return ERR_FULL;
    put_id(to, key->id);
    uint8_t *nonce = to + SEAL_ID_LEN;
    randombytes_buf(nonce, NONCE_LEN);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + NONCE_LEN, &len, (const uint8_t *)plain.p,
                                                     plain.len, place_data, place_len, NULL, nonce, key->key);
    CHECK(len == plain.len + TAG_LEN);
    out->len += plain.len + SEAL_OVERHEAD;
    return OK;
}

uint32_t seal_key_id(struct str sealed)
{
    const uint8_t *b = (const uint8_t *)sealed.p;
    if (sealed.len < SEAL_OVERHEAD)
        return 0;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

enum err seal_decrypt(struct seal_keys *keys, const struct seal_place *place, struct str sealed, char *out,
                      size_t *len)
{
    uint8_t place_data[PLACE_MAX_BYTES];
    unsigned long long got = 0;
    const uint32_t id = seal_key_id(sealed);
    const size_t place_len = place_bytes(place, place_data);
    if (!id || !place_len)
        return ERR_CORRUPT;
    const struct key_entry *key = find_key(keys, id);
    if (!key && reload_if_changed(keys) == OK)
        key = find_key(keys, id);
    if (!key)
        return ERR_NOT_FOUND;
    const uint8_t *nonce = (const uint8_t *)sealed.p + SEAL_ID_LEN;
    if (crypto_aead_xchacha20poly1305_ietf_decrypt((uint8_t *)out, &got, NULL, nonce + NONCE_LEN,
                                                   sealed.len - SEAL_ID_LEN - NONCE_LEN, place_data,
                                                   place_len, nonce, key->key) != 0)
        return ERR_CORRUPT;
    *len = (size_t)got;
    return OK;
}

/* ---- changing the file ---- */

enum err seal_create_key_file(const char *path, const char *model, struct error *error)
{
    struct key_list *list = list_new();
    key_entry_generate(list, &list->entries[0]);
    list->count = 1;
    enum err err = key_file_write(path, model, list, false, error);
    sodium_free(list);
    return err;
}

static enum err insert_key(const char *path, struct key_list *list, struct error *error)
{
    if (list->count == SEAL_KEYS_MAX)
        return error_set(error, ERR_FULL,
                         "the key file %s already has %d keys: complete the interrupted rotation with "
                         "viewtally secrets rotate",
                         path, SEAL_KEYS_MAX);
    struct key_entry fresh;
    key_entry_generate(list, &fresh);
    memmove(&list->entries[1], &list->entries[0], list->count * sizeof list->entries[0]);
    list->entries[0] = fresh;
    list->count++;
    sodium_memzero(&fresh, sizeof fresh);
    return key_file_write(path, path, list, true, error);
}

enum err seal_add_key(const char *path, uint32_t *id, struct error *error)
{
    struct stat is;
    struct key_list *list = list_new();
    enum err err = key_file_read(path, list, &is, error);
    if (!err)
        err = insert_key(path, list, error);
    if (!err)
        *id = list->entries[0].id;
    sodium_free(list);
    return err;
}

enum err seal_remove_old_keys(const char *path, struct error *error)
{
    struct stat is;
    struct key_list *list = list_new();
    enum err err = key_file_read(path, list, &is, error);
    if (!err && list->count > 1) {
        list->count = 1;
        err = key_file_write(path, path, list, true, error);
    }
    sodium_free(list);
    return err;
}
