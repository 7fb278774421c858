/* Linking an author's account at a platform: what of it is in the database, as write jobs
 * (store/writer_call.h).
 *
 *   begun --the browser is back, in the same session, within LINKING_LIFE_MS--> taken --exchanged--> saved
 *     \--anything else----------------------------------------------------> gone
 *
 * A linking is known by its `state`, of which the hash is kept, and is used once: taking it deletes it,
 * whatever comes of it then. It belongs to the session that began it, to the author and to the platform. */
#ifndef VT_WEB_LINKING_H
#define VT_WEB_LINKING_H

#include "auth/secret.h"
#include "vault/token_vault.h"

#define LINKING_LIFE_MS INT64_C(600000)

/* What the jobs have in common. */
struct linking_key {
    const struct config *config; /* outlives the job */
    uint8_t state_hash[SECRET_HASH_BYTES], session_hash[SECRET_LEN];
    int64_t author_row, now;
    enum platform_api api;
};

struct linking_begin {
    struct linking_key key;
    bool has_verifier;
    char verifier[SECRET_TEXT_LEN]; /* of PKCE; sealed in the database */
};
MUST_USE enum err linking_begin(struct store *store, void *begin);

enum linking_refusal {
    LINKING_VALID,
    LINKING_UNKNOWN,  /* never begun, used before, or purged */
    LINKING_MISMATCH, /* of another session, author or platform */
    LINKING_EXPIRED,
};

struct linking_consume {
    struct linking_key key;
    enum linking_refusal refusal; /* out */
    size_t verifier_len;          /* out; 0: none */
    char verifier[SECRET_TEXT_LEN];
};
MUST_USE enum err linking_consume(struct store *store, void *take);

enum linking_result { LINKING_SAVED, LINKING_OWNED_BY_OTHER };

/* All of them or, on an error, none; but an account that is another author's is passed over. */
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
