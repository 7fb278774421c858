/* Linking an author's account at a platform by that platform's OAuth. This file has the database side, as
 * write jobs (store/writer_call.h).
 *
 *   begun --browser returns in the same session within LINKING_LIFE_MS--> consumed --code exchanged--> saved
 *     \--otherwise--> deleted
 *
 * A pending linking is identified by the hash of its OAuth `state`. It is single-use: consuming it deletes
 * it, whether the rest succeeds or not. It is bound to the session that began it, the author and the
 * platform. */
#ifndef VT_WEB_LINKING_H
#define VT_WEB_LINKING_H

#include "auth/secret.h"
#include "vault/token_vault.h"

#define LINKING_LIFE_MS INT64_C(600000)

/* Identifies a pending linking. */
struct linking_key {
    const struct config *config; /* outlives the job */
    uint8_t state_hash[SECRET_HASH_BYTES], session_hash[SECRET_LEN];
    int64_t author_row, now;
    enum platform_api api;
};

struct linking_begin {
    struct linking_key key;
    bool has_verifier;
    char verifier[SECRET_TEXT_LEN]; /* PKCE code verifier; stored sealed */
};
MUST_USE enum err linking_begin(struct store *store, void *begin);

enum linking_check {
    LINKING_VALID,
    LINKING_UNKNOWN,  /* never begun, already consumed, or purged */
    LINKING_MISMATCH, /* belongs to another session, author or platform */
    LINKING_EXPIRED,
};

struct linking_consume {
    struct linking_key key;
    enum linking_check check; /* out */
    size_t verifier_len;      /* out; 0: none */
    char verifier[SECRET_TEXT_LEN];
};
MUST_USE enum err linking_consume(struct store *store, void *consume);

enum linking_result { LINKING_SAVED, LINKING_OWNED_BY_OTHER };

/* Saves all accounts or, on an error, none. An account that another author has linked is skipped and reported
 * in its `result`. */
struct linking_save {
    const struct config *config;
    size_t count;
    struct {
        struct account_record record;
        enum linking_result result;
    } accounts[];
};
MUST_USE enum err linking_save(struct store *store, void *save);

struct linking_remove {
    int64_t row, author_row;
};
MUST_USE enum err linking_remove(struct store *store, void *remove);

#endif
