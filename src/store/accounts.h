/* Authors who sign in: logins, sessions, invitations. Finds are reads as in read.h when they take a `struct
 * store_read`; everything else runs in the caller's write transaction (write.h). Secrets come as SHA-256. */
#ifndef VT_STORE_ACCOUNTS_H
#define VT_STORE_ACCOUNTS_H

#include "base/arena.h"
#include "store/read.h"

enum { SECRET_HASH_LEN = 32, LOGIN_MAX_BYTES = 100, PASSWORD_TEXT_MAX = 128 };

/* An author as the pages need one. Texts live in the arena of the find. */
struct viewer {
    int64_t author_row; /* 0: nobody */
    struct uuid id;
    struct str name;
    bool plan_active;
    struct str login;    /* p == NULL: none */
    struct str password; /* the stored text; p == NULL: none */
};

struct session {
    struct viewer viewer;
    int64_t created_at, seen_at, expires_at;
};

struct invitation {
    struct viewer viewer;
    struct str login; /* what the operator chose; p == NULL: nothing */
    int64_t expires_at;
    int64_t used_at; /* TIME_NONE: not yet */
};

/* By the login's name (folded), or the author's id. ERR_NOT_FOUND. */
enum next store_find_login(struct store_read *read, struct arena *a, struct str name, struct viewer *out);
enum next store_find_viewer(struct store_read *read, struct arena *a, const struct uuid *id,
                            struct viewer *out);

enum next store_find_session(struct store_read *read, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                             struct session *out);
/* ERR_NOT_FOUND too if it has expired. */
enum next store_find_device(struct store_read *read, const uint8_t hash[SECRET_HASH_LEN], int64_t now,
                            int64_t *author_row);
enum next store_find_invitation(struct store_read *read, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                                struct invitation *out);

/* The same inside a transaction, or without one. */
MUST_USE enum err store_get_login(struct store *s, struct arena *a, struct str name, struct viewer *out);
MUST_USE enum err store_get_viewer(struct store *s, struct arena *a, int64_t author_row, struct viewer *out);
MUST_USE enum err store_get_invitation(struct store *s, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                                       struct invitation *out);

/* Sets the author's login, which may not be another's (ERR_EXISTS). `password` p == NULL: none. */
MUST_USE enum err store_put_login(struct store *s, int64_t author_row, struct str name, struct str password,
                                  int64_t now);

/* The name alone; a password that is there stays. */
MUST_USE enum err store_set_login_name(struct store *s, int64_t author_row, struct str name);
/* The password alone, of an author with a login. `now` TIME_NONE: the same password, hashed anew. */
MUST_USE enum err store_set_password(struct store *s, int64_t author_row, struct str password, int64_t now);

MUST_USE enum err store_insert_session(struct store *s, const uint8_t hash[SECRET_HASH_LEN],
                                       int64_t author_row, int64_t now, int64_t expires_at);
MUST_USE enum err store_see_session(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now);
MUST_USE enum err store_delete_session(struct store *s, const uint8_t hash[SECRET_HASH_LEN]);
/* And the author's devices. */
MUST_USE enum err store_delete_sessions_of(struct store *s, int64_t author_row);
/* Those whose absolute end has come. */
MUST_USE enum err store_purge_sessions(struct store *s, int64_t now);

struct device_record {
    uint8_t hash[SECRET_HASH_LEN];
    bool has_before; /* the browser's former device, which goes if it is this author's */
    uint8_t before[SECRET_HASH_LEN];
    int64_t author_row, now, expires_at;
    int64_t expired_before; /* devices that have expired by then are deleted */
};

/* And deletes of the author's devices all but the `most` newest. */
MUST_USE enum err store_put_device(struct store *s, const struct device_record *device, int most);

/* Takes the place of the author's older invitations. `login` p == NULL: the author's choice. */
MUST_USE enum err store_insert_invitation(struct store *s, const uint8_t hash[SECRET_HASH_LEN],
                                          int64_t author_row, struct str login, int64_t now,
                                          int64_t expires_at);
MUST_USE enum err store_delete_invitations_of(struct store *s, int64_t author_row);
/* ERR_NOT_FOUND: unknown, used or expired. */
MUST_USE enum err store_use_invitation(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now);

#endif
