/* A linking connects an author's account at a platform to this service, through the platform's OAuth. This
 * file contains the functions of linkings that use the database. Each is the work of a write job
 * (store/writer_call.h). A linking begins when the author chooses to connect a platform.
 *
 *   begun --browser returns in the same session within LINKING_LIFE_MS--> consumed --code exchanged--> saved
 *     \--otherwise--> deleted
 *
 * A pending linking is identified by the hash of its OAuth `state`. A linking can be used once: consuming it
 * deletes it, even if a later step fails. The linking is bound to the session that began it, to the author
 * and to the platform. */
#ifndef VT_WEB_LINKING_H
#define VT_WEB_LINKING_H

#include "auth/secret.h"
#include "vault/token_vault.h"

#define LINKING_LIFE_MS INT64_C(600000)

/* Identifies a pending linking. */
struct linking_key {
    const struct config *config; /* must outlive the write job */
    uint8_t state_hash[SECRET_HASH_BYTES], session_hash[SECRET_LEN];
    int64_t author_row, now;
    enum platform_api api;
};

struct linking_begin {
    struct linking_key key;
    bool has_verifier;
    char verifier[SECRET_TEXT_LEN]; /* PKCE code verifier; stored sealed */
};
/* Stores a pending linking. `begin` is a struct linking_begin. */
MUST_USE enum err linking_begin(struct store *store, void *begin);

enum linking_check {
    LINKING_VALID,
    LINKING_UNKNOWN,  /* the linking was never begun, was already consumed, or was purged */
    LINKING_MISMATCH, /* the linking belongs to another session, author or platform */
    LINKING_EXPIRED,
};

struct linking_consume {
    struct linking_key key;
    enum linking_check check; /* output */
    size_t verifier_len;      /* output; 0 if there is no verifier */
    char verifier[SECRET_TEXT_LEN];
};
/* Checks and deletes a pending linking. `consume` is a struct linking_consume, whose member `check` receives
 * the result of the check. */
MUST_USE enum err linking_consume(struct store *store, void *consume);

enum linking_result { LINKING_SAVED, LINKING_OWNED_BY_OTHER };

struct linking_save {
    const struct config *config;
    size_t count;
    struct {
        struct account_record record;
        enum linking_result result;
    } accounts[];
};
/* Stores all accounts; on an error, stores none. Skips an account that another author has linked and sets its
 * `result` to LINKING_OWNED_BY_OTHER. `save` is a struct linking_save. */
MUST_USE enum err linking_save(struct store *store, void *save);

struct linking_remove {
    int64_t row, author_row;
};
/* Deletes a linked account of the author, with its tokens. `remove` is a struct linking_remove. */
MUST_USE enum err linking_remove(struct store *store, void *remove);

#endif
